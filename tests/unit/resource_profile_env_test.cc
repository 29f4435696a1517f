#include "resources/profile_env/profile_env.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::profile_env {
namespace {

const ResourceType& type() { return *builtin_registry().find("profile_env"); }

std::map<std::string, std::string> parsed(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (const Assignment& one : parse_file(text)) variables[one.name] = one.value.value_or("(unset)");
  return variables;
}

std::vector<std::string> codes(const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type().validate(section)) found.push_back(one.code);
  return found;
}

using Codes = std::vector<std::string>;

/// A temporary file that goes with the test.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text) {
    std::array<char, 32> name{"/tmp/profile_env_XXXXXX"};
    const int descriptor = mkstemp(name.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path_ = name.data();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What `shell` finds in $NAME after reading the file.
std::string seen_by_shell(const char* shell, const std::string& file, const std::string& name) {
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> words{shell, "-c", ". \"$1\"; printf %s. \"$" + name + "\"", "test", file};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, shell, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  REQUIRE(failed == 0);
  std::string output;
  std::array<char, 512> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  REQUIRE(output.ends_with('.'));  // Keeps trailing blanks visible.
  output.pop_back();
  return output;
}

const std::vector<std::string> kAwkward{"",     "0",        " ",    "it's",    "''",          "'",        "$HOME",
                                        "`id`", "$(id)",    "\\",   "\\'",     "a\\",         "\"x\"",    "a b  c ",
                                        "*",    "~",        "#not", "a;b&c|d", "=x=y",        "!history", "grüße 漢字",
                                        "${x}", "<>()[]{}", "-n",   "%s%d",    "=rocep1s0f0", "'\\''",    "\"$(id)\"'"};

}  // namespace

TEST_CASE("profile_env: a real shell sees every awkward value exactly as it was written") {
  for (const std::string& value : kAwkward) {
    INFO(value);
    const ScratchFile file(render_file({{"A_BEFORE", "x"}, {"NAME", value}, {"Z_AFTER", "y"}}));
    CHECK(seen_by_shell("/bin/sh", file.path(), "NAME") == value);
    CHECK(seen_by_shell("/bin/sh", file.path(), "Z_AFTER") == "y");
  }
}

TEST_CASE("profile_env: quoting is one word in single quotes") {
  CHECK(quote("") == "''");
  CHECK(quote("a b") == "'a b'");
  CHECK(quote("it's") == "'it'\\''s'");
}

TEST_CASE("profile_env: reading what was rendered gives back every variable") {
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

TEST_CASE("profile_env: what we read of a line is what a shell makes of it") {
  for (const std::string line : {"export A=b", "A=b", "A='b c'", "A=\"b c\"", "export A=b\\ c", "A=a'b'\"c\"d",
                                 "A=", "A=''  # comment", "A=\"\\$x \\\\ \\z\"", "export B=1 A=2", "A=x#y"}) {
    INFO(line);
    const ScratchFile file(line + "\n");
    REQUIRE(parsed(line).contains("A"));
    CHECK(parsed(line).at("A") == seen_by_shell("/bin/sh", file.path(), "A"));
  }
}

TEST_CASE("profile_env: lines that only a shell can understand are not guessed at") {
  for (const char* line : {"export A=$B", "A=`id`", "A=\"$B\"", "A=$(id)", "A=b command", "  A=b", "\tA=b", "A='open",
                           "A=\"open", "A=b; B=c", "[ -n x ] && A=b", "export A=~/x", "A=b\\", "# A=b", "alias A=b",
                           "export A", "A+=b", "1A=b", "-A=b"}) {
    INFO(line);
    CHECK(parsed(line).empty());
  }
  CHECK(parsed("unset A B") == std::map<std::string, std::string>{{"A", "(unset)"}, {"B", "(unset)"}});
}

TEST_CASE("profile_env: names follow the shell's grammar") {
  for (const char* good : {"A", "_", "a1", "HF_HOME", "_9"}) CHECK(is_name(good));
  for (const char* bad : {"", "1A", "A-B", "A B", "A=B", "ä", "A\n", "$A"}) CHECK_FALSE(is_name(bad));
}

TEST_CASE("profile_env: values are text or integers without control characters") {
  CHECK(resolve_value(Value(0)) == std::string("0"));
  CHECK(resolve_value(Value("")) == std::string());
  const std::vector<Value> refused{
      Value(1.5),   Value(false), Value(), Value::list(), Value("a\nb"), Value("a\tb"), Value(std::string("a\0b", 3)),
      Value("\x7f")};
  for (const Value& value : refused) {
    INFO(display(value));
    CHECK_FALSE(resolve_value(value));
  }
}

TEST_CASE("profile_env: names that no login survives are refused, risky ones are warned about") {
  for (const char* name : {"IFS", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "LD_PRELOAD", "UID", "HOME"}) {
    INFO(name);
    const std::vector<Diagnostic> findings = type().validate(Value::map({{name, "x", {}}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kError);
    CHECK(findings[0].code == "profile_env.refused-name");
  }
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "NCCL_DEBUG"}) {
    INFO(name);
    const std::vector<Diagnostic> findings = type().validate(Value::map({{name, "x", {}}}));
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kWarning);
  }
  CHECK(codes(Value::map({{"HF_HOME", "x", {}}, {"IFS", Value(), {}}})).empty());
  CHECK(codes(Value::map({{"A-B", "x", {}}, {"A", "x\ny", {}}})) == Codes{"profile_env.name", "profile_env.value"});
}

TEST_CASE("profile_env: files after ours count, in the order of bytes") {
  test::FakeNode node;
  for (const char* name : {"zz.sh", "sparkplan-nccl.sh", "a.sh", "zz.csh", ".zz.sh", "Z.sh"}) {
    node.add_file("/etc/profile.d/" + std::string(name), "export A=1\n");
  }
  node.add_directory("/etc/profile.d/zzz.sh");
  node.add_symlink("/etc/profile.d/zzzz.sh", "/nowhere");
  const Result<std::vector<ProfileFile>> files = later_profile_files(node);
  REQUIRE(files);
  REQUIRE(files->size() == 2);
  CHECK((*files)[0].path == "/etc/profile.d/sparkplan-nccl.sh");
  CHECK((*files)[1].path == "/etc/profile.d/zz.sh");
}

TEST_CASE("profile_env: a later file that takes a variable away is a foreign claim") {
  test::FakeNode node;
  node.add_file("/etc/profile.d/zz.sh", "A=x\nunset A\n");
  const ObservedType observed = type().observe({{"A"}}, node);
  REQUIRE(observed.foreign.size() == 1);
  CHECK(observed.foreign[0].source == "/etc/profile.d/zz.sh:2");
  CHECK(observed.foreign[0].value.is_null());
}

}  // namespace sparkplan::profile_env
