// Copies a directory tree between nodes. sparkplan starts it over SSH, one per node and tree; it ends when its input
// ends.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/carried/controller_stream.h"
#include "engine/carried/own_program.h"
#include "engine/copy/command_stream.h"
#include "engine/copy/copy_session.h"
#include "engine/core/bounded_text.h"
#include "engine/wire/frame.h"

namespace {

using namespace sparkplan;

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
  // A program inherits an ignored SIGCHLD from its parent. The system then keeps no exit status of its children.
  ::signal(SIGCHLD, SIG_DFL);
  ::umask(022);
  work_in_background();
  if (::write(STDOUT_FILENO, kPreamble.data(), kPreamble.size()) < 0) return kInputEndedStatus;
  copy::AnswerWriter answers(STDOUT_FILENO);
  answers.send(CopyHello{own_build(), machine_architecture()});
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
