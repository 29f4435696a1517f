#include "engine/verify/nccl_choice.h"

#include <algorithm>
#include <array>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kSmallest = 4;  ///< One element.
constexpr std::int64_t kLargestFactor = 1024;
constexpr std::string_view kForm = "--sizes takes MIN:MAX or MIN:MAX:FACTOR, such as 8B:8GiB:2";

/// Errors: kInvalidInput.
Result<std::int64_t> parse_size(std::string_view text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no size", std::string(kForm));
  if (*bytes < kSmallest || *bytes > kLargestSize) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no size for the NCCL test",
                   "sizes are from " + size_text(kSmallest) + " to " + size_text(kLargestSize));
  }
  return *bytes;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective one : kCollectives) names.emplace_back(to_string(one));
  return names;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_sizes(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no range of sizes", std::string(kForm));
  }
  SPARK_TRY(const auto smallest, parse_size(parts[0]));
  SPARK_TRY(const auto largest, parse_size(parts[1]));
  if (smallest > largest) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " begins with the larger size", std::string(kForm));
  }
  const auto factor = parts.size() == 3 ? parse_number(parts[2]) : std::optional<std::int64_t>(2);
  if (!factor || *factor < 2 || *factor > kLargestFactor) {
    return failure(ErrorCode::kInvalidInput, in_quotes(parts[2]) + " is no factor",
                   "a factor is a whole number from 2 to " + std::to_string(kLargestFactor));
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = smallest; size <= largest; size *= *factor) sizes.push_back(size);
  if (sizes.size() > kMostSizes) {
    return failure(ErrorCode::kInvalidInput,
                   in_quotes(text) + " has more than " + std::to_string(kMostSizes) + " sizes", "give a larger factor");
  }
  return sizes;
}

Result<std::vector<Collective>> parse_collectives(std::string_view text) {
  if (text == "all") return std::vector<Collective>(kCollectives.begin(), kCollectives.end());
  std::vector<Collective> found;
  for (const auto part : split(text, ',')) {
    const auto one = value_named<Collective>(trim(part));
    if (!one) {
      const auto names = collective_names();
      const auto near = nearest(trim(part), names);
      return failure(
          ErrorCode::kInvalidInput, "there is no collective " + in_quotes(trim(part)),
          (near ? "did you mean " + *near + "? " : "") + std::string("collectives: ") + join(names, ", ") + ", all");
    }
    if (std::find(found.begin(), found.end(), *one) == found.end()) found.push_back(*one);
  }
  return found;
}

Result<int> parse_ranks_per_node(std::string_view text) {
  if (text == "gpus") return 0;
  const auto number = parse_number(text);
  if (!number || *number < 1 || *number > kMostGpus) {
    return failure(ErrorCode::kInvalidInput, in_quotes(text) + " is no number of ranks per node",
                   "--ranks-per-node takes a number from 1 to " + std::to_string(kMostGpus) + ", or gpus");
  }
  return static_cast<int>(*number);
}

Result<std::string> parse_library(std::string_view text) {
  if (!text.starts_with('/') || text.find('\0') != std::string_view::npos) {
    return failure(ErrorCode::kInvalidInput, "--library takes an absolute path, not " + in_quotes(text),
                   "name the file on the nodes, such as /opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/"
                   "libnccl.so.2");
  }
  return std::string(text);
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits{" KiB", " MiB", " GiB", " TiB"};
  std::string_view unit = " bytes";
  for (const auto larger : kUnits) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + std::string(unit);
}

}  // namespace sparkplan
