#include "engine/core/file_descriptor.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// The lowest free descriptor of a process without some of its standard streams, after keep_standard_streams_open().
int lowest_free_without(std::initializer_list<int> streams) {
  const pid_t process = ::fork();
  if (process == 0) {
    for (const int stream : streams) ::close(stream);
    keep_standard_streams_open();
    ::_exit(::open("/dev/null", O_RDONLY));
  }
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("no file gets the number of a standard stream that is closed") {
  const int usual = lowest_free_without({});
  CHECK(usual > STDERR_FILENO);
  CHECK(lowest_free_without({STDOUT_FILENO}) == usual);
  CHECK(lowest_free_without({STDIN_FILENO, STDERR_FILENO}) == usual);
  CHECK(lowest_free_without({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) == usual);
}

}  // namespace sparkplan
