// The process starter: sparkplan starts it over SSH, one per node. It runs commands as the login user and ends them
// when its input ends.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "engine/job/guardian.h"
#include "engine/job/job_server.h"
#include "engine/job/shown_record.h"
#include "engine/wire/build_id.h"

namespace {

using namespace sparkplan;

constexpr std::size_t kNotesWithin = std::size_t{64} << 10;

std::string own_build() {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string beginning(kNotesWithin, '\0');
  const auto size = ::read(file, beginning.data(), beginning.size());
  ::close(file);
  beginning.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return elf_build_id(beginning).value_or("");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) job::start_again_with_room(argv);
  const bool has_room = argc == 3 && std::strlen(argv[2]) == kJobRecordRoom;
  if (argc < 2 || argv[1] != kJobServes || !(argc == 2 || has_room)) {
    std::fputs("usage: sparkplan-job --stdio\n", stderr);
    return 64;
  }
  if (has_room) job::take_room(argv[2]);
  job::start_guardian();
  utsname machine{};
  ::uname(&machine);
  job::JobServer server(STDIN_FILENO, STDOUT_FILENO);
  return server.serve({own_build(), machine.machine});
}
