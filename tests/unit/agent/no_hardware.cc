// The tests' machine has neither links nor RDMA devices, so that no test depends on its hardware.
#include "engine/agent/kernel/netlink.h"
#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/trial/connectivity_snapshot.h"

namespace sparkplan {

Result<std::vector<LinkFacts>> read_links() { return std::vector<LinkFacts>(); }
Result<std::vector<KernelRoute>> read_routes() { return std::vector<KernelRoute>(); }
Result<std::vector<RouteFacts>> read_all_routes() { return std::vector<RouteFacts>(); }
Result<std::vector<NeighbourFacts>> read_neighbours() { return std::vector<NeighbourFacts>(); }
Result<void> add_route(const KernelRoute& /*route*/) { return {}; }
Result<void> write_link(const LinkState& /*state*/) { return {}; }
Result<std::vector<RdmaDeviceFacts>> read_rdma_devices() { return std::vector<RdmaDeviceFacts>(); }

/// A machine without RDMA devices.
class NoRdmaEnds : public RdmaEnds {
 public:
  Result<RdmaEndpoint> open(const RdmaOpenRequest& request) override {
    return failure(ErrorCode::kNotFound, "there is no RDMA device " + request.device);
  }
  Result<void> connect(const RdmaConnectRequest& /*request*/) override { return nothing_open(); }
  Result<RdmaWriteReply> write(const RdmaWriteRequest& /*request*/) override { return nothing_open(); }
  Result<RdmaLatencyReply> measure_latency(const RdmaLatencyRequest& /*request*/) override { return nothing_open(); }
  void close(const RdmaCloseRequest& /*request*/) override {}

 private:
  static tl::unexpected<Error> nothing_open() { return failure(ErrorCode::kNotFound, "nothing is open"); }
};
std::unique_ptr<RdmaEnds> make_rdma_ends() { return std::make_unique<NoRdmaEnds>(); }
RdmaCountersReply read_rdma_counters(const RdmaCountersRequest& /*request*/) { return {}; }

}  // namespace sparkplan
