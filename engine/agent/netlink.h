#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// All network interfaces but the loopback, with their addresses, by name. Errors: kFailed.
/// Source: rtnetlink(7); port, PCI function, driver and RDMA devices: /sys/class/net.
Result<std::vector<LinkFacts>> read_links();

/// As Node::restore_link(). Errors: kNotFound, kFailed with the kernel's reason.
Result<void> write_link(const LinkState& state);

}  // namespace sparkplan
