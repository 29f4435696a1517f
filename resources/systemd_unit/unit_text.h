#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// "foo@.service": no unit itself, only what instances are made of.
bool is_template(std::string_view name);

/// "foo@.service" for "foo@bar.service"; empty for what is no instance.
std::string template_of(std::string_view name);

/// systemd takes it for a name: something before the first "@" and before the suffix.
bool is_unit_name(std::string_view name);

/// False for slices and targets: restarting one stops everything in it.
bool can_be_restarted(std::string_view name);

/// Without this unit no connection to the node may come about any more.
bool carries_the_connection(std::string_view name);

/// What the unit does may cut the node off: it carries the connection, or filters what comes and goes, or
/// its text names a program that changes links, addresses, routes or filters. Rather too often than once
/// too seldom: what is under the safety net needlessly costs a connection.
bool may_cut_off(std::string_view name, std::string_view text);

/// The text as it stands in a file of ours: ownership header first, a newline last.
std::string render(std::string_view text);
/// The inverse of render(), but for the final newline that it adds.
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

/// Assignments in order; those before the first section have an empty one. Comments, blank lines
/// and what is no assignment are skipped.
std::vector<Assignment> parse_unit(std::string_view text);

/// The text says that its unit needs, wants, follows or triggers the unit `name`.
bool depends_on(std::string_view text, std::string_view name);

/// Something in [Install] makes links: `systemctl enable` has something to do.
bool can_be_enabled(std::string_view text);

/// The first assignment of `later`, a drop-in that systemd reads after `ours`, that takes something
/// in ours back. Lists grow instead, unless they are reset; only keys that surely hold one value count.
std::optional<Assignment> defeating(std::string_view ours, std::string_view later);

}  // namespace sparkplan::systemd_unit
