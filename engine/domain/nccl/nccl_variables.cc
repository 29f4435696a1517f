#include "engine/domain/nccl/nccl_variables.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/core/text.h"

extern "C" const char sparkplan_nccl_variables[];
extern "C" const char sparkplan_nccl_variables_end[];

namespace sparkplan {
namespace {

NcclReader reader_from(std::string_view text) {
  if (text == "plugin") return NcclReader::kPlugin;
  if (text == "tests") return NcclReader::kTests;
  if (text == "removed") return NcclReader::kRemoved;
  if (text == "never") return NcclReader::kNobody;
  return NcclReader::kCore;
}

NcclNeeds needs_from(std::string_view text) {
  if (text == "gdr") return NcclNeeds::kGpuDirect;
  if (text == "nvls") return NcclNeeds::kNvlinkSwitch;
  if (text == "p2p") return NcclNeeds::kSecondGpu;
  return NcclNeeds::kNothing;
}

std::vector<NcclVariable> read_table() {
  constexpr std::size_t kColumns = 6;
  const auto size = static_cast<std::size_t>(sparkplan_nccl_variables_end - sparkplan_nccl_variables);
  std::vector<NcclVariable> table;
  for (const std::string_view line : split_lines(std::string_view(sparkplan_nccl_variables, size))) {
    const auto columns = split(line, '\t');
    if (line.starts_with('#') || columns.size() != kColumns) continue;
    table.push_back({columns[0], reader_from(columns[1]), parse_nccl_version(columns[2]),
                     parse_nccl_version(columns[3]), needs_from(columns[4]),
                     columns[5] == "-" ? std::string_view() : columns[5]});
  }
  return table;
}

}  // namespace

std::string NcclVersion::str() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::array<int, 3> numbers{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] < 0) return std::nullopt;
    at = stop;
  }
  // A package's suffix contains no blanks; a text with blanks lists several releases.
  if (at != end && ((*at != '-' && *at != '+') || text.find(' ') != std::string_view::npos)) return std::nullopt;
  return NcclVersion{numbers[0], numbers[1], numbers[2]};
}

std::span<const NcclVariable> nccl_variables() {
  static const std::vector<NcclVariable> table = read_table();
  return table;
}

const NcclVariable* find_nccl_variable(std::string_view name) {
  const auto all = nccl_variables();
  const auto at =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const NcclVariable& variable, std::string_view key) { return variable.name < key; });
  return at == all.end() || at->name != name ? nullptr : &*at;
}

}  // namespace sparkplan
