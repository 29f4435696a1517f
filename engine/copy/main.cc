// Copies a directory tree between nodes. sparkplan starts it over SSH, one per node and tree; it ends when its input
// ends.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "engine/copy/command_stream.h"
#include "engine/copy/copy_session.h"
#include "engine/core/bounded_text.h"
#include "engine/wire/build_id.h"
#include "engine/wire/frame.h"

namespace {

using namespace sparkplan;

std::string own_build() {
  constexpr std::size_t kNotesWithin = std::size_t{64} << 10;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string beginning(kNotesWithin, '\0');
  const auto size = ::read(file, beginning.data(), beginning.size());
  ::close(file);
  beginning.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return elf_build_id(beginning).value_or("");
}

/// The node's own work comes first, on its processor and on its disk.
void work_in_background() {
  constexpr int kNice = 10;
  // Source: ioprio_set(2); its header is not valid C++.
  constexpr int kProcess = 1;
  constexpr int kLowestOfBestEffort = 2 << 13 | 7;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  (void)::syscall(SYS_ioprio_set, kProcess, 0, kLowestOfBestEffort);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--stdio") != 0) {
    std::fputs("usage: sparkplan-copy --stdio\n", stderr);
    return 64;
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(022);
  work_in_background();
  if (::write(STDOUT_FILENO, kPreamble.data(), kPreamble.size()) < 0) return copy::kInputEndedStatus;
  copy::AnswerWriter answers(STDOUT_FILENO);
  utsname machine{};
  ::uname(&machine);
  answers.send(CopyHello{own_build(), machine.machine});
  copy::CommandStream commands(STDIN_FILENO);
  copy::CopySession session(answers);
  while (true) {
    auto command = commands.next();
    const auto outcome = command ? session.handle(std::move(*command)) : Result<void>(failure(command.error()));
    if (outcome) continue;
    answers.send(CopyFailure{bounded(outcome.error())});
    // Without waiting for threads that may be in a system call.
    ::_exit(1);
  }
}
