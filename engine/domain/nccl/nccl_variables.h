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

/// The release in "2.30.7", "v2.30.7-1" or "2.30.7-1+cuda13.0". Nothing for other texts, those of two
/// releases ("2.28.9 and 2.30.7") among them.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);

/// Who reads a variable that begins with "NCCL_".
enum class NcclReader : std::uint8_t {
  kCore,     ///< NCCL itself.
  kPlugin,   ///< Only the example plugins that come with its sources.
  kTests,    ///< nccl-tests, and not NCCL.
  kRemoved,  ///< Releases up to `last`.
  kNobody,   ///< No release; `values` says what to do instead.
};

/// What a GB10 lacks for a variable to do anything.
enum class NcclNeeds : std::uint8_t { kNothing, kGpuDirect, kNvlinkSwitch, kSecondGpu };

/// One line of nccl_variables.tsv.
struct NcclVariable {
  std::string_view name;
  NcclReader reader = NcclReader::kCore;
  std::optional<NcclVersion> since;  ///< None: every release there has been since 2.8.3.
  std::optional<NcclVersion> last;
  NcclNeeds needs = NcclNeeds::kNothing;
  std::string_view values;  ///< The set of values, in the words of the table's head.
};

/// All that are known, sorted by name. Source: the sources of NCCL 2.8.3 to 2.30.7.
std::span<const NcclVariable> nccl_variables();

/// The variable of that name; null when there is none.
const NcclVariable* find_nccl_variable(std::string_view name);

/// A variable as a file sets it.
struct NcclAssignment {
  std::string name;
  std::string value;
  SourceRange name_where;
  SourceRange value_where;
};

/// Pure. What is to be said of variables of one environment without knowing any node: names that NCCL does
/// not read, values that it does not take, settings that harm more than they help. Names that do not begin
/// with "NCCL_" are nobody's business here.
std::vector<Diagnostic> lint_nccl(const std::vector<NcclAssignment>& environment);

/// Pure. What is to be said of one variable on a machine with that release of NCCL (none: not known) that is
/// a GB10 or not. `product` is what the machine calls itself.
std::vector<Diagnostic> lint_nccl_on_node(const NcclAssignment& assignment, std::optional<NcclVersion> installed,
                                          bool is_spark, const std::string& product);

}  // namespace sparkplan
