#include "resources/limits/limits.h"

#include <random>

#include "engine/resource/registry.h"
#include "resources/limits/item.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::limits {
namespace {

const ResourceType& type() { return *builtin_registry().find("limits"); }

Value record(const char* domain, const char* item, const char* limit_type, Value value) {
  return Value::map({{"domain", domain}, {"item", item}, {"type", limit_type}, {"value", std::move(value)}});
}

/// The resolved value of an item in cluster.yaml; "refused" when invalid.
std::string resolved(const char* item, const Value& value) {
  return resolve_value(*find_item(item), value).value_or("refused");
}

/// How pam_limits reads a value in a user's file; "ignored" when it has no effect.
std::string as_read(const char* item, const char* text) {
  return value_as_read(*find_item(item), text).value_or("ignored");
}

std::vector<std::string> codes(const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type().validate(section)) found.push_back(one.code);
  return found;
}
using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("limits: three spellings of unlimited have one canonical form") {
  for (const char* item : {"memlock", "nofile", "cpu", "msgqueue", "maxlogins", "rtprio"}) {
    INFO(item);
    CHECK(resolved(item, "unlimited") == "unlimited");
    CHECK(resolved(item, "infinity") == "unlimited");
    CHECK(resolved(item, "-1") == "unlimited");
    CHECK(resolved(item, -1) == "unlimited");
  }
  for (const char* item : {"nice", "priority", "nonewprivs"}) {
    INFO(item);
    CHECK(resolved(item, "unlimited") == "refused");
    CHECK(resolved(item, "infinity") == "refused");
  }
  CHECK(resolved("nice", -1) == "-1");
  CHECK(resolved("nonewprivs", -1) == "refused");
}

TEST_CASE("limits: a number is in the item's own unit, and a size is converted to it") {
  CHECK(resolved("memlock", 64) == "64");
  CHECK(resolved("memlock", "0064") == "64");
  CHECK(resolved("memlock", 0) == "0");
  CHECK(resolved("memlock", "8GiB") == "8388608");
  CHECK(resolved("stack", "1.5KiB") == "refused");
  CHECK(resolved("core", "1024B") == "1");
  CHECK(resolved("as", "1MB") == "refused");
  CHECK(resolved("as", "1024MB") == "1000000");
  CHECK(resolved("msgqueue", "1MB") == "1000000");
  for (const char* no_size : {"nofile", "cpu", "nice", "priority", "nonewprivs", "maxlogins"}) {
    INFO(no_size);
    CHECK(resolved(no_size, "8GiB") == "refused");
  }
}

TEST_CASE("limits: values that pam_limits would read differently are refused") {
  for (const Value& value :
       {Value("64k"), Value("64K"), Value("0x40"), Value("+64"), Value("6e4"), Value(""), Value("-"), Value("-2"),
        Value(-2), Value(1.5), Value(true), Value(), Value("9999999999999999999"), Value("18014398509481984"),
        Value("unlimited "), Value("12 34")}) {
    INFO(display(value));
    CHECK(resolved("memlock", value) == "refused");
  }
  CHECK(resolved("memlock", "18014398509481983") == "18014398509481983");
  CHECK(resolved("cpu", "999999999999999999") == "refused");
  CHECK(resolved("nice", -20) == "-20");
  CHECK(resolved("nice", 20) == "refused");
  CHECK(resolved("priority", -21) == "refused");
  CHECK(resolved("nonewprivs", 2) == "refused");
  CHECK(resolved("nonewprivs", 1) == "1");
}

TEST_CASE("limits: foreign lines are parsed as by pam_limits") {
  CHECK(as_read("memlock", "-") == "unlimited");
  CHECK(as_read("memlock", "infinity") == "unlimited");
  CHECK(as_read("memlock", "64k") == "64");
  CHECK(as_read("memlock", "+64") == "64");
  CHECK(as_read("memlock", "abc") == "ignored");
  CHECK(as_read("memlock", "18014398509481984") == "unlimited");
  CHECK(as_read("nice", "-30") == "-20");
  CHECK(as_read("nice", "unlimited") == "ignored");
  CHECK(as_read("nonewprivs", "yes") == "ignored");
}

TEST_CASE("limits: values are parsed from the kernel's format") {
  const auto shown = [](const char* item, const char* value) { return proc_value(*find_item(item), value); };
  CHECK(shown("memlock", "64") == "65536");
  CHECK(shown("memlock", "unlimited") == "unlimited");
  CHECK(shown("memlock", "18014398509481983") == "18446744073709550592");
  CHECK(shown("cpu", "2") == "120");
  CHECK(shown("nice", "-5") == "25");
  CHECK(shown("nofile", "5000") == "5000");
  CHECK(display_proc_value(*find_item("memlock"), "8388608") == "8192 KiB");
  CHECK(display_proc_value(*find_item("memlock"), "100") == "100 bytes");
  CHECK(display_proc_value(*find_item("nice"), "25") == "-5");
  CHECK(display_proc_value(*find_item("nofile"), "unlimited") == "unlimited");
  CHECK(allows_more("unlimited", "5"));
  CHECK(allows_more("10", "9"));
  CHECK_FALSE(allows_more("9", "10"));
  CHECK_FALSE(allows_more("5", "unlimited"));
  CHECK_FALSE(allows_more("unlimited", "unlimited"));
}

TEST_CASE("limits: parsing a rendered file restores every limit") {
  const std::map<LimitName, Limit> limits{{{"*", "memlock"}, {"unlimited", "unlimited"}},
                                          {{"@students", "nproc"}, {{}, "200"}},
                                          {{"500:600", "nofile"}, {"1", {}}},
                                          {{"alice", "nice"}, {"-5", "-20"}},
                                          {{"alice", "maxlogins"}, {"4", "4"}},
                                          {{"alice", "priority"}, {"-3", "-3"}}};
  CHECK(limits_of(render_file(limits)) == limits);

  std::mt19937 random(5);
  const auto any = [&](const std::vector<std::string>& of) {
    return of[std::uniform_int_distribution<std::size_t>(0, of.size() - 1)(random)];
  };
  for (int round = 0; round < 500; ++round) {
    std::map<LimitName, Limit> some;
    for (int n = 0; n < 4; ++n) {
      Limit& limit = some[{any({"*", "root", "a.b-c", "@g", "1:2", "%g"}), any({"memlock", "nofile", "cpu", "core"})}];
      if (any({"y", "n"}) == "y") limit.soft = any({"0", "1", "unlimited", "4096"});
      if (!limit.soft || any({"y", "n"}) == "y") limit.hard = any({"0", "1", "unlimited", "4096"});
    }
    CHECK(limits_of(render_file(some)) == some);
  }
}

TEST_CASE("limits: lines are parsed as in limits.conf(5)") {
  const auto one = [](const char* text) { return limits_of(text); };
  const std::map<LimitName, Limit> both{{{"*", "memlock"}, {"64", "64"}}};
  CHECK(one("* - memlock 64") == both);
  CHECK(one("  *\t-  MemLock\t64   # comment") == both);
  CHECK(one("* - memlock 64 extra words") == both);
  CHECK(one("* soft memlock 1\n* - memlock 64") == both);
  CHECK(one("* - memlock 64\n* HARD memlock 128").at({"*", "memlock"}) == Limit{"64", "128"});
  for (const char* nothing : {"", "#* - memlock 64", "* - memlock", "* both memlock 64", "* - unknown 64",
                              "* - memlock x", "* - chroot /srv", "* -"}) {
    INFO(nothing);
    CHECK(one(nothing).empty());
  }
  CHECK(one("* anything maxlogins 3").at({"*", "maxlogins"}) == Limit{"3", "3"});
  const std::vector<Line> lines = parse_file("\nbob -\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].exempts);
  CHECK(lines[0].number == 2);
}

TEST_CASE("limits: repeated lines are redundant if removing them changes no limit") {
  const LimitName memlock{"alice", "memlock"};
  const auto lines = [&](const Limit& ours, bool after_ours, const char* text) {
    const std::vector<LimitsFile> files{{"other.conf", parse_file(text), after_ours}};
    const auto found = repetitions(memlock, ours, files);
    return found.empty() ? std::vector<int>() : found.front().lines;
  };
  using Lines = std::vector<int>;
  const char* const text = "alice soft memlock 64\nalice soft memlock 128\nalice hard memlock 4096\n";
  // The only hard limit stays, unless sparkplan's file is read later and sets a hard limit.
  CHECK(lines({"1024", {}}, false, text) == Lines{1, 2});
  CHECK(lines({"1024", "4096"}, false, text) == Lines{1, 2, 3});
  CHECK(lines({}, false, text) == Lines{1});
  CHECK(lines({"1024", "4096"}, true, text) == Lines{1});
  // A line for both limits is redundant when both are set elsewhere.
  const char* const both = "alice - memlock 64\nalice soft memlock 64\nalice soft memlock 64\n";
  CHECK(lines({"64", {}}, false, both) == Lines{2, 3});
  CHECK(lines({{}, "64"}, false, both) == Lines{1, 2});
  CHECK(lines({"64", {}}, false, "alice soft memlock 64\nalice hard memlock 64\n").empty());
  // Each of two lines about one limit has an effect: neither is redundant, and nothing is found.
  const std::vector<LimitsFile> later{{"other.conf", parse_file("alice - memlock 64\nalice soft memlock 128\n"), true}};
  CHECK(repetitions(memlock, {"1024", "4096"}, later).empty());
}

TEST_CASE("limits: names with a range of users keep their colons") {
  CHECK(parse_name("*:memlock") == LimitName{"*", "memlock"});
  CHECK(parse_name("500:600:nofile") == LimitName{"500:600", "nofile"});
  for (const char* none : {"", "memlock", ":memlock", "alice:", "alice:chroot", "@file"}) {
    INFO(none);
    CHECK_FALSE(parse_name(none));
  }
}

TEST_CASE("limits: soft and hard records of one domain and item are merged") {
  const auto wanted = wanted_limits(
      Value::list({record("*", "memlock", "soft", 64), record("*", "memlock", "hard", "1MiB"),
                   record("root", "memlock", "both", "unlimited"), record("bob", "maxlogins", "soft", 3)}));
  REQUIRE(wanted.size() == 3);
  CHECK(wanted.at({"*", "memlock"}).limit == Limit{"64", "1024"});
  CHECK(wanted.at({"root", "memlock"}).limit == Limit{"unlimited", "unlimited"});
  CHECK(wanted.at({"bob", "maxlogins"}).limit == Limit{"3", "3"});
  CHECK(wanted_limits(Value()).empty());
}

TEST_CASE("limits: contradictory records are errors") {
  CHECK(codes(Value::list({record("*", "memlock", "soft", 1), record("*", "memlock", "hard", 2)})).empty());
  CHECK(codes(Value::list({record("*", "memlock", "both", 1), record("*", "memlock", "hard", 2)})) ==
        Codes{"limits.given-twice"});
  CHECK(codes(Value::list({record("*", "memlock", "both", 1), record("*", "memlock", "hard", "1KiB")})).empty());
  CHECK(codes(Value::list({record("a", "maxlogins", "soft", 1), record("a", "maxlogins", "hard", 2)})) ==
        Codes{"limits.given-twice"});
  CHECK(codes(Value::list({record("*", "memlock", "soft", 3), record("*", "memlock", "hard", 2)})) ==
        Codes{"limits.soft-above-hard"});
  CHECK(codes(Value::list({record("*", "nofile", "soft", "unlimited"), record("*", "nofile", "hard", 9)})) ==
        Codes{"limits.soft-above-hard"});
  // A lower nice value is the larger limit.
  CHECK(codes(Value::list({record("*", "nice", "soft", -5), record("*", "nice", "hard", 0)})) ==
        Codes{"limits.soft-above-hard"});
  CHECK(codes(Value::list({record("*", "nice", "soft", 0), record("*", "nice", "hard", -5)})).empty());
}

TEST_CASE("limits: a record that pam_limits would ignore is an error at its position") {
  Value bad = record("alice", "nofile", "both", "8GiB");
  bad.find("value")->where = {7, 9, 13};
  const std::vector<Diagnostic> findings = type().validate(Value::list({bad}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "limits.value");
  CHECK(findings[0].where == SourceRange{7, 9, 13});
  CHECK(codes(Value::list({record("alice", "chroot", "both", "x")})) == Codes{"limits.item"});
  CHECK(codes(Value::list({record("%staff", "nofile", "both", 1)})) == Codes{"limits.domain"});
  CHECK(codes(Value::list({record("%staff", "maxlogins", "both", 1)})).empty());
}

TEST_CASE("limits: files are read in the order of pam_limits, without the managed file") {
  test::FakeNode node;
  for (const char* name : {"zz.conf", "10-first.conf", "90-sparkplan.conf", "90-a.conf", ".zzz.conf", "zz.txt"}) {
    node.add_file("/etc/security/limits.d/" + std::string(name), "* - core 0\n");
  }
  node.add_file("/etc/security/limits.conf", "");
  node.add_directory("/etc/security/limits.d/zzz.conf");
  node.add_symlink("/etc/security/limits.d/zzzz.conf", "/nowhere");
  const auto files = limits_files(node);
  REQUIRE(files);
  std::vector<std::string> seen;
  for (const LimitsFile& file : *files) seen.push_back(file.path.substr(14) + (file.after_ours ? " later" : ""));
  CHECK(seen == std::vector<std::string>{"limits.conf", "limits.d/10-first.conf", "limits.d/90-a.conf",
                                         "limits.d/zz.conf later"});
}

TEST_CASE("limits: a line about a user beats a line about their group, which beats a line about all users") {
  const std::vector<LimitsFile> files{{"/a", parse_file("@g - core 5\n* - core 6\nroot - core 7\n"), false},
                                      {"/z", parse_file("* - core 8\n"), true}};
  const auto source = [&](const char* domain, const Matching& who) {
    const auto found = winning({domain, "core"}, true, who, files);
    return found ? found->source : "ours";
  };
  CHECK(source("*", {"alice", {}}) == "/z:1");
  CHECK(source("*", {"alice", {"g"}}) == "/a:1");
  CHECK(source("@g", {"alice", {"g"}}) == "ours");
  CHECK(source("alice", {"alice", {"g"}}) == "ours");
  CHECK(source("root", {"root", {"g"}}) == "ours");
}

}  // namespace sparkplan::limits
