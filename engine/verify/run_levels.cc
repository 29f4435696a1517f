#include "engine/verify/run_levels.h"

#include <iterator>
#include <utility>

#include "engine/verify/levels/cable_level.h"
#include "engine/verify/levels/link_level.h"
#include "engine/verify/levels/mtu_level.h"
#include "engine/verify/levels/nccl_level.h"
#include "engine/verify/levels/rdma_level.h"
#include "engine/verify/levels/ssh_level.h"
#include "engine/verify/levels/storage_level.h"
#include "engine/verify/levels/tcp_level.h"

namespace sparkplan {
namespace {

std::vector<Check> checks_of(Level level, VerifyContext& context) {
  switch (level) {
    case Level::kLink:
      // The cables only once the halves are judged: of one that is down there is nothing to hear.
      context.checks = verify_links(context);
      return verify_cables(context);
    case Level::kMtu:
      return verify_mtu(context);
    case Level::kSsh:
      return verify_ssh(context);
    case Level::kTcp:
      return verify_tcp(context);
    case Level::kRdma:
      return verify_rdma(context);
    case Level::kNccl:
      return verify_nccl(context);
    case Level::kStorage:
      break;
  }
  return verify_storage(context);
}

}  // namespace

void run_levels(VerifyContext& context) {
  for (const Level level : context.options.levels) {
    if (context.stop.stop_requested()) return;
    auto checks = checks_of(level, context);
    context.checks.insert(context.checks.end(), std::make_move_iterator(checks.begin()),
                          std::make_move_iterator(checks.end()));
  }
}

}  // namespace sparkplan
