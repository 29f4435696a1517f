#include "engine/verify/levels/levels.h"

#include <array>

namespace sparkplan {
namespace {

struct LevelPart {
  Level level;
  std::vector<Check> (*run)(VerifyContext& context);
};

/// In the order of the levels. A part sees the checks of all earlier parts: if a half is down, its cable is not
/// checked.
constexpr auto kParts = std::to_array<LevelPart>({
    {Level::kLink, verify_links},
    {Level::kLink, verify_cables},
    {Level::kMtu, verify_mtu},
    {Level::kSsh, verify_ssh},
    {Level::kTcp, verify_tcp},
    {Level::kRdma, verify_rdma},
    {Level::kGpu, verify_gpu},
    {Level::kNccl, verify_nccl},
    {Level::kStorage, verify_storage},
});

}  // namespace

void run_levels(VerifyContext& context) {
  for (const Level level : context.options.levels) {
    if (context.stop.stop_requested()) return;
    for (VerifyNode& node : context.nodes) {
      node.waits = {};
      if (!node.is_too_late()) node.level = level;
    }
    for (const LevelPart& part : kParts) {
      if (part.level == level) append(context.checks, part.run(context));
    }
    append(context.checks, late_nodes(context, level));
  }
}

}  // namespace sparkplan
