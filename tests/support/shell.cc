#include "tests/support/shell.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// A temporary file, removed at the end of the test.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view text) {
    std::array<char, 32> name{"/tmp/spark_shell_XXXXXX"};
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

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string seen_by_shell(const std::string& shell, std::string_view file_text, const std::string& name,
                          const std::vector<std::string>& environment, int times) {
  const ScratchFile file(file_text);
  std::array<int, 2> ends{};
  REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string script = "set -u; ";
  for (int i = 0; i < times; ++i) script += ". \"$1\"; ";
  std::vector<std::string> words{shell, "-c", script + "printf %s. \"${" + name + "-(unset)}\"", "test", file.path()};
  std::vector<std::string> variables = environment;
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, shell.c_str(), &actions, nullptr, pointers_to(words).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  REQUIRE(failed == 0);
  std::string output;
  std::array<char, 512> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
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

}  // namespace sparkplan::test
