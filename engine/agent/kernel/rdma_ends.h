#pragma once

#include <memory>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/rdma_facts.h"
#include "engine/wire/rdma_messages.h"

namespace sparkplan {

/// This machine's ends of RDMA measurements. The destructor closes everything that is open. Every wait has a deadline:
/// a lost peer costs seconds.
/// Errors of all: kFailed, kNotFound, kUnsupported, kPermissionDenied (more locked memory than this process may have),
/// with the RdmaStep as context.
class RdmaEnds {
 public:
  virtual ~RdmaEnds() = default;
  virtual Result<RdmaEndpoint> open(const RdmaOpenRequest& request) = 0;
  virtual Result<void> connect(const RdmaConnectRequest& request) = 0;
  virtual Result<RdmaWriteReply> write(const RdmaWriteRequest& request) = 0;
  virtual Result<RdmaLatencyReply> measure_latency(const RdmaLatencyRequest& request) = 0;
  virtual void close(const RdmaCloseRequest& request) = 0;
};

/// The RDMA devices that libibverbs lists, by name; an empty list without devices. Errors: kFailed.
Result<std::vector<RdmaDeviceFacts>> read_rdma_devices();

/// Uses libibverbs.
std::unique_ptr<RdmaEnds> make_rdma_ends();

/// The requested counters that exist; a missing device has no counters.
RdmaCountersReply read_rdma_counters(const RdmaCountersRequest& request);

}  // namespace sparkplan
