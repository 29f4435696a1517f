#include <algorithm>
#include <random>

#include "engine/core/text.h"
#include "resources/sysctl/sysctl.h"
#include "tests/support/catch.h"

namespace sparkplan::sysctl {
namespace {

Key key_of(std::string_view text) {
  const Result<Key> key = parse_key(text);
  INFO(text);
  if (!key) FAIL(key.error().describe());
  return *key;
}

std::string resolved(const Value& value) {
  const Result<std::string> text = resolve_value(value);
  return text ? *text : "refused: " + text.error().message;
}

}  // namespace

TEST_CASE("sysctl: dots separate components, and a slash is a dot inside a component") {
  struct Row {
    const char* text;
    const char* path;
    const char* canonical;
  };
  const std::vector<Row> rows{{"net.core.rmem_max", "net/core/rmem_max", "net.core.rmem_max"},
                              {"net/core/rmem_max", "net/core/rmem_max", "net.core.rmem_max"},
                              {"net.ipv4.conf.enp1s0/200.rp_filter", "net/ipv4/conf/enp1s0.200/rp_filter",
                               "net.ipv4.conf.enp1s0/200.rp_filter"},
                              {"net/ipv4/conf/enp1s0.200/rp_filter", "net/ipv4/conf/enp1s0.200/rp_filter",
                               "net.ipv4.conf.enp1s0/200.rp_filter"},
                              {"net.ipv6.conf.enP2p1s0f1np1.disable_ipv6", "net/ipv6/conf/enP2p1s0f1np1/disable_ipv6",
                               "net.ipv6.conf.enP2p1s0f1np1.disable_ipv6"},
                              {"net.ipv4.neigh.br-lan:1.gc_stale_time", "net/ipv4/neigh/br-lan:1/gc_stale_time",
                               "net.ipv4.neigh.br-lan:1.gc_stale_time"}};
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(key_of(row.text).path == row.path);
    CHECK(dotted(key_of(row.text)) == row.canonical);
    CHECK(key_of(row.canonical) == key_of(row.text));
  }
}

TEST_CASE("sysctl: an invalid parameter name is refused with the reason") {
  for (const char* text : {"",
                           "swappiness",
                           ".vm.swappiness",
                           "vm.swappiness.",
                           "vm..swappiness",
                           "vm/../swappiness",
                           "vm/./swappiness",
                           "/vm/swappiness",
                           "vm.swap piness",
                           "vm.*",
                           "net.ipv4.conf.*.rp_filter",
                           "vm.swappiness?",
                           "vm.[s]wappiness",
                           "-vm.swappiness",
                           "vm.swappiness=1",
                           "vm.swappiness\n",
                           "VM.swappiness",
                           "net.core.RMEM_max",
                           "vm.swäppiness",
                           "#vm.swappiness",
                           "net.ipv4.conf.a/b.x;y"}) {
    INFO(text);
    const Result<Key> key = parse_key(text);
    REQUIRE_FALSE(key);
    CHECK(key.error().code == ErrorCode::kInvalidInput);
    CHECK_FALSE(key.error().hint.empty());
  }
}

TEST_CASE("sysctl: the interface of a parameter is recognised, except all and default") {
  CHECK(interface_of(key_of("net.ipv4.conf.enp1s0/200.rp_filter")) == "enp1s0.200");
  CHECK(interface_of(key_of("net.ipv6.neigh.eth0.gc_stale_time")) == "eth0");
  CHECK_FALSE(interface_of(key_of("net.ipv4.conf.all.rp_filter")));
  CHECK_FALSE(interface_of(key_of("net.ipv6.conf.default.forwarding")));
  CHECK_FALSE(interface_of(key_of("net.ipv4.tcp_rmem")));
  CHECK_FALSE(interface_of(key_of("net.core.rmem_max")));
}

TEST_CASE("sysctl: blanks and tabs are merged, and digits stay") {
  CHECK(canonical_value("4096\t131072\t6291456\n") == "4096 131072 6291456");
  CHECK(canonical_value("  a \t b  ") == "a b");
  CHECK(canonical_value("0") == "0");
  CHECK(canonical_value("00") == "00");
  CHECK(canonical_value(" \t\n").empty());
}

TEST_CASE("sysctl: integers, texts and sizes are converted to the kernel's text") {
  CHECK(resolved(Value(0)) == "0");
  CHECK(resolved(Value(-1)) == "-1");
  CHECK(resolved(Value("")).empty());
  CHECK(resolved(Value("256MiB")) == "268435456");
  CHECK(resolved(Value("1kB")) == "1000");
  CHECK(resolved(Value("4096  87380\t128MiB")) == "4096 87380 134217728");
  CHECK(resolved(Value("|/usr/bin/dump %p 1MB")) == "|/usr/bin/dump %p 1MB");
  CHECK(resolved(Value("64k")) == "64k");
  CHECK(resolved(Value("fq")) == "fq");
  CHECK(resolved(Value("B")) == "B");
}

TEST_CASE("sysctl: floats, truth values, lists and control characters are refused") {
  const std::vector<Value> refused{Value(1.5),    Value(true),         Value::list({1, 2}),           Value::map(),
                                   Value(),       Value("a\nb"),       Value(std::string("a\0b", 3)), Value("a\x1b[0m"),
                                   Value("0.3B"), Value("99999999TiB")};
  for (const Value& value : refused) {
    INFO(display(value));
    CHECK_FALSE(resolve_value(value));
  }
}

TEST_CASE("sysctl: a file is parsed as by systemd-sysctl") {
  const std::vector<Line> lines = parse_file(
      "# comment\n; comment\n\n  vm.swappiness = 10  \nkernel.core_pattern=|/x a=b\nnonsense\n"
      "-net.ipv4.conf.eth0.rp_filter = 2\n-net.ipv4.conf.eth1.rp_filter\n - net/core/rmem_max=1\t2\nvm.empty =\n"
      "net.ipv4.conf.*.rp_filter = 1\n/kernel/panic = 5");
  REQUIRE(lines.size() == 8);
  CHECK((lines[0].path == "vm/swappiness" && lines[0].value == "10" && lines[0].number == 4));
  CHECK((lines[1].path == "kernel/core_pattern" && lines[1].value == "|/x a=b" && !lines[1].ignore_errors));
  CHECK((lines[2].path == "net/ipv4/conf/eth0/rp_filter" && lines[2].value == "2" && lines[2].ignore_errors));
  CHECK((lines[3].path == "net/ipv4/conf/eth1/rp_filter" && !lines[3].value && lines[3].number == 8));
  CHECK((lines[4].path == "net/core/rmem_max" && lines[4].value == "1 2"));
  CHECK((lines[5].path == "vm/empty" && lines[5].value == ""));
  CHECK(lines[6].path == "net/ipv4/conf/*/rp_filter");
  CHECK((lines[7].path == "kernel/panic" && lines[7].number == 12));
}

TEST_CASE("sysctl: the managed file is sorted, marks interfaces with a dash and begins with a header") {
  const std::string text = render_file({{key_of("vm.swappiness"), "0"},
                                        {key_of("net.ipv4.conf.enp1s0/200.rp_filter"), "2"},
                                        {key_of("net.ipv4.conf.all.rp_filter"), "1"},
                                        {key_of("net.core.rmem_max"), "268435456"}});
  CHECK(text.substr(text.find("\nnet") + 1) ==
        "net.ipv4.conf.all.rp_filter = 1\nnet.core.rmem_max = 268435456\n"
        "-net.ipv4.conf.enp1s0/200.rp_filter = 2\nvm.swappiness = 0\n");
  CHECK(text.starts_with("# Written by sparkplan"));
}

TEST_CASE("sysctl: settings for all interfaces come before settings for one") {
  CHECK(set_before(key_of("net.ipv4.ip_forward"), key_of("net.ipv4.conf.a.forwarding")));
  CHECK(set_before(key_of("net.ipv6.conf.all.forwarding"), key_of("net.ipv6.conf.aaa.forwarding")));
  CHECK_FALSE(set_before(key_of("vm.swappiness"), key_of("vm.swappiness")));
}

TEST_CASE("sysctl: parsing a rendered file restores every setting") {
  std::mt19937 random(7);
  const auto pick = [&](const auto& list) {
    return list[std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(random)];
  };
  const std::vector<std::string> keys{
      "vm.swappiness",       "net.core.rmem_max", "net.ipv4.conf.eth0/1.rp_filter", "net.ipv4.conf.enP2p1.arp_ignore",
      "kernel.core_pattern", "net.ipv4.tcp_rmem"};
  const std::string letters = "ab01 =#;-'\"|/%\t";
  for (int round = 0; round < 500; ++round) {
    std::map<Key, std::string> settings;
    for (int i = 0; i < 4; ++i) {
      std::string value;
      for (int n = std::uniform_int_distribution<int>(0, 12)(random); n > 0; --n) value += pick(letters);
      settings[key_of(pick(keys))] = canonical_value(value);
    }
    std::map<Key, std::string> back;
    for (const Line& line : parse_file(render_file(settings))) {
      REQUIRE(line.value);
      back[Key{line.path}] = *line.value;
    }
    CHECK(back == settings);
  }
}

TEST_CASE("sysctl: no input breaks the reader or gives a setting without a name") {
  std::mt19937 random(11);
  const std::string letters("-=#;./ \t\n\r\0a*[", 15);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int n = 0; n < 30; ++n)
      text += letters[std::uniform_int_distribution<std::size_t>(0, letters.size() - 1)(random)];
    const std::size_t count = split_lines(text).size();
    for (const Line& line : parse_file(text)) {
      CHECK(line.number >= 1);
      CHECK(static_cast<std::size_t>(line.number) <= count);
    }
    static_cast<void>(parse_key(text));
  }
}

TEST_CASE("sysctl: the last later file with a key wins over the managed file") {
  const Key key = key_of("vm.swappiness");
  struct Row {
    const char* why;
    std::vector<ConfigFile> files;
    const char* source;  // "": no source.
    std::optional<std::string> value;
  };
  const std::vector<Row> rows{{"no file", {}, "", {}},
                              {"another key", {{"/a", "vm.dirty_ratio = 1\n"}}, "", {}},
                              {"a comment", {{"/a", "#vm.swappiness = 1\n"}}, "", {}},
                              {"one file", {{"/a", "\nvm.swappiness = 1\n"}}, "/a:2", "1"},
                              {"another spelling", {{"/a", "vm/swappiness=1"}}, "/a:1", "1"},
                              {"the last line", {{"/a", "vm.swappiness=1\nvm.swappiness=2\n"}}, "/a:2", "2"},
                              {"the last file", {{"/a", "vm.swappiness=1"}, {"/b", "vm.swappiness=2"}}, "/b:1", "2"},
                              {"errors ignored or not", {{"/a", "-vm.swappiness=1"}}, "/a:1", "1"},
                              {"an exclusion", {{"/a", "-vm.swappiness"}}, "/a:1", {}},
                              {"a glob never wins over a name", {{"/a", "vm.* = 1\nvm.swapp* = 2\n"}}, "", {}}};
  for (const Row& row : rows) {
    INFO(row.why);
    const std::optional<Override> found = overriding(key, row.files);
    CHECK((found ? found->source : "") == row.source);
    if (found) CHECK(found->value == row.value);
  }
}

}  // namespace sparkplan::sysctl
