// One rank of the NCCL test. sparkplan starts it over SSH, one per node; it ends when its input ends.
#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "engine/nccl/command_stream.h"
#include "engine/nccl/rank.h"
#include "engine/wire/build_id.h"
#include "engine/wire/frame.h"

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

void greet(int output) {
  utsname machine{};
  ::uname(&machine);
  // A partial write is not checked: the first frame reports any output error.
  if (::write(output, kPreamble.data(), kPreamble.size()) < 0) ::_exit(nccl::kInputEndedStatus);
  nccl::send_answer(output, RankHello{own_build(), machine.machine});
}

/// Reserves standard output for frames: the output of NCCL and its plug-ins goes to standard error.
int take_output() {
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) ::_exit(nccl::kInputEndedStatus);
  return output;
}

Result<RankAnswer> answer(nccl::Rank& rank, const RankCommand& command) {
  if (const auto* prepare = std::get_if<PrepareRank>(&command)) return rank.prepare(*prepare);
  if (const auto* join = std::get_if<JoinRank>(&command)) return rank.join(*join);
  if (const auto* run = std::get_if<RunCollective>(&command)) return rank.run(*run);
  return failure(ErrorCode::kBug, "there is no such command");
}

int serve(int output) {
  auto log = nccl::LogFile::create();
  if (!log) {
    nccl::send_answer(output, RankFailure{RankFault::kProtocol, log.error(), {}});
    return 1;
  }
  nccl::Rank rank(std::move(*log));
  nccl::CommandStream commands(STDIN_FILENO);
  while (true) {
    const auto command = commands.next();
    if (command && std::holds_alternative<EndRank>(*command)) {
      rank.end();
      return 0;
    }
    auto answered = command ? answer(rank, *command) : Result<RankAnswer>(failure(command.error()));
    if (!answered) {
      const auto fault = command ? rank.fault() : RankFault::kProtocol;
      nccl::send_answer(output, RankFailure{fault, answered.error(), rank.transport()});
      return 1;
    }
    nccl::send_answer(output, *answered);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--stdio") != 0) {
    std::fputs("usage: sparkplan-nccl --stdio\n", stderr);
    return 64;
  }
  // Always ends by _exit(): the destructors of NCCL and of the driver may wait for peers.
  ::signal(SIGPIPE, SIG_IGN);
  const int output = take_output();
  greet(output);
  ::_exit(serve(output));
}
