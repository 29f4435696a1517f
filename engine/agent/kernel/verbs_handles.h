#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/model/rdma_facts.h"

namespace sparkplan {

struct VerbsDeleter {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
  void operator()(ibv_context* context) const { ibv_close_device(context); }
  void operator()(ibv_pd* domain) const { ibv_dealloc_pd(domain); }
  void operator()(ibv_mr* memory) const { ibv_dereg_mr(memory); }
  void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
  void operator()(ibv_qp* pair) const { ibv_destroy_qp(pair); }
};
using VerbsDeviceList = std::unique_ptr<ibv_device*, VerbsDeleter>;
using VerbsContext = std::unique_ptr<ibv_context, VerbsDeleter>;
using VerbsDomain = std::unique_ptr<ibv_pd, VerbsDeleter>;
using VerbsMemory = std::unique_ptr<ibv_mr, VerbsDeleter>;
using VerbsCompletionQueue = std::unique_ptr<ibv_cq, VerbsDeleter>;
using VerbsQueuePair = std::unique_ptr<ibv_qp, VerbsDeleter>;

/// 256 to 4096.
int mtu_bytes(ibv_mtu mtu);
/// The GIDs of one port, by index.
std::vector<RdmaGid> gids_of(ibv_context* context, std::uint32_t port);

}  // namespace sparkplan
