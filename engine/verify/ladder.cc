#include "engine/verify/ladder.h"

#include <iterator>
#include <utility>

#include "engine/verify/cable_level.h"
#include "engine/verify/link_level.h"
#include "engine/verify/mtu_level.h"
#include "engine/verify/nccl_level.h"
#include "engine/verify/rdma_level.h"
#include "engine/verify/ssh_level.h"
#include "engine/verify/storage_level.h"
#include "engine/verify/tcp_level.h"

namespace sparkplan {
namespace {

std::vector<Check> checks_of(Level level, Scene& scene) {
  switch (level) {
    case Level::kLink:
      // The cables only once the halves are judged: of one that is down there is nothing to hear.
      scene.checks = verify_links(scene);
      return verify_cables(scene);
    case Level::kMtu:
      return verify_mtu(scene);
    case Level::kSsh:
      return verify_ssh(scene);
    case Level::kTcp:
      return verify_tcp(scene);
    case Level::kRdma:
      return verify_rdma(scene);
    case Level::kNccl:
      return verify_nccl(scene);
    case Level::kStorage:
      break;
  }
  return verify_storage(scene);
}

}  // namespace

void climb(Scene& scene) {
  for (const Level level : scene.options.levels) {
    if (scene.stop.stop_requested()) return;
    auto checks = checks_of(level, scene);
    scene.checks.insert(scene.checks.end(), std::make_move_iterator(checks.begin()),
                        std::make_move_iterator(checks.end()));
  }
}

}  // namespace sparkplan
