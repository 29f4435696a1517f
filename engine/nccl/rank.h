#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/core/result.h"
#include "engine/nccl/cuda_driver.h"
#include "engine/nccl/nccl_library.h"
#include "engine/nccl/nccl_log.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {

/// One rank: one GPU, one communicator. Commands in the order prepare, join, run any number of times. After an error
/// the rank cannot be used any more, and only the end of the process frees its resources.
class Rank {
 public:
  explicit Rank(LogFile log) : log_(std::move(log)) {}

  /// Errors of all three: see fault() and RankFault.
  Result<PreparedRank> prepare(const PrepareRank& command);
  /// Returns when all ranks have joined.
  Result<JoinedRank> join(const JoinRank& command);
  Result<CollectiveResult> run(const RunCollective& command);
  /// Leaves the communicator properly; all ranks have to call it.
  void end();

  RankFault fault() const { return fault_; }
  NcclTransport transport() const { return transport_in(log_.text()); }

 private:
  /// Buffers of one run. They are never freed after an error: the driver might wait for a peer that is gone.
  struct Buffers {
    cuda::Address send = 0;
    cuda::Address receive = 0;
    /// The number of copies of each buffer, one after the other. Iterations alternate between them, so that they
    /// measure memory and not the GPU's cache. A real message of that size would not find its data in the cache.
    int copies = 1;
  };

  Error faulty(RankFault fault, Error error);
  Result<void> checked(cuda::Status status, const char* doing);
  Result<void> checked_nccl(nccl::Status status, const char* doing);
  Result<void> open_gpu(int device, PreparedRank& answer);
  Result<void> open_library(const PrepareRank& command, PreparedRank& answer);
  Result<std::int64_t> free_memory() const;
  Result<void> check_memory(std::int64_t bytes);
  Result<Buffers> allocate(const CollectiveShape& shape);
  Result<void> fill_send_buffer(const Buffers& buffers, const CollectiveShape& shape, std::int64_t pattern);
  Result<void> start(Collective collective, const CollectiveShape& shape, const Buffers& buffers, int turn = 0);
  Result<void> start_sends(Collective collective, const CollectiveShape& shape, const Buffers& buffers);
  Result<void> wait();
  Result<double> time(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers);
  Result<void> check(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers,
                     CollectiveResult& result);

  LogFile log_;
  RankFault fault_ = RankFault::kProtocol;
  cuda::Functions cuda_{};
  Library nccl_;
  bool unified_ = false;
  bool prepared_ = false;
  cuda::Stream stream_ = nullptr;
  Communicator communicator_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace sparkplan::nccl
