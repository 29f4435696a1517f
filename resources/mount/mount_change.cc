#include "resources/mount/mount_steps.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "engine/core/text.h"
#include "engine/domain/storage/block_device.h"
#include "engine/node/mount_table.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_checks.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_unit.h"
#include "resources/mount/mount_way.h"

namespace sparkplan::mount {
namespace {

constexpr std::chrono::seconds kDeadline{60};

/// The error with the last mount message of the unit's journal since then, for a reader who is not on the node.
Error with_messages(const std::string& unit, const std::string& since, Error error, const NodeReader& node) {
  std::vector<std::string> told;
  const std::string messages = last_messages(unit, since, node);
  for (const std::string_view line : split_lines(messages)) {
    if (line.find("mount: ") != std::string_view::npos || line.find("mount.nfs") != std::string_view::npos) {
      told.emplace_back(trim(line));
    }
  }
  if (!told.empty()) error.message += "; " + told.back();
  if (error.hint.empty()) error.hint = "journalctl -u " + unit + " shows details";
  return error;
}

class MountChange {
 public:
  MountChange(const std::string& target, const MountState& now, WantedUnitState wanted, Node& node)
      : target_(target), unit_(unit_name(target)), now_(now), wanted_(std::move(wanted)), node_(node) {}

  Result<void> carry_out() {
    if (now_.mounted() && !wants_mount()) SPARK_CHECK(unmount());
    if (!wanted_.content) return remove_unit(unit_, now_.unit, node_);
    SPARK_CHECK(make_room());
    SPARK_CHECK(write_unit(unit_, *wanted_.content, wanted_.enabled, now_.unit, node_));
    if (!node_.live() || !wants_mount()) return {};
    SPARK_CHECK(mount_or_remount());
    return put_drift_back();
  }

 private:
  bool wants_mount() const { return wanted_.state.starts_with(state::kMounted); }

  Result<void> unmount() {
    SPARK_TRY(const auto all, mounted_file_systems(node_));
    const MountedFileSystem* there = mounted_at(all, target_);
    if (auto files = files_in_memory(target_, node_)) return failure(*std::move(files));
    if (auto needed = needed_by_units(target_, node_)) return failure(*std::move(needed));
    const std::string since = journal_time(node_);
    Result<void> stopped = systemctl("stop", unit_, node_);
    SPARK_TRY(const MountState after, look_at_mount(target_, node_));
    if (!after.mounted()) return there == nullptr ? Result<void>() : refuse_if_held(*there);
    if (auto busy = in_use(target_, {}, node_)) return failure(*std::move(busy));
    if (auto mapped = mapped_by_processes(target_, node_)) return failure(*std::move(mapped));
    if (!stopped) return failure(with_messages(unit_, since, std::move(stopped).error(), node_));
    return failure(ErrorCode::kVerifyFailed, target_ + " is still mounted after it was unmounted",
                   "findmnt " + target_ + " shows the mount");
  }

  /// A volume that is unmounted here and still mounted in a container is still read or written: it is mounted again.
  Result<void> refuse_if_held(const MountedFileSystem& gone) {
    if (!gone.source.starts_with("/dev/")) return {};
    SPARK_TRY(const auto mounts, mounted_file_systems(node_));
    const bool seen_elsewhere =
        std::ranges::any_of(mounts, [&](const MountedFileSystem& other) { return other.device == gone.device; });
    if (seen_elsewhere) return {};
    const auto held = is_held(gone.source, node_);
    if (held && !*held) return {};
    Result<void> mounted = systemctl("start", unit_, node_);
    Error error =
        held ? make_error(ErrorCode::kRefused, target_ + " is held by another mount namespace, such as a container's",
                          "stop the container first: the volume stays mounted inside it")
             : held.error();
    if (!mounted) error.message += "; and it could not be mounted again: " + mounted.error().message;
    return failure(std::move(error));
  }

  /// Unmounts our old mount if the new unit mounts another source.
  Result<void> make_room() {
    const bool own = now_.mounted() && now_.unit.ours() && !now_.state.starts_with(state::kFrom);
    if (!own || !wants_mount() || now_.unit.content == wanted_.content) return {};
    SPARK_TRY(const auto all, mounted_file_systems(node_));
    const MountedFileSystem* there = mounted_at(all, target_);
    if (there == nullptr) return {};
    SPARK_TRY(const std::string how, compare_mounted(*there, parse_unit(*wanted_.content), node_));
    return how.starts_with(state::kFrom) ? unmount() : Result<void>();
  }

  Result<void> mount_or_remount() {
    SPARK_TRY(const MountState before, look_at_mount(target_, node_));
    if (before.state == state::kMounted) return {};
    if (before.state.starts_with(state::kFrom)) return failure(occupied(target_, before.state));
    return before.mounted() ? remount() : mount();
  }

  Result<void> mount() {
    // This run may have mounted the file system around the target, with files at the target.
    if (auto files = target_has_files(target_, node_)) return failure(*std::move(files));
    SPARK_CHECK(check_device(parse_unit(*wanted_.content), Patience::kWaits, node_));
    // After too many failed starts, systemd refuses to try again.
    static_cast<void>(systemctl("reset-failed", unit_, node_));
    return mount_by("start");
  }

  /// A new mount by systemd. No other user can put a link on the way to the target, and a mount that went elsewhere
  /// does not stay.
  Result<void> mount_by(const std::string& verb) {
    SPARK_CHECK(make_way(target_, node_));
    SPARK_TRY(const auto before, mounted_file_systems(node_));
    const std::string since = journal_time(node_);
    Result<void> started = systemctl(verb, unit_, node_);
    SPARK_CHECK(detach_strays(parse_unit(*wanted_.content), target_, before, node_));
    if (!started) return failure(with_messages(unit_, since, std::move(started).error(), node_));
    return verify();
  }

  /// Remounts in place. If the kernel refuses the options, or the journal would stay unread, it unmounts and mounts
  /// again. A mount in use fails without a change.
  Result<void> remount() {
    SPARK_TRY(const auto all, mounted_file_systems(node_));
    const MountedFileSystem* there = mounted_at(all, target_);
    const bool in_place = there == nullptr || can_be_remounted(*there, parse_unit(*wanted_.content));
    if (in_place && systemctl("reload", unit_, node_) && verify()) return {};
    auto obstacle = in_use(target_, {}, node_);
    if (!obstacle) obstacle = files_in_memory(target_, node_);
    if (!obstacle) obstacle = mapped_by_processes(target_, node_);
    if (obstacle) {
      obstacle->message =
          "the options of " + target_ + " cannot be changed while it is mounted, and " + obstacle->message;
      return failure(*std::move(obstacle));
    }
    SPARK_CHECK(check_name(parse_unit(*wanted_.content), node_));
    return mount_by("restart");
  }

  Result<void> verify() {
    SPARK_TRY(const MountState after, look_at_mount(target_, node_));
    if (after.state == state::kMounted) return {};
    return failure(ErrorCode::kVerifyFailed, target_ + " is " + after.state + " after it was mounted",
                   "systemctl status " + unit_);
  }

  /// A rollback restores options that were set by hand before the change.
  Result<void> put_drift_back() {
    static const std::map<std::string, std::string, std::less<>> kOpposites{
        {"nosuid", "suid"},      {"nodev", "dev"},           {"noexec", "exec"},
        {"noatime", "relatime"}, {"nodiratime", "diratime"}, {"sync", "async"}};
    std::string option;
    if (wanted_.state.starts_with(state::kWith)) option = wanted_.state.substr(state::kWith.size());
    if (wanted_.state.starts_with(state::kWithout)) {
      const auto opposite = kOpposites.find(wanted_.state.substr(state::kWithout.size()));
      if (opposite != kOpposites.end()) option = opposite->second;
    }
    // A rollback does not restore an unread journal.
    if (option.empty() || option == "norecovery") return {};
    if (option == "rw") SPARK_CHECK(refuse_without_journal());
    const std::vector<std::string> argv{"mount", "-o", "remount," + option, "--", target_};
    SPARK_TRY(const CommandOutput output, node_.run(argv, kDeadline));
    if (output.exit_status == 0) return {};
    return failure(ErrorCode::kFailed, "mount: " + std::string(trim(output.standard_error)));
  }

  Result<void> refuse_without_journal() {
    SPARK_TRY(const auto all, mounted_file_systems(node_));
    const MountedFileSystem* there = mounted_at(all, target_);
    if (there == nullptr || !is_without_journal(*there)) return {};
    return failure(ErrorCode::kRefused,
                   target_ +
                       " is not made writable again: it is mounted without its journal, which must be replayed "
                       "first",
                   "remove `ro` from its options in cluster.yaml and apply: that mounts it again");
  }

  const std::string& target_;
  std::string unit_;
  const MountState& now_;
  WantedUnitState wanted_;
  Node& node_;
};

}  // namespace

Result<void> make_mount(const std::string& target, const Observation& after, Node& node) {
  SPARK_TRY(const MountState now, look_at_mount(target, node));
  return MountChange(target, now, wanted_unit_state(after), node).carry_out();
}

Observation observe_directory(const std::string& path, const NodeReader& node) {
  const auto status = node.status(path);
  if (!status && status.error().code == ErrorCode::kNotFound) return Absent{};
  if (!status) return status.error();
  if (status->kind == FileStatus::Kind::kDirectory) return Present{Value::map({{"directory", true}}), {}};
  const bool link = status->kind == FileStatus::Kind::kSymlink;
  return make_error(
      ErrorCode::kRefused,
      path + (link ? " is a symbolic link, and systemd does not mount at or below it" : " is not a directory"),
      link ? "write the path that it points to" : "move it away, or choose another target");
}

Result<void> make_directory(const std::string& path, const Observation& after, Node& node) {
  const Observation now = observe_directory(path, node);
  if (const auto* error = std::get_if<Error>(&now)) return failure(*error);
  const bool there = std::holds_alternative<Present>(now);
  if (std::holds_alternative<Present>(after)) {
    return there ? Result<void>() : node.make_empty_directory(path);
  }
  if (!there) return {};
  SPARK_TRY(const auto names, node.list_directory(path));
  return names.empty() ? node.remove_empty_directory(path) : Result<void>();
}

}  // namespace sparkplan::mount
