#include "resources/systemd_unit/unit_state.h"

#include <utility>

#include "engine/core/file_mode.h"
#include "resources/systemd_unit/systemctl.h"
#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

struct UnitFile {
  std::optional<std::string> bytes;  ///< Nothing: no regular file.
  std::string attributes;
  bool link = false;  ///< A symbolic link, a directory or a device is in its place.
};

std::string attributes_of(const FileStatus& status) {
  return file_mode_text(status.mode) + " " + std::to_string(status.uid) + ":" + std::to_string(status.gid);
}

Result<UnitFile> read_unit_file(const std::string& path, const NodeReader& node) {
  UnitFile file;
  const Result<FileStatus> status = node.status(path);
  if (!status) {
    if (status.error().code == ErrorCode::kNotFound) return file;
    return failure(status.error());
  }
  file.link = status->kind != FileStatus::Kind::kRegular;
  if (file.link) return file;
  SPARK_TRY(file.bytes, node.read_file(path));
  file.attributes = attributes_of(*status);
  return file;
}

Result<bool> is_there(const std::string& path, const NodeReader& node) {
  const Result<FileStatus> status = node.status(path);
  if (status) return true;
  if (status.error().code == ErrorCode::kNotFound) return false;
  return failure(status.error());
}

/// A unit file of somebody else's that one of ours would hide.
Result<std::string> other_unit_file(const std::string& name, const NodeReader& node) {
  for (const std::string_view directory : kOtherDirectories) {
    const std::string path = std::string(directory) + "/" + name;
    SPARK_TRY(const bool there, is_there(path, node));
    if (there) return path;
  }
  return std::string();
}

Result<std::string> recorded_outcome(const std::string& name, const NodeReader& node) {
  Result<std::string> outcome = node.read_file(outcome_record(name));
  if (!outcome && outcome.error().code == ErrorCode::kNotFound) return std::string();
  return outcome;
}

/// All but what systemd says.
Result<UnitState> read_files(const std::string& name, const NodeReader& node) {
  UnitState unit;
  SPARK_TRY(UnitFile own, read_unit_file(unit_path(name), node));
  SPARK_TRY(UnitFile drop_in, read_unit_file(drop_in_path(name), node));
  if (drop_in.link) {
    return failure(ErrorCode::kRefused, drop_in_path(name) + " is no regular file",
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
    SPARK_TRY(unit.restart_pending, is_there(restart_marker(name), node));
    SPARK_TRY(unit.outcome, recorded_outcome(name, node));
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
  // A unit made of something else than a file in the usual places: fstab, for one.
  const std::string& fragment = unit.running->fragment;
  if (!unit.content && unit.in_the_way.empty() && fragment.ends_with("/" + name) && fragment != unit_path(name)) {
    unit.in_the_way = fragment;
  }
  return unit;
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
  const Result<std::map<std::string, Result<RunningState>>> running = show_units(to_show, node);
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
  SPARK_TRY(const auto units, show_units(names, node));
  return units.at(name);
}

}  // namespace sparkplan::systemd_unit
