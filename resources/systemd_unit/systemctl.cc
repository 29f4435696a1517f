#include "resources/systemd_unit/systemctl.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/words.h"

namespace sparkplan::systemd_unit {
namespace {

using Properties = std::map<std::string, std::string>;

constexpr const char* kProperties =
    "Id,LoadState,ActiveState,SubState,UnitFileState,FragmentPath,DropInPaths,NeedDaemonReload,Type,RemainAfterExit,"
    "Result,NRestarts,InvocationID,ConditionResult,ConditionTimestampMonotonic,ExecMainExitTimestampMonotonic";

std::string property(const Properties& properties, const std::string& key) {
  const auto found = properties.find(key);
  return found == properties.end() ? std::string() : found->second;
}

bool has_happened(const Properties& properties, const std::string& timestamp) {
  return std::strtoll(property(properties, timestamp).c_str(), nullptr, 10) > 0;
}

/// One block of KEY=value lines per unit, in the order asked for.
std::vector<Properties> parse_show(std::string_view text) {
  std::vector<Properties> units;
  bool begins = true;
  for (const std::string_view line : split_lines(text)) {
    if (line.empty()) {
      begins = true;
      continue;
    }
    if (begins) units.emplace_back();
    begins = false;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    units.back()[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  return units;
}

std::string state_of(const Properties& unit) {
  const std::string active = property(unit, "ActiveState");
  if (active == "activating" && property(unit, "SubState").starts_with("auto-restart")) {
    return std::string(state::kFailed);
  }
  if (active == "active" || active == "reloading" || active == "refreshing" || active == "activating") {
    return std::string(state::kStarted);
  }
  if (active == "failed") return std::string(state::kFailed);
  const bool over = property(unit, "Type") == "oneshot" && property(unit, "RemainAfterExit") == "no";
  if (over && property(unit, "Result") == "success" && has_happened(unit, "ExecMainExitTimestampMonotonic")) {
    return std::string(state::kFinished);
  }
  if (property(unit, "ConditionResult") == "no" && has_happened(unit, "ConditionTimestampMonotonic")) {
    return std::string(state::kSkipped);
  }
  return std::string(state::kStopped);
}

Result<RunningState> running_from(const std::string& name, const Properties& unit) {
  const std::string load = property(unit, "LoadState");
  if (load == "masked") {
    return failure(ErrorCode::kRefused, name + " is masked",
                   "somebody does not want it to run: systemctl unmask " + name + ", if it shall");
  }
  if (const std::string id = property(unit, "Id"); !id.empty() && id != name) {
    return failure(ErrorCode::kRefused, name + " is another name of " + id, "write " + id);
  }
  const std::string active = property(unit, "ActiveState");
  RunningState state;
  state.exists = load != "not-found" && !load.empty();
  state.up = active == "active" || active == "reloading" || active == "refreshing" || active == "activating";
  state.state = state_of(unit);
  state.settled = active != "activating" && active != "deactivating";
  state.file_state = property(unit, "UnitFileState");
  const bool has_a_file = !property(unit, "FragmentPath").empty();
  state.enabled_known = !has_a_file || (!state.file_state.empty() && state.file_state != "bad");
  state.needs_reload = property(unit, "NeedDaemonReload") == "yes";
  state.fragment = property(unit, "FragmentPath");
  state.drop_ins = words_of(property(unit, "DropInPaths"));
  state.is_service = name.ends_with(".service");
  state.ends_by_itself = property(unit, "Type") == "oneshot";
  state.incarnation = property(unit, "InvocationID") + " " + property(unit, "NRestarts");
  state.result = property(unit, "Result");
  return state;
}

tl::unexpected<Error> systemctl_failed(const std::string& what, const CommandOutput& output) {
  const std::vector<std::string_view> lines = split_lines(output.standard_error);
  return failure(ErrorCode::kFailed, what + (lines.empty() ? ": exit status " + std::to_string(output.exit_status)
                                                           : ": " + std::string(lines.front())));
}

/// The names of the units for which there is a link that an [Install] section has made.
/// Source: systemd.unit(5), WantedBy=, RequiredBy=, UpheldBy=.
std::set<std::string> linked_units(const NodeReader& node) {
  const std::filesystem::path units("/etc/systemd/system");
  std::set<std::string> linked;
  const Result<std::vector<std::string>> directories = node.list_directory(units);
  if (!directories) return linked;
  for (const std::string& directory : *directories) {
    if (!directory.ends_with(".wants") && !directory.ends_with(".requires") && !directory.ends_with(".upholds"))
      continue;
    if (const auto links = node.list_directory(units / directory)) linked.insert(links->begin(), links->end());
  }
  return linked;
}

/// systemd remembers what a unit file's state was when it last looked; is-enabled reads the links anew.
/// It is slow, and needless where what systemd remembers and the links agree.
Result<void> read_file_states(std::map<std::string, Result<RunningState>>& units, const NodeReader& node) {
  std::vector<std::string> argv{"systemctl", "is-enabled", "--"};
  std::vector<RunningState*> asked;
  const std::set<std::string> linked = linked_units(node);
  for (auto& [name, unit] : units) {
    if (!unit || unit->file_state.empty()) continue;
    if (unit->file_state == "enabled" && linked.count(name) > 0) {
      unit->enabled = true;
      continue;
    }
    argv.push_back(name);
    asked.push_back(&*unit);
  }
  if (asked.empty()) return {};
  SPARK_TRY(const CommandOutput output, node.query(argv, kQueryDeadline));
  const std::vector<std::string_view> states = split_lines(output.standard_output);
  // It stops at a unit whose file has gone meanwhile or is damaged, and says nothing of the others.
  if (states.size() == asked.size()) {
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->file_state = std::string(trim(states[i]));
  } else {
    for (RunningState* unit : asked) unit->enabled_known = false;
  }
  for (RunningState* unit : asked) unit->enabled = unit->file_state == "enabled";
  return {};
}

}  // namespace

Result<std::map<std::string, Result<RunningState>>> show_units(std::span<const std::string> names,
                                                               const NodeReader& node) {
  std::map<std::string, Result<RunningState>> units;
  if (names.empty()) return units;
  std::vector<std::string> argv{"systemctl", "show", "--no-pager", "--property", kProperties, "--"};
  argv.insert(argv.end(), names.begin(), names.end());
  const Result<CommandOutput> output = node.query(argv, kQueryDeadline);
  if (!output && output.error().code == ErrorCode::kNotFound) {
    return failure(ErrorCode::kUnsupported, "there is no systemctl on this node", "units need systemd");
  }
  if (!output) return failure(output.error());
  const std::vector<Properties> shown = parse_show(output->standard_output);
  if (output->exit_status != 0 || shown.size() != names.size()) return systemctl_failed("systemctl show", *output);
  for (std::size_t i = 0; i < names.size(); ++i) units.emplace(names[i], running_from(names[i], shown[i]));
  SPARK_CHECK(read_file_states(units, node));
  return units;
}

}  // namespace sparkplan::systemd_unit
