#pragma once

#include <chrono>
#include <cstddef>
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

/// The bytes of an element of the buffers, a float.
inline constexpr std::int64_t kElementBytes = 4;
inline std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements * kElementBytes); }

/// A command that does not fit the state of the rank.
inline Error protocol_error(std::string what) { return make_error(ErrorCode::kInvalidInput, std::move(what)); }

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
    cuda::Address memory = 0;  ///< Of both buffers in place, else of the send buffer.
    cuda::Address second = 0;  ///< Of the receive buffer; 0 in place.
    cuda::Address send = 0;    ///< The first copy.
    cuda::Address receive = 0;
    std::int64_t send_stride = 0;  ///< The elements from one copy to the next.
    std::int64_t receive_stride = 0;
    cuda::Address cleared = 0;  ///< Memory to clear before the check: the receive buffer; in place, both.
    std::int64_t cleared_elements = 0;
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
  Result<Buffers> allocate(const RunCollective& command, const CollectiveShape& shape);
  Result<void> fill_send_buffer(const Buffers& buffers, const CollectiveShape& shape, std::int64_t pattern);
  Result<void> start(Collective collective, const CollectiveShape& shape, const Buffers& all, int turn = 0);
  Result<void> start_transfers(Collective collective, const CollectiveShape& shape, cuda::Address from,
                               cuda::Address to);
  Result<void> start_alltoallv(const CollectiveShape& shape, cuda::Address from, cuda::Address to);
  Result<void> start_hypercube(const CollectiveShape& shape, cuda::Address from, cuda::Address to);
  Result<void> all_reduce_in(cuda::Address memory, std::size_t elements);
  Result<void> send_to(cuda::Address from, std::int64_t elements, int peer);
  Result<void> receive_from(cuda::Address to, std::int64_t elements, int peer);
  /// An operation that ends on all ranks at about the same time.
  Result<void> start_barrier();
  /// Waits until the GPU has done all that was started. Queries without a pause for `spin`.
  Result<void> wait(std::chrono::milliseconds spin);
  Result<double> time_by_events(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers);
  Result<double> time_by_host(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers);
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
  cuda::Address barrier_ = 0;  ///< Memory for start_barrier(); 0: none yet.
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace sparkplan::nccl
