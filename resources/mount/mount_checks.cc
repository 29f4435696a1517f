#include "resources/mount/mount_checks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <set>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "engine/node/mount_table.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/device_names.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_way.h"

namespace sparkplan::mount {
namespace {

constexpr std::chrono::seconds kQueryDeadline{30};
constexpr std::chrono::seconds kMapsDeadline{5};  ///< The usual search takes a fraction of a second.
constexpr std::chrono::milliseconds kPause{100};
constexpr int kPauses = 100;  ///< Ten seconds; a namespace appears within one.
constexpr std::size_t kMostUsersNamed = 4;
constexpr std::size_t kMostFilesCounted = 1000;
/// A user can fill a tmpfs with millions of directories, and each costs the agent a look.
constexpr std::size_t kMostDirectoriesCounted = 10'000;

Error absent_device(const MountUnit& unit) {
  Error error{ErrorCode::kNotFound, "there is no " + unit.what, {}, {}, ""};
  error.hint = unit.what.starts_with(kNvmeLinkPrefix)
                   ? "the server offers the subsystem, but no such namespace: `nvme list-subsys` and `nvme list` show "
                     "what it offers"
                   : "`lsblk --fs` lists the node's disks";
  return error;
}

/// The type of the file system that blkid finds on the device; empty if it finds none.
Result<std::string> file_system_on(const std::string& device, const NodeReader& node) {
  const std::vector<std::string> argv{"blkid", "--probe", "--output", "value", "--match-tag", "TYPE", "--", device};
  SPARK_TRY(const CommandOutput output, node.query(argv, kQueryDeadline));
  constexpr int kNothingFound = 2;
  if (output.exit_status != 0 && output.exit_status != kNothingFound) {
    return failure(ErrorCode::kFailed, "blkid cannot read " + device + ": " + std::string(trim(output.standard_error)));
  }
  return std::string(trim(output.standard_output));
}

/// Escapes the characters that have a special meaning in a pattern of find(1).
std::string as_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// "python3 (4711)" per process of which find(1) prints a link to the target or into it. `tests` select the links.
Result<std::vector<std::string>> processes_found(const std::string& target, std::string_view tests,
                                                 std::chrono::milliseconds deadline, const NodeReader& node) {
  auto argv = words_of("find /proc -mindepth 2 -maxdepth 3 " + std::string(tests) + " ( -lname");
  argv.insert(argv.end(), {as_pattern(target), "-o", "-lname", as_pattern(target) + "/*", ")", "-print"});
  SPARK_TRY(const CommandOutput output, node.query(argv, deadline));
  // find exits with 1 if a process ends meanwhile.
  if (output.exit_status > 1) {
    return failure(ErrorCode::kFailed, "cannot determine which processes use " + target + ": find ended with status " +
                                           std::to_string(output.exit_status));
  }
  std::set<std::string> pids;
  for (const std::string_view line : split_lines(output.standard_output)) {
    const auto parts = split(line, '/');
    if (parts.size() > 2) pids.emplace(parts[2]);
  }
  std::vector<std::string> users;
  for (const std::string& pid : pids) {
    const auto name = node.read_file("/proc/" + pid + "/comm");
    if (name) users.push_back(std::string(trim(*name)) + " (" + pid + ")");
  }
  return users;
}

/// The processes with an open file or their working directory there. An Error if find fails. The kernel reads the list
/// of map_files under a lock that a user can hold without end, so find enters no such directory.
Result<std::vector<std::string>> processes_at(const std::string& target, const NodeReader& node) {
  return processes_found(target, "( -name map_files -o -name task ) -prune -o -path /proc/[0-9]*", kQueryDeadline,
                         node);
}

/// The plan contains our own units, and no other unit stops with these two targets.
Result<bool> is_of_storage(const std::string& unit, const NodeReader& node) {
  if (unit == "local-fs.target" || unit == "remote-fs.target") return true;
  if (!unit.ends_with(".mount") && !unit.starts_with("sparkplan-nvme-")) return false;
  SPARK_TRY(const UnitFile file, read_unit(unit, "local-fs.target", node));
  return file.ours();
}

/// The units that are active or about to change their state.
Result<std::vector<std::string>> active_of(const std::vector<std::string>& units, const NodeReader& node) {
  constexpr std::array<std::string_view, 1> kActiveState{"ActiveState"};
  std::vector<std::string> active;
  if (units.empty()) return active;
  SPARK_TRY(const auto shown, node.units(units, kActiveState, kQueryDeadline));
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::string state = property_of(shown[i], "ActiveState");
    if (state != "inactive" && state != "failed") active.push_back(units[i]);
  }
  return active;
}

/// Source: systemd.unit(5), the reverse properties of Requires=, Requisite=, BindsTo=, PartOf= and StopPropagatedFrom=.
Result<std::vector<std::string>> units_needing(const std::string& target, const NodeReader& node) {
  constexpr std::array<std::string_view, 5> kNeeding{"RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf",
                                                     "PropagatesStopTo"};
  SPARK_TRY(const auto shown, node.units(std::array{unit_name(target)}, kNeeding, kQueryDeadline));
  std::set<std::string> names;
  for (const auto& [property, units] : shown.front()) {
    const auto words = words_of(units);
    names.insert(words.begin(), words.end());
  }
  std::vector<std::string> others;
  for (const std::string& name : names) {
    SPARK_TRY(const bool own, is_of_storage(name, node));
    if (!own) others.push_back(name);
  }
  return active_of(others, node);
}

Error used_by(const std::string& target, std::vector<std::string> users) {
  const std::size_t others = users.size() > kMostUsersNamed ? users.size() - kMostUsersNamed : 0;
  if (others > 0) users.resize(kMostUsersNamed);
  return make_error(
      ErrorCode::kRefused,
      target + " is in use by " + join(users, ", ") + (others > 0 ? " and " + std::to_string(others) + " more" : ""),
      "sparkplan never unmounts a mount in use: stop its users first (`fuser -vm " + target + "`)");
}

/// The number of files and directories in a directory, without the mounts inside it. The count ends when one of the
/// numbers exceeds its bound.
struct Contents {
  std::size_t files = 0;
  std::size_t directories = 0;

  bool beyond_bounds() const { return files > kMostFilesCounted || directories > kMostDirectoriesCounted; }
};

Result<Contents> contents_of(const std::string& top, const std::vector<MountedFileSystem>& mounts,
                             const NodeReader& node) {
  Contents found;
  std::vector<std::string> directories{top};
  while (!directories.empty() && !found.beyond_bounds()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    SPARK_TRY(const auto names, node.list_directory(directory));
    for (const std::string& name : names) {
      const std::string path = directory + "/" + name;
      if (mounted_at(mounts, path) != nullptr) continue;
      SPARK_TRY(const FileStatus status, node.status(path));
      if (status.kind == FileStatus::Kind::kDirectory) {
        ++found.directories;
        directories.push_back(path);
      } else {
        ++found.files;
      }
      if (found.beyond_bounds()) break;
    }
  }
  return found;
}

Error too_many_directories(const std::string& target) {
  return make_error(ErrorCode::kRefused,
                    target + " holds more than " + std::to_string(kMostDirectoriesCounted) +
                        " directories, so its files, which are in memory only, were not counted",
                    "copy the files that you need elsewhere, and empty it first");
}

bool mounts(const Observation& observation) { return unit_state_in(observation).starts_with(state::kMounted); }

/// Our unit mounted it, from the unit's source; its options may differ.
bool is_own_mount(const Observation& before) {
  return mounts(before) && !unit_content_in(before).empty() && !unit_state_in(before).starts_with(state::kFrom);
}

/// The target is below another target of the same run, whose mount hides the present files.
bool is_nested(const Step& step, std::span<const Step> steps) {
  return std::ranges::any_of(steps, [&](const Step& other) {
    return other.artifact.kind == step.artifact.kind && other.artifact.name != step.artifact.name &&
           mounts(other.after) && is_within(step.artifact.name, other.artifact.name);
  });
}

std::optional<Error> objection_to_device(const MountUnit& unit, const NodeReader& node) {
  if (!unit.what.starts_with("/dev/")) return std::nullopt;
  // A connection of this run brings the device later.
  const auto there = node.is_there(unit.what);
  if (there && !*there && unit.what.starts_with(kNvmeLinkPrefix)) return std::nullopt;
  const auto checked = check_device(unit, Patience::kNone, node);
  return checked ? std::nullopt : std::optional(checked.error());
}

std::optional<Error> objection_to_mounting(const Step& step, std::span<const Step> steps, const NodeReader& node) {
  const std::string& target = step.artifact.name;
  const MountUnit unit = parse_unit(unit_content_in(step.after));
  const auto all = mounted_file_systems(node);
  if (!all) return all.error();
  if (const MountedFileSystem* there = mounted_at(*all, target)) {
    const auto how = compare_mounted(*there, unit, node);
    if (!how) return how.error();
    if (!how->starts_with(state::kFrom)) {
      return can_be_remounted(*there, unit) ? std::nullopt : in_use(target, {}, node);
    }
    // Our own earlier mount is replaced, unless it is in use, would lose files, or the new device is unusable.
    if (!is_own_mount(step.before)) return occupied(target, *how);
    if (auto objection = objection_to_way(target, node)) return objection;
    if (auto busy = in_use(target, {}, node)) return busy;
    if (auto files = files_in_memory(target, node)) return files;
    return objection_to_device(unit, node);
  }
  if (is_nested(step, steps)) return std::nullopt;
  if (auto objection = objection_to_way(target, node)) return objection;
  if (auto files = target_has_files(target, node)) return files;
  return objection_to_device(unit, node);
}

std::optional<Error> missing_bind_source(const Step& step, std::span<const Step> steps, const NodeReader& node) {
  const MountUnit unit = parse_unit(unit_content_in(step.after));
  if (unit.type != "none") return std::nullopt;
  const bool below_another = std::ranges::any_of(
      steps, [&](const Step& other) { return mounts(other.after) && is_within(unit.what, other.artifact.name); });
  const auto there = node.is_there(unit.what);
  if (!there) return there.error();
  if (*there || below_another) return std::nullopt;
  return make_error(ErrorCode::kNotFound, "there is no directory " + unit.what, "create it, or bind another one");
}

}  // namespace

Result<void> check_device(const MountUnit& unit, Patience patience, const NodeReader& node) {
  if (!unit.what.starts_with("/dev/")) return {};
  SPARK_TRY(bool there, node.is_there(unit.what));
  for (int pause = 0; !there && patience == Patience::kWaits && pause < kPauses; ++pause) {
    node.pause(kPause);
    SPARK_TRY(there, node.is_there(unit.what));
  }
  if (!there) return failure(absent_device(unit));
  SPARK_CHECK(check_name(unit, node));
  SPARK_TRY(const std::string found, file_system_on(unit.what, node));
  if (found == unit.type) return {};
  return failure(
      ErrorCode::kRefused,
      unit.what + " holds " + (found.empty() ? "no file system" : "the file system " + found) + ", not " + unit.type,
      found.empty() ? "sparkplan never formats: if the volume is new, create the file system by hand, on one node"
                    : "if it is the right volume, write `type: " + found + "`");
}

Result<void> check_name(const MountUnit& unit, const NodeReader& node) {
  if (unit.server) return {};
  SPARK_TRY(const auto contest, contest_for(unit.what, nullptr, node));
  if (!contest) return {};
  return failure(ErrorCode::kRefused,
                 unit.what + " is the name of two devices: of " + contest->served + ", " + contest->origin +
                     ", and of " + contest->other,
                 "a server chooses the names of its volumes: give this one another name or disconnect it, or declare "
                 "the source by a name that no other device has, such as one in /dev/disk/by-path");
}

std::optional<Error> in_use(const std::string& target, const std::vector<std::string>& going, const NodeReader& node) {
  std::vector<std::string> users;
  std::set<std::string> units_below;
  const auto all = mounted_file_systems(node);
  if (!all) return all.error();
  for (const MountedFileSystem& one : *all) {
    if (one.target == target || !is_within(one.target, target)) continue;
    units_below.insert(unit_name(one.target));
    if (std::ranges::find(going, one.target) == going.end()) {
      users.push_back("the mount at " + one.target);
    }
  }
  auto processes = processes_at(target, node);
  if (!processes) return processes.error();
  users.insert(users.end(), processes->begin(), processes->end());
  auto units = units_needing(target, node);
  if (!units) return units.error();
  std::ranges::copy_if(*units, std::back_inserter(users),
                       [&](const std::string& unit) { return !units_below.contains(unit); });
  if (users.empty()) return std::nullopt;
  return used_by(target, std::move(users));
}

std::optional<Error> mapped_by_processes(const std::string& target, const NodeReader& node) {
  // A killed find ends at once: the kernel waits for that lock "killable".
  auto users = processes_found(target, "-type d ! -name map_files -prune -o -path /proc/[0-9]*/map_files/*",
                               kMapsDeadline, node);
  if (!users || users->empty()) return std::nullopt;
  return used_by(target, *std::move(users));
}

std::optional<Error> needed_by_units(const std::string& target, const NodeReader& node) {
  auto units = units_needing(target, node);
  if (!units) return units.error();
  if (units->empty()) return std::nullopt;
  return used_by(target, *std::move(units));
}

std::optional<Error> target_has_files(const std::string& target, const NodeReader& node) {
  const auto names = node.list_directory(target);
  if (!names && names.error().code != ErrorCode::kNotFound) return names.error();
  if (!names || names->empty()) return std::nullopt;
  return make_error(ErrorCode::kRefused,
                    target + " is not empty: the mount would hide " + names->front() +
                        (names->size() > 1 ? " and " + std::to_string(names->size() - 1) + " more" : ""),
                    "move its contents elsewhere, or mount at another directory");
}

std::optional<Error> files_in_memory(const std::string& target, const NodeReader& node) {
  const auto all = mounted_file_systems(node);
  if (!all) return all.error();
  const MountedFileSystem* there = mounted_at(*all, target);
  if (there == nullptr || there->type != "tmpfs") return std::nullopt;
  // The files stay in memory if the tmpfs is also mounted elsewhere.
  const bool elsewhere = std::ranges::any_of(
      *all, [&](const MountedFileSystem& other) { return other.device == there->device && other.target != target; });
  if (elsewhere) return std::nullopt;
  const auto found = contents_of(target, *all, node);
  if (!found) return found.error();
  if (found->files == 0) {
    return found->beyond_bounds() ? std::optional(too_many_directories(target)) : std::nullopt;
  }
  const bool known = !found->beyond_bounds();
  const std::string number = known                               ? std::to_string(found->files)
                             : found->files <= kMostFilesCounted ? "at least " + std::to_string(found->files)
                                                                 : "more than a thousand";
  return make_error(ErrorCode::kRefused,
                    target + " holds " + number + (found->files == 1 ? " file, which is" : " files, which are") +
                        " in memory only and would be lost",
                    "copy the files that you need elsewhere, and empty it first");
}

Error occupied(const std::string& target, const std::string& state) {
  return make_error(ErrorCode::kRefused, "something else is at " + target + ": it is " + state,
                    "unmount it, or mount at another directory");
}

std::vector<Objection> objections_to(std::span<const Step> steps, const NodeReader& node) {
  std::vector<Objection> objections;
  std::vector<std::string> going;
  for (const Step& step : steps) {
    if (mounts(step.before) && !mounts(step.after)) going.push_back(step.artifact.name);
  }
  for (const Step& step : steps) {
    if (step.artifact.kind != "mount") continue;
    std::optional<Error> error;
    if (mounts(step.after) && !unit_content_in(step.after).empty()) {
      error = objection_to_mounting(step, steps, node);
      if (!error) error = missing_bind_source(step, steps, node);
    } else if (mounts(step.before) && !mounts(step.after)) {
      error = in_use(step.artifact.name, going, node);
      if (!error) error = files_in_memory(step.artifact.name, node);
    }
    if (error) objections.push_back({step.artifact, *std::move(error)});
  }
  return objections;
}

}  // namespace sparkplan::mount
