#include "engine/verify/levels/gpu_run.h"

#include <string>
#include <utility>

#include "engine/remote/programs/nccl_rank_client.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGlanceAtGpus{50};
constexpr milliseconds kPatienceWithGpus{3000};

NcclFailure failed(NcclTrouble trouble, Error error, std::optional<RankFault> fault = {}) {
  const auto phase = trouble == NcclTrouble::kConnection ? NcclPhase::kStart : NcclPhase::kRun;
  return {trouble, phase, 0, fault, std::move(error), {}};
}

void take(RankAnswer answer, GpuOutcome& outcome) {
  if (auto* measured = std::get_if<MeasuredGpus>(&answer)) {
    outcome.measured = std::move(*measured);
  } else if (auto* failure = std::get_if<RankFailure>(&answer)) {
    outcome.failure = failed(NcclTrouble::kFault, std::move(failure->error), failure->fault);
  } else {
    outcome.failure = failed(NcclTrouble::kEnded, make_error(ErrorCode::kFailed, "it sent an unexpected answer"));
  }
}

void ask(NcclRankClient& client, const GpuRunOptions& options, GpuOutcome& outcome) {
  const auto limit = milliseconds(options.command.load_ms) + options.patience;
  const auto deadline = Clock::now() + limit;
  // If the program has ended, the read below has a better error.
  (void)client.send(options.command, limit);
  while (!outcome.measured && !outcome.failure) {
    auto answer = client.receive(kGlanceAtGpus);
    if (!answer) {
      const bool ended = answer.error().code != ErrorCode::kUnreachable;
      outcome.failure = failed(ended ? NcclTrouble::kEnded : NcclTrouble::kConnection, std::move(answer).error());
    } else if (*answer) {
      take(**std::move(answer), outcome);
    } else if (options.stop.stop_requested()) {
      outcome.failure = failed(NcclTrouble::kStopped, make_error(ErrorCode::kInterrupted, "stopped"));
    } else if (Clock::now() >= deadline) {
      const auto text = "the measurement did not finish within " + std::to_string(limit.count() / 1000) + " s";
      outcome.failure = failed(NcclTrouble::kSilent, make_error(ErrorCode::kUnreachable, text));
    }
  }
}

}  // namespace

GpuOutcome measure_gpus(const NodeSpec& node, const GpuRunOptions& options) {
  GpuOutcome outcome;
  auto client = NcclRankClient::open(node, options.agent);
  if (!client) {
    outcome.failure = failed(NcclTrouble::kConnection, std::move(client).error());
    return outcome;
  }
  ask(*client, options, outcome);
  outcome.left_running = !client->end(kPatienceWithGpus);
  return outcome;
}

}  // namespace sparkplan
