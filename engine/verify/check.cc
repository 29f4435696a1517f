#include "engine/verify/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace sparkplan {
namespace {

struct LevelRow {
  std::string_view name;
  std::vector<Level> needs;
};

const std::array<LevelRow, 8>& level_rows() {
  static const std::array<LevelRow, 8> rows{{{"link", {}},
                                             {"mtu", {Level::kLink}},
                                             {"ssh", {}},
                                             {"tcp", {Level::kLink, Level::kMtu}},
                                             {"rdma", {Level::kLink, Level::kMtu}},
                                             {"gpu", {}},
                                             {"nccl", {Level::kLink, Level::kMtu, Level::kTcp, Level::kRdma}},
                                             {"storage", {}}}};
  return rows;
}

}  // namespace

std::string_view to_string(Level level) { return level_rows().at(static_cast<std::size_t>(level)).name; }

std::optional<Level> level_from(std::string_view name) {
  const auto& all = all_levels();
  const auto found = std::find_if(all.begin(), all.end(), [&](Level level) { return to_string(level) == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

const std::vector<Level>& all_levels() {
  static const std::vector<Level> levels{Level::kLink, Level::kMtu, Level::kSsh,  Level::kTcp,
                                         Level::kRdma, Level::kGpu, Level::kNccl, Level::kStorage};
  return levels;
}

std::vector<Level> levels_for(Level level) {
  auto levels = level_rows().at(static_cast<std::size_t>(level)).needs;
  levels.push_back(level);
  return levels;
}

void Check::block(const Blocker& blocker) {
  cause = blocker.reason;
  blocked_by = blocker.check;
}

void Check::pass(std::string seen) {
  status = CheckStatus::kPass;
  text = std::move(seen);
  cause.clear();
  fix.clear();
}

std::string check_id(Level level, const std::vector<std::string>& nodes, std::string_view what) {
  std::string id(to_string(level));
  for (const std::string& node : nodes) id += "/" + node;
  return what.empty() ? id : id + "/" + std::string(what);
}

Check skipped(Level level, std::vector<std::string> nodes, std::string what, std::string reason, std::string fix) {
  Check check;
  check.id = check_id(level, nodes, what);
  check.level = level;
  check.nodes = std::move(nodes);
  check.what = std::move(what);
  check.cause = std::move(reason);
  check.fix = std::move(fix);
  return check;
}

void append(std::vector<Check>& checks, std::vector<Check> more) {
  std::move(more.begin(), more.end(), std::back_inserter(checks));
}

void diagnose(Check& check, CheckStatus status, RowId row, const std::string& details) {
  check.status = status;
  check.cause = details.empty() ? std::string(row->cause) : details + ": " + std::string(row->cause);
  check.fix = row->fix;
}

std::string number_text(double number) {
  constexpr double kMostWithAllDigits = 1e9;  // A double can have more than 300 of them.
  const double size = std::fabs(number);
  if (size > kMostWithAllDigits) return fmt::format("{:.3g}", number);
  if (size == std::floor(size) || size >= 1000) return fmt::format("{:.0f}", number);
  return size >= 10 ? fmt::format("{:.1f}", number) : fmt::format("{:.2f}", number);
}

}  // namespace sparkplan
