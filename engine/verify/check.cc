#include "engine/verify/check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/doctor/doctor_table.h"

namespace sparkplan {
namespace {

constexpr std::array<std::pair<Level, std::string_view>, 7> kLevelNames{{{Level::kLink, "link"},
                                                                         {Level::kMtu, "mtu"},
                                                                         {Level::kSsh, "ssh"},
                                                                         {Level::kTcp, "tcp"},
                                                                         {Level::kRdma, "rdma"},
                                                                         {Level::kNccl, "nccl"},
                                                                         {Level::kStorage, "storage"}}};

}  // namespace

std::string_view to_string(Level level) { return kLevelNames[static_cast<std::size_t>(level)].second; }

std::optional<Level> level_from(std::string_view name) {
  const auto found =
      std::find_if(kLevelNames.begin(), kLevelNames.end(), [&](const auto& known) { return known.second == name; });
  return found == kLevelNames.end() ? std::nullopt : std::optional(found->first);
}

const std::vector<Level>& all_levels() {
  static const std::vector<Level> levels = [] {
    std::vector<Level> all;
    for (const auto& [level, name] : kLevelNames) all.push_back(level);
    return all;
  }();
  return levels;
}

std::vector<Level> levels_for(Level level) {
  switch (level) {
    case Level::kMtu:
      return {Level::kLink, Level::kMtu};
    case Level::kTcp:
      return {Level::kLink, Level::kMtu, Level::kTcp};
    case Level::kRdma:
      return {Level::kLink, Level::kMtu, Level::kRdma};
    case Level::kNccl:
      return {Level::kLink, Level::kMtu, Level::kTcp, Level::kRdma, Level::kNccl};
    case Level::kLink:
    case Level::kSsh:
    case Level::kStorage:
      break;
  }
  return {level};
}

std::string_view to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::kPass:
      return "pass";
    case CheckStatus::kWarn:
      return "warn";
    case CheckStatus::kFail:
      return "fail";
    case CheckStatus::kSkip:
      break;
  }
  return "skip";
}

void diagnose(Check& check, CheckStatus status, std::string_view row, const std::string& details) {
  const DoctorRow& known = doctor_row(row);
  check.status = status;
  check.cause = details.empty() ? std::string(known.cause) : details + ": " + std::string(known.cause);
  check.fix = known.fix;
}

Check skipped(std::string id, Level level, std::vector<std::string> nodes, std::string reason) {
  Check check;
  check.id = std::move(id);
  check.level = level;
  check.nodes = std::move(nodes);
  check.cause = std::move(reason);
  return check;
}

}  // namespace sparkplan
