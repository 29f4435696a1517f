#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/collective.h"
#include "engine/model/fields.h"

/// What the controller and a rank of the NCCL test (program sparkplan-nccl) say to each other, as frames.
/// The rank greets; then each command is answered by its answer or by a RankFailure, after which the rank
/// has ended. A rank whose input ends, ends at once.
namespace sparkplan {

/// The rank's first message, unasked.
struct RankHello {
  static constexpr std::string_view kName = "hello";
  std::string build;         ///< elf_build_id() of the running program.
  std::string architecture;  ///< uname -m
};

/// Loads driver and library, opens the GPU.
struct PrepareRank {
  static constexpr std::string_view kName = "prepare";
  int device = 0;                                  ///< The GPU's number, from 0.
  std::string library;                             ///< NCCL's file; empty: libnccl.so.2, wherever the loader finds it.
  std::map<std::string, std::string> environment;  ///< All that NCCL is to see.
  bool make_id = false;                            ///< Answer with a new unique id.
};
struct PreparedRank {
  static constexpr std::string_view kName = "prepared";
  int nccl_version = 0;    ///< 22809 for 2.28.9: ncclGetVersion().
  std::string library;     ///< The file that was loaded.
  int driver_version = 0;  ///< 13000 for CUDA 13.0: cuDriverGetVersion().
  std::string gpu;         ///< "NVIDIA GB10"
  /// Free memory that the test may be measured against: the GPU's, or MemAvailable where that is less and
  /// the two are one.
  std::int64_t memory_free_bytes = 0;
  bool unified_memory = false;                ///< The GPU has no memory of its own.
  std::string id;                             ///< 128 bytes; empty unless asked for.
  std::vector<std::string> other_conf_lines;  ///< Variables of /etc/nccl.conf that are not in `environment`.
};

/// Becomes one of `ranks`.
struct JoinRank {
  static constexpr std::string_view kName = "join";
  int rank = 0;
  int ranks = 0;
  std::string id;
};
/// What NCCL's own log says of the way its data takes.
struct NcclTransport {
  std::string network;  ///< "IB", "Socket", a plug-in's name; empty when the log does not say.
  /// HCAs for "IB" ("rocep1s0f1"), interfaces for "Socket" ("enp1s0f1np1"); each once, in the order of the log.
  std::vector<std::string> devices;
  int channels_ib = 0;                ///< Connections through a network of HCAs ...
  int channels_socket = 0;            ///< ... through TCP,
  int channels_local = 0;             ///< ... within the machine (P2P, shared memory).
  bool gpu_direct = false;            ///< A connection goes from the GPU to the HCA without the host's memory.
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
  int iterations = 20;       ///< Timed, as one batch.
  bool check = true;         ///< Once more after that, and every element of the result looked at.
  std::int64_t pattern = 0;  ///< Another number, other data.
};
struct CollectiveResult {
  static constexpr std::string_view kName = "result";
  std::int64_t bytes = 0;   ///< As they turned out.
  double seconds = 0;       ///< Of one iteration, by CUDA events around the batch.
  std::int64_t wrong = 0;   ///< Elements that are not what they have to be; 0 without a check.
  std::string first_wrong;  ///< "element 17 is 3, not 6"; empty when none is.
  NcclTransport transport;  ///< Connections may be made as late as here.
};

/// Leaves the others and ends.
struct EndRank {
  static constexpr std::string_view kName = "end";
};

/// Why a rank cannot go on, as far as the program can tell.
enum class RankFault : std::uint8_t {
  kNoDriver,       ///< There is no libcuda.so.1.
  kNoGpu,          ///< The driver has no such device.
  kNoLibrary,      ///< There is no NCCL.
  kNotNccl,        ///< The file is no NCCL, or none for this machine.
  kLibraryTooOld,  ///< Before kOldestNccl.
  kMemory,         ///< Not enough of it is free.
  kCuda,           ///< The driver says no.
  kNccl,           ///< NCCL says no.
  kPeer,           ///< NCCL says that another rank is gone.
  kProtocol,       ///< What came in is no command that fits.
};
std::span<const std::string_view> names_of(RankFault fault);

/// Older ones do not choose the GID of a RoCE v2 port by themselves. Source: NCCL, release notes of 2.21.5.
inline constexpr int kOldestNccl = 22105;
/// "2.28.9" for 22809.
std::string nccl_version_text(int version);

struct RankFailure {
  static constexpr std::string_view kName = "failure";
  RankFault fault = RankFault::kProtocol;
  Error error;
  NcclTransport transport;  ///< What the log said until then.
};

using RankCommand = std::variant<PrepareRank, JoinRank, RunCollective, EndRank>;
using RankAnswer = std::variant<RankHello, PreparedRank, JoinedRank, CollectiveResult, RankFailure>;

void list_fields(FieldVisitor& field, RankHello& answer);
void list_fields(FieldVisitor& field, PrepareRank& command);
void list_fields(FieldVisitor& field, PreparedRank& answer);
void list_fields(FieldVisitor& field, JoinRank& command);
void list_fields(FieldVisitor& field, NcclTransport& transport);
void list_fields(FieldVisitor& field, JoinedRank& answer);
void list_fields(FieldVisitor& field, RunCollective& command);
void list_fields(FieldVisitor& field, CollectiveResult& answer);
inline void list_fields(FieldVisitor& /*field*/, EndRank& /*command*/) {}
void list_fields(FieldVisitor& field, RankFailure& answer);
void list_fields(FieldVisitor& field, RankCommand& command);
void list_fields(FieldVisitor& field, RankAnswer& answer);

}  // namespace sparkplan
