#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/collective.h"

/// The data that ranks exchange: small whole numbers, so that sums of floats are exact in any order. Each number
/// depends on its place and its sender. Pure.
namespace sparkplan::nccl {

/// The value at `index` in the send buffer of rank `sender`, in the run `pattern`.
float sent_value(std::int64_t pattern, int sender, std::int64_t index);

/// Fills `into` with the send buffer's content from `index` on.
void fill(std::span<float> into, std::int64_t pattern, int sender, std::int64_t index);

/// A range of the receive buffer that comes from one range of send buffers. Element k must be the value of `sender`, or
/// the sum over all ranks.
struct ExpectedStretch {
  std::int64_t begin = 0;  ///< In the receive buffer.
  std::int64_t length = 0;
  std::int64_t source = 0;    ///< The index in the senders' buffers where the range begins.
  std::optional<int> sender;  ///< Nothing: the sum over all ranks.
};

/// The expected content of the receive buffer of `rank` after one operation, from its beginning to its end. Empty if
/// the rank receives nothing: the root of reduce and gather is rank 0.
std::vector<ExpectedStretch> expected_of(Collective collective, const CollectiveShape& shape, int rank, int ranks);

/// Compares the receive buffer's content from `index` on.
struct Comparison {
  std::int64_t wrong = 0;
  std::string first_wrong;  ///< "element 17 is 3, not 6"
};
void compare(std::span<const float> found, std::int64_t index, std::int64_t pattern, int ranks,
             std::span<const ExpectedStretch> expected, Comparison& into);

}  // namespace sparkplan::nccl
