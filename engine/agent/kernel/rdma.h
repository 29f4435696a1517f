#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// The RDMA devices that libibverbs lists, by name; an empty list without devices. Errors: kFailed.
Result<std::vector<RdmaDeviceFacts>> read_rdma_devices();

}  // namespace sparkplan
