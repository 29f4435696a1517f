#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/shape.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"

/// Functions for types that write systemd units.
namespace sparkplan {

/// Fields of a resource that is one of our units together with its result: a mount, a connection.
namespace unit_field {
inline constexpr const char* kContent = "unit";  ///< The unit file.
inline constexpr const char* kEnabled = "enabled";
inline constexpr const char* kState = "state";
}  // namespace unit_field
/// The texts of these fields; empty without them.
std::string unit_state_in(const Observation& observation);
std::string unit_content_in(const Observation& observation);
/// The shape of their fields in a report of a node.
Shape unit_shape();
/// The unit that an Observation asks for; without any, if it is not Present.
struct WantedUnitState {
  std::optional<std::string> content;
  bool enabled = false;
  std::string state;
};
WantedUnitState wanted_unit_state(const Observation& after);

inline constexpr std::string_view kSystemUnitDirectory = "/etc/systemd/system";

/// "/etc/systemd/system/NAME"
std::string system_unit_path(std::string_view name);

/// A path as the name of a unit, as `systemd-escape --path` prints it: "/mnt/my models" is "mnt-my\x20models". Source:
/// systemd.unit(5), "String Escaping for Inclusion in Unit Names".
std::string escaped_unit_path(std::string_view path);

/// One word of a command line in a unit, quoted if necessary. "%", "$" and "\" in it are escaped, so that systemd takes
/// them literally. Source: systemd.service(5), "Command Lines".
std::string unit_command_word(std::string_view word);

/// without_specifiers() doubles each "%", which systemd would otherwise replace as a specifier; with_specifiers() is
/// the inverse.
/// Source: systemd.unit(5), "Specifiers".
std::string without_specifiers(std::string_view value);
std::string with_specifiers(std::string_view value);

/// The last value of KEY in [SECTION] of a unit's text.
std::optional<std::string> unit_setting(std::string_view text, std::string_view section, std::string_view key);

/// A unit file in /etc/systemd/system.
struct UnitFile {
  std::optional<std::string> content;  ///< Also of a foreign file.
  bool enabled = false;                ///< A link to it exists in TARGET.wants.
  /// Why our file may not take its place: the file is foreign, is not a regular file, or our file would hide one of a
  /// package. Empty otherwise.
  std::string in_the_way;

  bool ours() const;
};
/// The resource, with the fields of unit_field. `up`: what it brings about is there, in whatever `state`. An image,
/// which is not `live`, has the unit's file only.
Observation unit_observation(const UnitFile& unit, const std::string& state, bool up, bool live);

/// I/O, read-only, runs no program. `target` is the target in the unit's [Install] section.
/// Errors: as NodeReader::read_file().
Result<UnitFile> read_unit(const std::string& name, std::string_view target, const NodeReader& node);

/// I/O. `systemctl VERB -- NAME`; `name` may be empty. Errors: kFailed with the first line of systemctl's error output,
/// kUnsupported without systemd.
Result<void> systemctl(const std::string& verb, const std::string& name, Node& node);

/// I/O, read-only. True for a unit that is up, false while it starts. Errors: as NodeReader::units().
Result<bool> is_active(const std::string& name, const NodeReader& node, std::chrono::milliseconds deadline);

/// I/O. Writes the unit if it differs, enables or disables it, and reloads systemd after a change.
Result<void> write_unit(const std::string& name, const std::string& content, bool enabled, const UnitFile& now,
                        Node& node);
/// I/O. Disables the unit, removes its file and reloads systemd. The caller has stopped the unit before.
Result<void> remove_unit(const std::string& name, const UnitFile& now, Node& node);

/// I/O, read-only. The node's current time for `journalctl --since`: "@1700000000.123456". Empty if date(1) fails.
std::string journal_time(const NodeReader& node);

/// I/O, read-only. The last 20 lines of a unit's journal, or with an empty name of the kernel's. With a time from
/// journal_time(), only later lines. Empty without a journal.
std::string last_messages(const std::string& unit, const std::string& since, const NodeReader& node);

}  // namespace sparkplan
