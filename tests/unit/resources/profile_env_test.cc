#include "resources/profile_env/profile_env.h"

#include <random>

#include "engine/resource/registry.h"
#include "engine/resource/shell_environment.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/shell.h"

namespace sparkplan::profile_env {
namespace {

const ResourceType& type() { return *builtin_registry().find("profile_env"); }

std::map<std::string, std::string> parsed(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (const ShellAssignment& one : parse_shell_assignments(text)) variables[one.name] = one.value.value_or("(unset)");
  return variables;
}

std::vector<std::string> codes(const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type().validate(section)) found.push_back(one.code);
  return found;
}

using Codes = std::vector<std::string>;

const std::vector<std::string> kAwkward{"",     "0",        " ",    "it's",    "''",          "'",        "$HOME",
                                        "`id`", "$(id)",    "\\",   "\\'",     "a\\",         "\"x\"",    "a b  c ",
                                        "*",    "~",        "#not", "a;b&c|d", "=x=y",        "!history", "grüße 漢字",
                                        "${x}", "<>()[]{}", "-n",   "%s%d",    "=rocep1s0f0", "'\\''",    "\"$(id)\"'"};

}  // namespace

TEST_CASE("profile_env: a real shell reads every unusual value exactly as written") {
  for (const std::string& value : kAwkward) {
    INFO(value);
    const std::string file = render_file({{"A_BEFORE", "x"}, {"NAME", value}, {"Z_AFTER", "y"}});
    CHECK(test::seen_by_shell("/bin/sh", file, "NAME") == value);
    CHECK(test::seen_by_shell("/bin/sh", file, "Z_AFTER") == "y");
  }
}

TEST_CASE("profile_env: parsing a rendered file restores every variable") {
  for (const std::string& value : kAwkward) {
    const std::map<std::string, std::string> variables{{"A", value}, {"B_2", "x" + value}};
    CHECK(parsed(render_file(variables)) == variables);
  }
  std::mt19937 random(3);
  const std::string letters = "a '\"\\$`#;=~*!";
  for (int round = 0; round < 1000; ++round) {
    std::string value;
    for (int n = std::uniform_int_distribution<int>(0, 12)(random); n > 0; --n) {
      value += letters[std::uniform_int_distribution<std::size_t>(0, letters.size() - 1)(random)];
    }
    INFO(value);
    CHECK(parsed(render_file({{"NAME", value}})) == std::map<std::string, std::string>{{"NAME", value}});
  }
}

TEST_CASE("profile_env: names that would break logins are refused, and risky names are a warning") {
  for (const char* name : {"IFS", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "LD_PRELOAD", "UID", "HOME"}) {
    INFO(name);
    const std::vector<Diagnostic> findings = type().validate(Value::map({{name, "x"}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kError);
    CHECK(findings[0].code == "profile_env.refused-name");
  }
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "NCCL_DEBUG"}) {
    INFO(name);
    const std::vector<Diagnostic> findings = type().validate(Value::map({{name, "x"}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kWarning);
  }
  CHECK(codes(Value::map({{"HF_HOME", "x"}, {"IFS", Value()}})).empty());
  CHECK(codes(Value::map({{"A-B", "x"}, {"A", "x\ny"}})) == Codes{"profile_env.name", "profile_env.value"});
}

TEST_CASE("profile_env: a later file that unsets a variable is a foreign claim") {
  test::FakeNode node;
  node.add_file("/etc/profile.d/zz.sh", "A=x\nunset A\n");
  const ObservedType observed = type().observe({{"A"}}, node);
  REQUIRE(observed.foreign.size() == 1);
  CHECK(observed.foreign[0].source == "/etc/profile.d/zz.sh:2");
  CHECK(observed.foreign[0].value.is_null());
}

}  // namespace sparkplan::profile_env
