#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/agent/kernel/verbs_handles.h"
#include "engine/core/result.h"
#include "engine/wire/rdma_messages.h"

namespace sparkplan {

/// One end of a measurement: connected queue pairs and their memory. The end sends from the first half, and the peer
/// writes into the second half. Behind both halves there are two bytes that only the measurement of latency uses.
class RdmaEnd {
 public:
  static Result<std::unique_ptr<RdmaEnd>> open(const RdmaOpenRequest& request, std::int64_t session);

  const RdmaEndpoint& endpoint() const { return endpoint_; }
  Result<void> connect(const RdmaEndpoint& peer);
  /// Keeps all queue pairs full for `duration`, then waits for the outstanding writes.
  Result<RdmaWritten> write(std::chrono::milliseconds duration);
  Result<RdmaLatencyReply> measure_latency(bool begins, std::int64_t iterations);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  explicit RdmaEnd(const RdmaOpenRequest& request);
  Result<void> open_device();
  Result<void> look_at_port();
  Result<void> register_memory();
  Result<void> create_queue_pairs();
  Result<void> connect_one(ibv_qp* pair, std::int64_t number);
  Result<void> post(std::size_t queue, std::size_t from, std::size_t into, std::uint32_t bytes, bool inlined);
  Result<void> await_completion();
  Result<void> await_value(std::uint16_t value) const;
  std::size_t half() const;
  std::size_t memory_bytes() const;

  RdmaOpenRequest wanted_;
  // Each member needs the members before it; destruction runs in reverse order.
  VerbsContext context_;
  VerbsDomain domain_;
  std::unique_ptr<std::byte, Free> memory_;
  VerbsMemory registered_;
  VerbsCompletionQueue completions_;
  std::vector<VerbsQueuePair> pairs_;
  ibv_port_attr port_{};
  RdmaEndpoint endpoint_;
  RdmaEndpoint peer_;
  std::uint16_t next_value_ = 1;
};

}  // namespace sparkplan
