#include "engine/resource/shell_environment.h"

#include <map>

#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/shell.h"

namespace sparkplan {
namespace {

std::map<std::string, std::string> parsed(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (const ShellAssignment& one : parse_shell_assignments(text)) variables[one.name] = one.value.value_or("(unset)");
  return variables;
}

}  // namespace

TEST_CASE("quoting gives one word in single quotes") {
  CHECK(shell_quote("") == "''");
  CHECK(shell_quote("a b") == "'a b'");
  CHECK(shell_quote("it's") == "'it'\\''s'");
}

TEST_CASE("a parsed line has the value that a shell assigns") {
  for (const std::string line : {"export A=b", "A=b", "A='b c'", "A=\"b c\"", "export A=b\\ c", "A=a'b'\"c\"d",
                                 "A=", "A=''  # comment", "A=\"\\$x \\\\ \\z\"", "export B=1 A=2", "A=x#y"}) {
    INFO(line);
    REQUIRE(parsed(line).contains("A"));
    CHECK(parsed(line).at("A") == test::seen_by_shell("/bin/sh", line + "\n", "A"));
  }
}

TEST_CASE("lines that only a shell can evaluate are not parsed") {
  for (const char* line : {"export A=$B", "A=`id`", "A=\"$B\"", "A=$(id)", "A=b command", "  A=b", "\tA=b", "A='open",
                           "A=\"open", "A=b; B=c", "[ -n x ] && A=b", "export A=~/x", "A=b\\", "# A=b", "alias A=b",
                           "export A", "A+=b", "1A=b", "-A=b"}) {
    INFO(line);
    CHECK(parsed(line).empty());
  }
  CHECK(parsed("unset A B") == std::map<std::string, std::string>{{"A", "(unset)"}, {"B", "(unset)"}});
}

TEST_CASE("variable names follow the shell's grammar") {
  for (const char* good : {"A", "_", "a1", "HF_HOME", "_9"}) CHECK(is_variable_name(good));
  for (const char* bad : {"", "1A", "A-B", "A B", "A=B", "ä", "A\n", "$A"}) CHECK_FALSE(is_variable_name(bad));
}

TEST_CASE("values are text or integers without control characters") {
  CHECK(variable_value(Value(0)) == std::string("0"));
  CHECK(variable_value(Value("")) == std::string());
  const std::vector<Value> refused{
      Value(1.5),   Value(false), Value(), Value::list(), Value("a\nb"), Value("a\tb"), Value(std::string("a\0b", 3)),
      Value("\x7f")};
  for (const Value& value : refused) {
    INFO(display(value));
    CHECK_FALSE(variable_value(value));
  }
}

TEST_CASE("files sorted after sparkplan's own are read, in byte order") {
  test::FakeNode node;
  for (const char* name : {"zz.sh", "sparkplan-nccl.sh", "a.sh", "zz.csh", ".zz.sh", "Z.sh"}) {
    node.add_file("/etc/profile.d/" + std::string(name), "export A=1\n");
  }
  node.add_directory("/etc/profile.d/zzz.sh");
  node.add_symlink("/etc/profile.d/zzzz.sh", "/nowhere");
  const Result<std::vector<ConfigFile>> files = profile_files_after("/etc/profile.d/sparkplan-env.sh", node);
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  CHECK((*files)[0].path == "/etc/profile.d/sparkplan-nccl.sh");
  CHECK((*files)[1].path == "/etc/profile.d/zz.sh");
}

TEST_CASE("of several files the last one that says something about a variable counts") {
  const std::vector<ConfigFile> files{
      {"/a.sh", "A=1\nB=1\n"}, {"/b.sh", "\nexport A='it''s'\n"}, {"/c.sh", "unset B\n"}};
  const auto a = last_assignment("A", files);
  REQUIRE(a);
  CHECK(a->value == "its");
  CHECK(a->source == "/b.sh:2");
  CHECK(a->message == "sets it to 'its' and is read later");
  const auto b = last_assignment("B", files);
  REQUIRE(b);
  CHECK_FALSE(b->value);
  CHECK(b->message == "unsets it and is read later");
  CHECK_FALSE(last_assignment("C", files));
}

TEST_CASE("variables that would break logins, or replace a search path, are recognised") {
  const auto code_of = [](const char* name) {
    const auto wrong = check_variable_name({name, Value("x")}, "env");
    return wrong ? wrong->code : std::string();
  };
  for (const char* name : {"IFS", "LD_PRELOAD", "HOME", "ENV"}) CHECK(code_of(name) == "env.refused-name");
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) CHECK(code_of(name) == "env.risky-name");
  for (const char* name : {"HF_HOME", "NCCL_DEBUG"}) CHECK(code_of(name).empty());
  CHECK(code_of("") == "env.name");
}

}  // namespace sparkplan
