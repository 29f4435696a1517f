#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

/// Unit names and the text of unit files. Everything here is pure.
namespace sparkplan::systemd_unit {

inline constexpr std::string_view kUnitDirectory = "/etc/systemd/system";
inline constexpr std::string_view kDropInFile = "90-sparkplan.conf";
/// The first of these hides the same name in the others. Source: systemd.unit(5), "Unit File Load Path".
inline constexpr std::string_view kOtherDirectories[] = {"/run/systemd/system", "/usr/local/lib/systemd/system",
                                                         "/usr/lib/systemd/system", "/lib/systemd/system"};

/// "/etc/systemd/system/NAME"
std::string unit_path(std::string_view name);
/// "/etc/systemd/system/NAME.d/90-sparkplan.conf"
std::string drop_in_path(std::string_view name);

/// "foo@.service": not a unit itself, only the source of its instances.
bool is_template(std::string_view name);

/// "foo@.service" for "foo@bar.service"; empty for other names.
std::string template_of(std::string_view name);

/// A name that systemd accepts: it has text before the first "@" and before the suffix.
bool is_unit_name(std::string_view name);

/// False for slices and targets: a restart would stop everything in them.
bool can_be_restarted(std::string_view name);

/// Without this unit, the node may accept no connection.
bool carries_the_connection(std::string_view name);

/// The unit may cut the node off: it carries the connection, filters packets, or its text names a program that changes
/// links, addresses, routes or filters. True rather too often: a needless trial costs only a reconnection.
bool may_cut_off(std::string_view name, std::string_view text);

/// The text as in our file: ownership header first, a newline last.
std::string render(std::string_view text);
/// The inverse of render(), except for the final newline that it adds.
std::string without_header(std::string_view file);

/// The file begins with our ownership header.
bool is_ours(std::string_view file);

/// One "Key=value" of a unit file. Source: systemd.syntax(7).
struct Assignment {
  std::string section;
  std::string key;
  std::string value;  ///< Continuation lines joined with a blank; empty resets a list.
  int line = 0;       ///< From 1.
};

/// Assignments in order; those before the first section have an empty one. Comments, blank lines and other lines are
/// skipped.
std::vector<Assignment> parse_unit(std::string_view text);

/// The first of parse_unit(), without a list of all: `init` validates texts of nodes.
std::optional<Assignment> first_assignment(std::string_view text);

/// The names of `units` that the unit with this text needs, wants, follows or triggers. A node can word the text, so it
/// is read once, line by line.
std::set<std::string_view> dependencies_among(const std::set<std::string_view>& units, std::string_view text);

/// [Install] has a setting from which `systemctl enable` makes links.
bool can_be_enabled(std::string_view text);

/// The first setting in `ours` that `later` changes back, with its last value there. `later` is a drop-in that systemd
/// reads after `ours`. Only keys that certainly have one value count, and lists that `later` resets; other lists grow.
std::optional<Assignment> defeating(std::string_view ours, std::string_view later);

/// Pure. Reports names that systemd refuses, texts that are no unit file, and fields that the unit cannot have: a
/// template that runs, or an enabled unit without [Install]. Also reports units that must not stop because they carry
/// the connection, and targets that end the system.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::systemd_unit
