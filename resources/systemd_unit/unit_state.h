#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/node/node.h"

namespace sparkplan::systemd_unit {

inline constexpr std::chrono::seconds kQueryDeadline{30};

/// Where a restart that is still to be made is noted: written before a file changes, gone with the
/// next boot, which makes it needless.
inline constexpr std::string_view kRestartDirectory = "/run/sparkplan/restart";
std::string restart_marker(std::string_view name);

/// What the last start of a unit came to that is down again, state::kFinished or state::kSkipped: systemd
/// forgets it together with the unit when nothing else needs the unit. Gone with the next boot.
inline constexpr std::string_view kOutcomeDirectory = "/run/sparkplan/outcome";
std::string outcome_record(std::string_view name);

/// Mode, owner and group of a file of ours: "0644 0:0".
inline constexpr std::string_view kAttributes = "0644 0:0";

/// How far a unit is, of what systemd can say.
namespace state {
inline constexpr std::string_view kStarted = "started";
inline constexpr std::string_view kStopped = "stopped";
inline constexpr std::string_view kFailed = "failed";      ///< Also between two of its automatic restarts.
inline constexpr std::string_view kFinished = "finished";  ///< A oneshot that has run with success and is over.
inline constexpr std::string_view kSkipped = "skipped";    ///< A condition kept it from starting.
}  // namespace state

/// What systemd itself knows of a unit.
struct RunningState {
  bool exists = false;  ///< There is a unit file somewhere, or something else made the unit.
  bool up = false;      ///< Active, or on the way there.
  std::string state;    ///< One of state::
  bool settled = true;  ///< False while it is still on the way.
  bool enabled = false;
  /// False where systemd cannot say, such as while one of the unit's files is damaged: then it is left
  /// as it is.
  bool enabled_known = true;
  std::string file_state;  ///< "enabled", "static", "generated" ... Source: systemctl(1), is-enabled.
  bool needs_reload = false;
  std::string fragment;               ///< The unit file that systemd uses; may be empty.
  std::vector<std::string> drop_ins;  ///< In the order in which they are read.
  bool is_service = false;
  bool ends_by_itself = false;  ///< Type=oneshot.
  std::string incarnation;      ///< Differs after each start; a main process may hand over to another without one.
  std::string result;           ///< "success", "exit-code" ...
};

/// One unit on one node.
struct UnitState {
  std::optional<std::string> content;  ///< Of /etc/systemd/system/NAME, also a foreign one.
  std::optional<std::string> drop_in;  ///< Of our drop-in.
  std::string attributes;              ///< Of our files where they are not kAttributes; else empty.
  std::string content_attributes;      ///< Of `content` where it is foreign and they are not kAttributes.
  std::string in_the_way;              ///< What our unit file would hide, or a link in its place; else empty.
  bool restart_pending = false;
  std::string outcome;                  ///< What outcome_record() holds; empty without one.
  std::optional<RunningState> running;  ///< Nothing in an image and for a template.

  bool exists() const { return running ? running->exists || content : content || !in_the_way.empty(); }
};

/// I/O, read-only. All these units, with one question to systemd for all of them. An Error stands for
/// a single unit: masked, another name of a unit, a link in the place of our drop-in, unreadable.
std::map<std::string, Result<UnitState>> look_at_units(std::span<const std::string> names, const NodeReader& node);
Result<UnitState> look_at_unit(const std::string& name, const NodeReader& node);

/// I/O, read-only. systemd's part alone.
Result<RunningState> running_state(const std::string& name, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
