#include "resources/systemd_unit/unit_state.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

constexpr auto kProperties = std::to_array<std::string_view>(
    {"Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "FragmentPath", "DropInPaths", "NeedDaemonReload",
     "Type", "RemainAfterExit", "Result", "NRestarts", "InvocationID", "ConditionResult", "ConditionTimestampMonotonic",
     "ExecMainExitTimestampMonotonic"});

bool has_happened(const UnitProperties& unit, const std::string& timestamp) {
  return std::strtoll(property_of(unit, timestamp).c_str(), nullptr, 10) > 0;
}

std::string state_of(const UnitProperties& unit) {
  const std::string active = property_of(unit, "ActiveState");
  if (active == "activating" && property_of(unit, "SubState").starts_with("auto-restart")) {
    return std::string(state::kFailed);
  }
  if (active == "active" || active == "reloading" || active == "refreshing" || active == "activating") {
    return std::string(state::kStarted);
  }
  if (active == "failed") return std::string(state::kFailed);
  const bool over = property_of(unit, "Type") == "oneshot" && property_of(unit, "RemainAfterExit") == "no";
  if (over && property_of(unit, "Result") == "success" && has_happened(unit, "ExecMainExitTimestampMonotonic")) {
    return std::string(state::kFinished);
  }
  if (property_of(unit, "ConditionResult") == "no" && has_happened(unit, "ConditionTimestampMonotonic")) {
    return std::string(state::kSkipped);
  }
  return std::string(state::kStopped);
}

Result<RunningState> running_from(const std::string& name, const UnitProperties& unit) {
  const std::string load = property_of(unit, "LoadState");
  if (load == "masked") {
    return failure(ErrorCode::kRefused, name + " is masked",
                   "an administrator keeps it from running; `systemctl unmask " + name + "` undoes that");
  }
  if (const std::string id = property_of(unit, "Id"); !id.empty() && id != name) {
    return failure(ErrorCode::kRefused, name + " is another name of " + id, "write " + id);
  }
  const std::string active = property_of(unit, "ActiveState");
  RunningState state;
  state.exists = load != "not-found" && !load.empty();
  state.up = active == "active" || active == "reloading" || active == "refreshing" || active == "activating";
  state.state = state_of(unit);
  state.settled = active != "activating" && active != "deactivating";
  state.file_state = property_of(unit, "UnitFileState");
  const bool has_a_file = !property_of(unit, "FragmentPath").empty();
  state.enabled_known = !has_a_file || (!state.file_state.empty() && state.file_state != "bad");
  state.needs_reload = property_of(unit, "NeedDaemonReload") == "yes";
  state.fragment = property_of(unit, "FragmentPath");
  state.drop_ins = words_of(property_of(unit, "DropInPaths"));
  state.is_service = name.ends_with(".service");
  state.ends_by_itself = property_of(unit, "Type") == "oneshot";
  state.incarnation = property_of(unit, "InvocationID") + " " + property_of(unit, "NRestarts");
  state.result = property_of(unit, "Result");
  return state;
}

/// The names of units that have a link of an [Install] section.
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

/// systemd caches the state of a unit file; is-enabled reads the links again. is-enabled is slow, so it is skipped for
/// units that are enabled according to both systemd and the links.
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
  // is-enabled stops at a missing or damaged unit file and does not report the remaining units.
  if (states.size() == asked.size()) {
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i]->file_state = std::string(trim(states[i]));
  } else {
    for (RunningState* unit : asked) unit->enabled_known = false;
  }
  for (RunningState* unit : asked) unit->enabled = unit->file_state == "enabled";
  return {};
}

/// An Error concerns a single unit: masked, or an alias. Errors: as NodeReader::units().
Result<std::map<std::string, Result<RunningState>>> running_states(std::span<const std::string> names,
                                                                   const NodeReader& node) {
  std::map<std::string, Result<RunningState>> states;
  if (names.empty()) return states;
  SPARK_TRY(const auto units, node.units(names, kProperties, kQueryDeadline));
  for (std::size_t i = 0; i < names.size(); ++i) states.emplace(names[i], running_from(names[i], units[i]));
  SPARK_CHECK(read_file_states(states, node));
  return states;
}

struct UnitFile {
  std::optional<std::string> bytes;  ///< Nothing: it is not a regular file.
  std::string attributes;
  bool link = false;  ///< A symbolic link, a directory or a device is in its place.
};

std::string attributes_of(const FileStatus& status) {
  return file_mode_text(status.mode) + " " + std::to_string(status.uid) + ":" + std::to_string(status.gid);
}

Result<UnitFile> read_unit_file(const std::string& path, const NodeReader& node) {
  UnitFile file;
  SPARK_TRY(const auto status, if_there(node.status(path)));
  if (!status) return file;
  file.link = status->kind != FileStatus::Kind::kRegular;
  if (file.link) return file;
  SPARK_TRY(file.bytes, node.read_file(path));
  file.attributes = attributes_of(*status);
  return file;
}

/// The path of a foreign unit file that our unit file would hide; empty without one.
Result<std::string> other_unit_file(const std::string& name, const NodeReader& node) {
  for (const std::string_view directory : kOtherDirectories) {
    const std::string path = std::string(directory) + "/" + name;
    SPARK_TRY(const bool there, node.is_there(path));
    if (there) return path;
  }
  return std::string();
}

/// The state of the unit without systemd's part.
Result<UnitState> read_files(const std::string& name, const NodeReader& node) {
  UnitState unit;
  SPARK_TRY(UnitFile own, read_unit_file(unit_path(name), node));
  SPARK_TRY(UnitFile drop_in, read_unit_file(drop_in_path(name), node));
  if (drop_in.link) {
    return failure(ErrorCode::kRefused, drop_in_path(name) + " is not a regular file",
                   "sparkplan replaces regular files only: move it away");
  }
  const bool own_is_ours = own.bytes && is_ours(*own.bytes);
  const std::string& attributes = own_is_ours ? own.attributes : drop_in.attributes;
  if (!attributes.empty() && attributes != kAttributes) unit.attributes = attributes;
  if (own.bytes && !own_is_ours && own.attributes != kAttributes) unit.content_attributes = own.attributes;
  if (own.link) unit.in_the_way = unit_path(name);
  unit.content = std::move(own.bytes);
  unit.drop_in = std::move(drop_in.bytes);
  if (!own.link && !unit.content) {
    SPARK_TRY(unit.in_the_way, other_unit_file(name, node));
  }
  if (node.live()) {
    SPARK_TRY(unit.restart_pending, node.is_there(restart_marker(name)));
    SPARK_TRY(unit.outcome, or_empty(node.read_file(outcome_record(name))));
  }
  return unit;
}

Result<UnitState> combine(const std::string& name, const std::map<std::string, Result<RunningState>>& running,
                          const NodeReader& node) {
  SPARK_TRY(UnitState unit, read_files(name, node));
  const auto found = running.find(name);
  if (found == running.end()) return unit;
  SPARK_TRY(unit.running, found->second);
  if (unit.running->state == state::kStopped && !unit.outcome.empty()) unit.running->state = unit.outcome;
  // A unit from another source than a file in these directories, for example from fstab.
  const std::string& fragment = unit.running->fragment;
  if (!unit.content && unit.in_the_way.empty() && fragment.ends_with("/" + name) && fragment != unit_path(name)) {
    unit.in_the_way = fragment;
  }
  return unit;
}

Result<std::optional<Override>> defeated_by(const std::string& path, std::string_view ours, bool of_content,
                                            const NodeReader& node) {
  const Result<std::string> text = node.read_file(path);
  if (!text) {
    // systemd still lists a file that was removed meanwhile.
    if (text.error().code == ErrorCode::kNotFound) return std::optional<Override>();
    return failure(Error(text.error()).within("could override our settings"));
  }
  const std::optional<Assignment> found = defeating(ours, *text);
  if (!found) return std::optional<Override>();
  const std::string value = found->key + "=" + found->value;
  return Override{of_content, value, path + ":" + std::to_string(found->line), "sets " + value + " and is read later"};
}

}  // namespace

std::string restart_marker(std::string_view name) { return std::string(kRestartDirectory) + "/" + std::string(name); }

std::string outcome_record(std::string_view name) { return std::string(kOutcomeDirectory) + "/" + std::string(name); }

std::map<std::string, Result<UnitState>> look_at_units(std::span<const std::string> names, const NodeReader& node) {
  std::map<std::string, Result<UnitState>> units;
  std::vector<std::string> to_show;
  for (const std::string& name : names) {
    if (node.live() && !is_template(name)) to_show.push_back(name);
  }
  const Result<std::map<std::string, Result<RunningState>>> running = running_states(to_show, node);
  for (const std::string& name : names) {
    units.emplace(name, running ? combine(name, *running, node) : Result<UnitState>(failure(running.error())));
  }
  return units;
}

Result<UnitState> look_at_unit(const std::string& name, const NodeReader& node) {
  const std::vector<std::string> names{name};
  return look_at_units(names, node).at(name);
}

Result<RunningState> running_state(const std::string& name, const NodeReader& node) {
  const std::vector<std::string> names{name};
  SPARK_TRY(const auto units, running_states(names, node));
  return units.at(name);
}

Result<std::optional<Override>> override_of(const std::string& name, const UnitState& unit, const NodeReader& node) {
  if (!unit.running || unit.running->needs_reload) return std::optional<Override>();
  const bool has_content = unit.content && is_ours(*unit.content);
  if (!has_content && !unit.drop_in) return std::optional<Override>();
  const std::string& fragment = unit.running->fragment;
  if (has_content && !fragment.empty() && fragment != unit_path(name)) {
    return Override{true, fragment, fragment, "is the unit file that systemd uses instead"};
  }
  const std::vector<std::string>& files = unit.running->drop_ins;
  const auto ours = std::ranges::find(files, drop_in_path(name));
  for (auto file = has_content ? files.begin() : ours; file != files.end(); ++file) {
    if (file == ours) continue;
    const std::string& text = has_content ? *unit.content : *unit.drop_in;
    SPARK_TRY(std::optional<Override> found, defeated_by(*file, text, has_content, node));
    if (found) return found;
  }
  return std::optional<Override>();
}

}  // namespace sparkplan::systemd_unit
