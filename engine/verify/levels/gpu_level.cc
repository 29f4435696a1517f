#include <chrono>
#include <string>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/model/facts.h"
#include "engine/verify/levels/gpu_checks.h"
#include "engine/verify/levels/levels.h"

namespace sparkplan {
namespace {

/// The agent reads the kernel's log for at most 3 s.
constexpr std::chrono::seconds kLongestLook{3};

/// For the connection, and the installation of sparkplan-nccl.
constexpr std::chrono::minutes kLongestStart{2};

struct MeasuredNode {
  VerifyNode* node = nullptr;
  std::string absent = {};  ///< Why it cannot be measured.
  GpuNode gpus = {};
};

std::string reason_of_absence(const VerifyNode& node) {
  if (!node.can_be_asked() || node.facts == nullptr) return node.absence();
  return node.facts->live ? "" : "the node is not a running system";
}

/// The agent reads the kernel's log, because that takes root.
void read_log(VerifyNode& node, GpuNode& into) {
  auto log = node.ask(GpuErrorsRequest{}, kLongestLook);
  if (log) {
    into.log = std::move(*log);
    return;
  }
  (void)note_if_lost(node, log.error());
  into.log_unread = shown_text(log.error().describe());
}

void measure(const VerifyContext& context, const GpuRunOptions& options, MeasuredNode& one) {
  VerifyNode& node = *one.node;
  if (!one.absent.empty() || context.stop.stop_requested()) return;
  context.progress(node.name(), "measuring its GPU under load");
  const auto planned = std::chrono::milliseconds(options.command.load_ms) + options.patience + kLongestStart;
  one.gpus.outcome = node.timed(planned, [&] { return measure_gpus(*node.spec, options); });
  // Also without an answer: a GPU that has fallen off the bus is only in the log.
  if (!context.stop.stop_requested() && node.can_be_asked()) read_log(node, one.gpus);
  if (node.is_too_late() && !one.gpus.log) one.gpus.log_unread = node.why_not_asked().reason;
}

}  // namespace

std::vector<Check> verify_gpu(VerifyContext& context) {
  GpuRunOptions options;
  options.agent = context.options.agent;
  options.stop = context.stop;
  options.command = {context.options.gpu_load.count(), context.options.force};
  std::vector<MeasuredNode> nodes;
  for (VerifyNode& node : context.nodes) {
    MeasuredNode one{&node, reason_of_absence(node)};
    one.gpus.name = node.name();
    one.gpus.spark = node.facts != nullptr && is_dgx_spark(*node.facts);
    nodes.push_back(std::move(one));
  }
  fan_out(nodes, context.options.workers, [&](MeasuredNode& one) { measure(context, options, one); });
  std::vector<Check> checks;
  std::vector<GpuNode> measured;
  for (MeasuredNode& one : nodes) {
    if (!one.absent.empty()) checks.push_back(skipped(Level::kGpu, {one.gpus.name}, "", one.absent));
    append(checks, checks_of_gpus(one.gpus));
    measured.push_back(std::move(one.gpus));
  }
  append(checks, parity_of_gpus(measured));
  return checks;
}

}  // namespace sparkplan
