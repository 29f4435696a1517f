#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/collective.h"

/// The data that ranks exchange: small whole numbers, so that sums of floats are exact whatever their
/// order, and each tells its place and its sender. Pure.
namespace sparkplan::nccl {

/// What rank `sender` has at `index` of its send buffer in the run `pattern`.
float sent_value(std::int64_t pattern, int sender, std::int64_t index);

/// Fills `into` with what the send buffer holds from `index` on.
void fill(std::span<float> into, std::int64_t pattern, int sender, std::int64_t index);

/// A stretch of the receive buffer that is made of one stretch of send buffers: element k has to be
/// the value of `sender` there, or the sum of all ranks'.
struct ExpectedStretch {
  std::int64_t begin = 0;  ///< In the receive buffer.
  std::int64_t length = 0;
  std::int64_t source = 0;    ///< The index in the senders' buffers that it begins with.
  std::optional<int> sender;  ///< Nothing: the sum over all ranks.
};

/// What the receive buffer of `rank` has to hold after one operation, from its beginning to its end.
std::vector<ExpectedStretch> expected_of(Collective collective, const CollectiveShape& shape, int rank, int ranks);

/// Compares what a receive buffer holds from `index` on.
struct Comparison {
  std::int64_t wrong = 0;
  std::string first_wrong;  ///< "element 17 is 3, not 6"
};
void compare(std::span<const float> found, std::int64_t index, std::int64_t pattern, int ranks,
             std::span<const ExpectedStretch> expected, Comparison& into);

}  // namespace sparkplan::nccl
