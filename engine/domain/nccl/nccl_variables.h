#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"

namespace sparkplan {

/// A release of NCCL: 2.30.7.
struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  auto operator<=>(const NcclVersion&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
  /// "2.30.7"
  std::string str() const;
};

/// The release in "2.30.7", "v2.30.7-1" or "2.30.7-1+cuda13.0". Nothing for other texts, such as two releases ("2.28.9
/// and 2.30.7").
std::optional<NcclVersion> parse_nccl_version(std::string_view text);

/// The reader of a variable that begins with "NCCL_".
enum class NcclReader : std::uint8_t {
  kCore,     ///< NCCL itself.
  kPlugin,   ///< Only the example plugins that come with its sources.
  kTests,    ///< nccl-tests, but not NCCL.
  kRemoved,  ///< NCCL releases up to `last`.
  kNobody,   ///< No release; `values` contains a hint instead.
};

/// The feature that a variable needs and a GB10 lacks.
enum class NcclNeeds : std::uint8_t { kNothing, kGpuDirect, kNvlinkSwitch, kSecondGpu };

/// One line of nccl_variables.tsv.
struct NcclVariable {
  std::string_view name;
  NcclReader reader = NcclReader::kCore;
  std::optional<NcclVersion> since;  ///< Nothing: every release since 2.8.3.
  std::optional<NcclVersion> last;
  NcclNeeds needs = NcclNeeds::kNothing;
  std::string_view values;  ///< The permitted values, in the notation of the table's head.
};

/// All known variables, sorted by name. Source: the sources of NCCL 2.8.3 to 2.30.7.
std::span<const NcclVariable> nccl_variables();

/// Null for an unknown name.
const NcclVariable* find_nccl_variable(std::string_view name);

/// A variable that a file sets.
struct NcclAssignment {
  std::string name;
  std::string value;
  SourceRange name_where;
  SourceRange value_where;
};

/// Pure. Checks the variables of one environment without a node: names that NCCL does not read, values that it does not
/// accept, settings that do more harm than good. Names that do not begin with "NCCL_" are ignored.
std::vector<Diagnostic> lint_nccl(const std::vector<NcclAssignment>& environment);

/// Pure. Checks one variable on a node with the release `installed` (nothing: unknown). `is_spark`: the node has a
/// GB10. `product` is the node's product name.
std::vector<Diagnostic> lint_nccl_on_node(const NcclAssignment& assignment, std::optional<NcclVersion> installed,
                                          bool is_spark, const std::string& product);

}  // namespace sparkplan
