#include "engine/remote/programs/request_deadline.h"

#include <algorithm>

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// One login without an answer.
constexpr seconds kLongestLogin{30};
/// The agent sends progress at the beginning of each step and every 20 s while a program runs. Twice as many messages
/// are accepted.
constexpr seconds kBetweenSigns{10};
constexpr std::size_t kSpareSigns = 100;
constexpr std::size_t kShownPerSecond = 10;

milliseconds longest(const Step& step) {
  if (step.phase == Phase::kPackages) return kLongestPackageStep;
  const bool is_text = step.artifact.kind == "file" || step.artifact.kind == "block";
  return is_text ? milliseconds(kLongestFileStep) : milliseconds(kLongestStep);
}

RequestDeadline with_signs(milliseconds total, milliseconds silence, std::size_t steps) {
  const auto by_time = static_cast<std::size_t>(total / kBetweenSigns);
  return {total, std::min(total, silence), kSpareSigns + 2 * steps + by_time};
}

struct DeadlineOf {
  milliseconds reply;

  template <class Other>
  RequestDeadline operator()(const Other& /*request*/) const {
    return {reply, reply, 0};
  }

  RequestDeadline operator()(const ApplyRequest& request) const {
    milliseconds total = reply * 5;
    bool packages = false;
    for (const Step& step : request.steps) {
      total += longest(step);
      packages = packages || step.phase == Phase::kPackages;
    }
    total = std::min(total, milliseconds(packages ? kLongestPackageApply : kLongestApply));
    // The other nodes of the wave wait meanwhile, and their windows go on. A node that is still at work then is asked
    // again over a new connection.
    if (request.window_seconds > 0) total = std::min(total, milliseconds(seconds(request.window_seconds)) * 2 / 5);
    return with_signs(total, reply * 5, request.steps.size());
  }

  RequestDeadline operator()(const LockRequest& /*request*/) const { return undoing(); }
  RequestDeadline operator()(const ConfirmRequest& /*request*/) const { return undoing(); }
  RequestDeadline operator()(const RollBackRequest& /*request*/) const { return undoing(); }
  RequestDeadline operator()(const ReleaseRequest& /*request*/) const { return undoing(); }

  RequestDeadline operator()(const ReadStorageRequest& /*request*/) const { return plain(reply + kLongestStorageRead); }
  RequestDeadline operator()(const SshLoginRequest& request) const {
    return plain(reply + kLongestLogin * static_cast<std::int64_t>(request.targets.size()));
  }

 private:
  static RequestDeadline plain(milliseconds total) { return {total, total, 0}; }
  RequestDeadline undoing() const { return with_signs(reply * 5, reply * 2, 0); }
};

struct LimitsOf {
  template <class Other>
  FrameLimits operator()(const Other& /*request*/) const {
    return kSmallMessage;
  }
  // A run keeps a node's manifest and observation, and their texts again in its plan, the report and a request. The
  // arithmetic is at FrameLimits.
  FrameLimits operator()(const FactsRequest& /*request*/) const { return kFactsReply; }
  FrameLimits operator()(const ObserveNodeRequest& /*request*/) const { return kObserveReply; }
  FrameLimits operator()(const EffectRequest& /*request*/) const { return kOutcomeReply; }
  FrameLimits operator()(const ForesightRequest& /*request*/) const { return kOutcomeReply; }
  FrameLimits operator()(const ApplyRequest& /*request*/) const { return kOutcomeReply; }
  FrameLimits operator()(const HistoryRequest& request) const {
    return request.with_artifacts ? kHistoryReply : kSmallMessage;
  }
  FrameLimits operator()(const UndoRequest& /*request*/) const { return kUndoReply; }
  FrameLimits operator()(const MeasurementsRequest& /*request*/) const { return {}; }
  /// A node stores 1 MiB, and the histories of all nodes are kept at a time.
  FrameLimits operator()(const MeasurementHistoryRequest& /*request*/) const {
    return {std::size_t{4} << 20, kMaxMessageMemory};
  }
};

std::string in_seconds(milliseconds time) {
  const auto whole = std::chrono::duration_cast<seconds>(time).count();
  return whole > 0 ? std::to_string(whole) + " s" : std::to_string(time.count()) + " ms";
}

}  // namespace

RequestDeadline deadline_of(const Request& request, milliseconds reply_timeout) {
  return std::visit(DeadlineOf{reply_timeout}, request);
}

FrameLimits reply_limits(const Request& request) { return std::visit(LimitsOf{}, request); }

milliseconds RequestClock::left(Time now) const {
  const auto end = std::min(begun_ + deadline_.total, last_sign_ + deadline_.silence);
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(end - now));
}

Error RequestClock::too_late(Time now) const {
  const bool by_silence = now < begun_ + deadline_.total;
  std::string message =
      "the node did not answer within " + in_seconds(by_silence ? deadline_.silence : deadline_.total);
  if (!by_silence && progress_ > 0) message += ", although it still reported progress";
  return make_error(ErrorCode::kUnreachable, std::move(message));
}

Result<bool> RequestClock::note_progress(Time now) {
  if (deadline_.most_progress == 0) {
    return failure(ErrorCode::kFailed, "the node reports progress for a request without progress");
  }
  if (++progress_ > deadline_.most_progress) {
    return failure(ErrorCode::kFailed,
                   "the node reports progress more than " + std::to_string(deadline_.most_progress) + " times");
  }
  last_sign_ = now;
  if (now - window_ >= seconds(1)) {
    window_ = now;
    in_window_ = 0;
  }
  return ++in_window_ <= kShownPerSecond;
}

}  // namespace sparkplan
