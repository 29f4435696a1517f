#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/collective.h"
#include "engine/model/fields.h"
#include "engine/wire/build_id.h"
#include "engine/wire/gpu_messages.h"

/// The messages between the controller and a rank of the NCCL test (program sparkplan-nccl), as frames. The rank greets
/// first. It replies to each command with an answer or with a RankFailure, after which it has ended. A rank ends at
/// once when its input ends.
namespace sparkplan {

/// The rank's first message, sent without a request.
struct RankHello : ProgramHello {
  static constexpr std::string_view kName = "hello";
};

/// Loads the driver and the library, opens the GPU.
struct PrepareRank {
  static constexpr std::string_view kName = "prepare";
  int device = 0;                                  ///< The GPU's number, from 0.
  std::string library;                             ///< NCCL's file; empty: libnccl.so.2 from the loader's search path.
  std::map<std::string, std::string> environment;  ///< The complete environment for NCCL.
  bool make_id = false;                            ///< The answer contains a new unique id.
  bool in_image = false;                           ///< NCCL may also be in the container's Python packages.
};
/// The size of NCCL's unique id. Source: nccl.h, NCCL_UNIQUE_ID_BYTES.
inline constexpr std::size_t kUniqueIdBytes = 128;
/// True for bytes that can be a unique id. NCCL's own layout of them differs between versions.
bool is_unique_id(std::string_view bytes);

/// The most GPUs of a node.
inline constexpr int kMostGpus = 64;
struct PreparedRank {
  static constexpr std::string_view kName = "prepared";
  int nccl_version = 0;    ///< 22809 for 2.28.9: ncclGetVersion().
  std::string library;     ///< The file that was loaded.
  int driver_version = 0;  ///< 13000 for CUDA 13.0: cuDriverGetVersion().
  std::string gpu;         ///< "NVIDIA GB10"
  /// Free memory on which the test bases its size: the GPU's. With unified memory, MemAvailable if that is less.
  std::int64_t memory_free_bytes = 0;
  bool unified_memory = false;                ///< The GPU shares the host's memory.
  std::string id;                             ///< See is_unique_id(); empty unless requested.
  std::vector<std::string> other_conf_lines;  ///< Variables of /etc/nccl.conf that are not in `environment`.
  int gpus = 1;                               ///< The number of GPUs that the driver shows; at most kMostGpus.
  std::string python_library = {};            ///< With `in_image`: another NCCL, of a Python package; empty: none.
};

/// Joins a communicator as one of `ranks`.
struct JoinRank {
  static constexpr std::string_view kName = "join";
  int rank = 0;
  int ranks = 0;
  std::string id;
};
/// The transport that NCCL reports in its own log.
struct NcclTransport {
  std::string network;  ///< "IB", "Socket", a plug-in's name; empty if the log does not name it.
  /// HCAs for "IB" ("rocep1s0f1"), interfaces for "Socket" ("enp1s0f1np1"); each once, in the order of the log.
  std::vector<std::string> devices;
  int channels_ib = 0;                ///< Connections over a network of HCAs ...
  int channels_socket = 0;            ///< ... over TCP,
  int channels_local = 0;             ///< ... within the machine (P2P, shared memory).
  bool gpu_direct = false;            ///< A connection transfers from the GPU to the HCA without the host's memory.
  std::vector<std::string> warnings;  ///< Lines of NCCL's level WARN, without their prefix; at most 20.

  bool operator==(const NcclTransport&) const = default;
};
struct JoinedRank {
  static constexpr std::string_view kName = "joined";
  NcclTransport transport;
};

/// Runs one operation at one size.
struct RunCollective {
  static constexpr std::string_view kName = "run";
  Collective collective = Collective::kAllReduce;
  std::int64_t bytes = 0;  ///< See collective_shape().
  int warm_up = 5;
  int iterations = 20;       ///< Timed as one batch.
  bool check = true;         ///< One more operation after that, with a check of every element of the result.
  std::int64_t pattern = 0;  ///< Each number gives different data.
  bool in_place = false;     ///< Both buffers share their memory: see in_place_offsets().
  /// Timed by the host's clock, from the start of a batch's first operation to the end of its last one, as in
  /// nccl-tests. Otherwise by CUDA events, which leave out the start.
  bool host_clock = false;
  int batches = 1;  ///< With `host_clock`: the result is the median of so many batches.
};
struct CollectiveResult {
  static constexpr std::string_view kName = "result";
  std::int64_t bytes = 0;   ///< The size actually used.
  double seconds = 0;       ///< Of one iteration, in the mean of the batch.
  std::int64_t wrong = 0;   ///< The number of elements with a wrong value; 0 without a check.
  std::string first_wrong;  ///< "element 17 is 3, not 6"; empty without a wrong element.
  NcclTransport transport;  ///< Included here because NCCL may connect only during the operation.
};

/// Leaves the communicator and ends.
struct EndRank {
  static constexpr std::string_view kName = "end";
};

/// The reason why a rank fails, as far as the program can determine it.
enum class RankFault : std::uint8_t {
  kNoDriver,       ///< libcuda.so.1 is missing.
  kNoGpu,          ///< The driver has no such device.
  kNoLibrary,      ///< NCCL is missing.
  kNotNccl,        ///< The file is not NCCL, or not for this machine.
  kLibraryTooOld,  ///< Older than kOldestNccl.
  kMemory,         ///< Too little memory is free.
  kCuda,           ///< The driver reports an error.
  kNccl,           ///< NCCL reports an error.
  kPeer,           ///< NCCL reports that another rank is gone.
  kProtocol,       ///< The input is not a valid command at this point.
};
constexpr EnumNames<10> names_of(RankFault /*fault*/) {
  return {"no_driver", "no_gpu", "no_library", "not_nccl", "library_too_old",
          "memory",    "cuda",   "nccl",       "peer",     "protocol"};
}

/// Older versions do not choose the GID of a RoCE v2 port by themselves. Source: NCCL, release notes of 2.21.5.
inline constexpr int kOldestNccl = 22105;
/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

struct RankFailure {
  static constexpr std::string_view kName = "failure";
  RankFault fault = RankFault::kProtocol;
  Error error;
  NcclTransport transport;  ///< From the log until the failure.
};

using RankCommand = std::variant<PrepareRank, JoinRank, RunCollective, EndRank, MeasureGpus>;
using RankAnswer = std::variant<RankHello, PreparedRank, JoinedRank, CollectiveResult, RankFailure, MeasuredGpus>;

void list_fields(FieldVisitor& field, PrepareRank& command);
void list_fields(FieldVisitor& field, PreparedRank& answer);
void list_fields(FieldVisitor& field, JoinRank& command);
void list_fields(FieldVisitor& field, NcclTransport& transport);
void list_fields(FieldVisitor& field, JoinedRank& answer);
void list_fields(FieldVisitor& field, RunCollective& command);
void list_fields(FieldVisitor& field, CollectiveResult& answer);
void list_fields(FieldVisitor& field, RankFailure& answer);
void list_fields(FieldVisitor& field, RankCommand& command);
void list_fields(FieldVisitor& field, RankAnswer& answer);

}  // namespace sparkplan
