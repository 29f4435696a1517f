// One rank of the NCCL test, or the test of a node's GPUs. sparkplan starts it over SSH, one per node; it ends when its
// input ends.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/carried/controller_stream.h"
#include "engine/carried/own_program.h"
#include "engine/nccl/command_stream.h"
#include "engine/nccl/gpu_measurement.h"
#include "engine/nccl/rank.h"
#include "engine/wire/frame.h"

namespace {

using namespace sparkplan;

void greet(int output) {
  // A partial write is not checked: the first frame reports any output error.
  if (::write(output, kPreamble.data(), kPreamble.size()) < 0) ::_exit(kInputEndedStatus);
  nccl::send_answer(output, RankHello{own_build(), machine_architecture()});
}

/// Reserves standard output for frames: the output of NCCL and its plug-ins goes to standard error.
int take_output() {
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) ::_exit(kInputEndedStatus);
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
    if (const auto* measure = command ? std::get_if<MeasureGpus>(&*command) : nullptr) {
      const auto answer_of_gpus = gpu::measure_gpus(*measure);
      nccl::send_answer(output, answer_of_gpus);
      if (std::holds_alternative<RankFailure>(answer_of_gpus)) return 1;
      continue;
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
