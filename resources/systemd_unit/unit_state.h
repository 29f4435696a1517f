#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::systemd_unit {

inline constexpr std::chrono::seconds kQueryDeadline{30};

/// The directory for records of pending restarts. A record is written before a file changes. A boot makes the records
/// needless and removes them.
inline constexpr std::string_view kRestartDirectory = "/run/sparkplan/restart";
std::string restart_marker(std::string_view name);

/// The directory for results of the last start of units that are down again: state::kFinished or state::kSkipped.
/// systemd forgets the result with the unit when no other unit needs the unit. The next boot removes the records.
inline constexpr std::string_view kOutcomeDirectory = "/run/sparkplan/outcome";
std::string outcome_record(std::string_view name);

/// Mode, owner and group of our files: "0644 0:0".
inline constexpr std::string_view kAttributes = "0644 0:0";

/// The states of a unit, as far as systemd reports them.
namespace state {
inline constexpr std::string_view kStarted = "started";
inline constexpr std::string_view kStopped = "stopped";
inline constexpr std::string_view kFailed = "failed";      ///< Also between two automatic restarts.
inline constexpr std::string_view kFinished = "finished";  ///< A oneshot that has ended with success.
inline constexpr std::string_view kSkipped = "skipped";    ///< A false condition prevented its start.
}  // namespace state

/// The state of a unit according to systemd.
struct RunningState {
  bool exists = false;  ///< It has a unit file somewhere, or a generator made it.
  bool up = false;      ///< Active or activating.
  std::string state;    ///< A name of namespace state.
  bool settled = true;  ///< False while it is activating or deactivating.
  bool enabled = false;
  /// False if systemd cannot report it, for example while a unit file is damaged: `enabled` then stays unchanged.
  bool enabled_known = true;
  std::string file_state;  ///< "enabled", "static", "generated" ... Source: systemctl(1), is-enabled.
  bool needs_reload = false;
  std::string fragment;               ///< The unit file that systemd uses; may be empty.
  std::vector<std::string> drop_ins;  ///< In the order of reading.
  bool is_service = false;
  bool ends_by_itself = false;  ///< Type=oneshot.
  std::string incarnation;      ///< Differs after each start. A new main process alone does not change it.
  std::string result;           ///< "success", "exit-code" ...
};

/// One unit on one node.
struct UnitState {
  std::optional<std::string> content;  ///< Of /etc/systemd/system/NAME, also a foreign one.
  std::optional<std::string> drop_in;  ///< Of our drop-in.
  std::string attributes;              ///< Of our files; empty if they are kAttributes.
  std::string content_attributes;      ///< Of a foreign `content`; empty if they are kAttributes.
  std::string in_the_way;              ///< A file that our unit file would hide, or a link in its place; else empty.
  bool restart_pending = false;
  std::string outcome;                  ///< The content of outcome_record(); empty without it.
  std::optional<RunningState> running;  ///< Nothing in an image or for a template.

  bool exists() const { return running ? running->exists || content : content || !in_the_way.empty(); }
};

/// I/O, read-only. All these units, with one query to systemd. An Error concerns a single unit: masked, an alias of
/// another unit, unreadable, or with a link in place of our drop-in.
std::map<std::string, Result<UnitState>> look_at_units(std::span<const std::string> names, const NodeReader& node);
Result<UnitState> look_at_unit(const std::string& name, const NodeReader& node);

/// I/O, read-only. Only the state according to systemd.
Result<RunningState> running_state(const std::string& name, const NodeReader& node);

/// A foreign setting that overrides our unit file or drop-in.
struct Override {
  bool of_content = false;  ///< It overrides our unit file; false: our drop-in.
  std::string value;        ///< "LimitMEMLOCK=8M"; the path of a whole file.
  std::string source;       ///< "/etc/systemd/system/a.service.d/99-local.conf:2"
  std::string message;
};

/// I/O, read-only. The first file that systemd reads instead of our file, or later and with another setting. Nothing
/// until systemd has read all changed files.
/// Errors: such a file that cannot be read.
Result<std::optional<Override>> override_of(const std::string& name, const UnitState& unit, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
