#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/collective.h"
#include "engine/wire/nccl_messages.h"

/// The results of all ranks as one measurement, and the sizes that their memory allows. Everything here is pure.
namespace sparkplan {

/// One operation at one size, over all ranks.
struct NcclMeasurement {
  Collective collective = Collective::kAllReduce;
  std::int64_t asked_bytes = 0;
  std::int64_t bytes = 0;  ///< Less than requested if memory is short.
  int iterations = 0;
  double seconds = 0;  ///< For one iteration: the mean of all ranks, as in nccl-tests. See `early`.
  CollectiveBandwidth bandwidth;
  std::int64_t wrong = 0;   ///< Wrong elements on all ranks; of one rank at most as many as it receives.
  std::string first_wrong;  ///< With the name of the node.
  bool in_place = false;
  /// A rank that reports a shorter time than an operation can have that ends on all ranks together. Then `seconds` is
  /// the longest time. Empty: none.
  std::string early = {};
  double longest = 0;  ///< For one iteration, of the slowest rank: no single rank can make it shorter.
};

/// The first rank whose own result has another size than `run` asks for; nothing without one. The size follows
/// from the command, so that no rank is judged by what another one reports.
std::optional<std::size_t> place_of_other_size(const RunCollective& run, const std::vector<CollectiveResult>& results);

/// The ranks' results of one run, all of the asked size, as one measurement. `names` are those of the ranks.
/// Wrong elements on one rank stand, whatever the others report.
NcclMeasurement measurement_of(const RunCollective& run, std::int64_t asked_bytes,
                               const std::vector<CollectiveResult>& results, const std::vector<std::string>& names);

/// "2 wrong elements in place, found first on spark-02: element 17 is 3, not 6; any rank may have sent them". The rank
/// that finds them has received them, so the text blames no node. Short, and safe for a terminal.
std::string wrong_data_text(const NcclMeasurement& measured);

/// The free memory that one rank may count on: ranks on GPUs without their own memory share their node's.
std::int64_t memory_of_rank(const PreparedRank& rank, int ranks_on_node);

/// `bytes`, halved until the buffers take no more than a fifth of the least free memory; a rank refuses more than a
/// quarter. 0 when less than 1 MiB fits.
std::int64_t size_that_fits(Collective collective, std::int64_t bytes, int ranks, std::int64_t free_bytes);

}  // namespace sparkplan
