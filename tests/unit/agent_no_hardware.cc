// The tests' machine has neither links nor RDMA devices: no test depends on what it runs on.
#include "engine/agent/lifeline.h"
#include "engine/agent/netlink.h"
#include "engine/agent/rdma.h"

namespace sparkplan {

Result<std::vector<LinkFacts>> read_links() { return std::vector<LinkFacts>(); }
Result<std::vector<Route>> read_routes() { return std::vector<Route>(); }
Result<void> add_route(const Route& /*route*/) { return {}; }
Result<void> write_link(const LinkState& /*state*/) { return {}; }
Result<std::vector<RdmaDeviceFacts>> read_rdma_devices() { return std::vector<RdmaDeviceFacts>(); }

}  // namespace sparkplan
