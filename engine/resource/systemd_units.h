#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// What the types that write units of their own kind need of systemd.
namespace sparkplan {

inline constexpr std::string_view kSystemUnitDirectory = "/etc/systemd/system";

/// "/etc/systemd/system/NAME"
std::string system_unit_path(std::string_view name);

/// A path as the name of a unit, as `systemd-escape --path` gives it: "/mnt/my models" is
/// "mnt-my\x20models". Source: systemd.unit(5), "String Escaping for Inclusion in Unit Names".
std::string escaped_unit_path(std::string_view path);

/// One word of a command line in a unit, quoted where it has to be: systemd takes "%", "$" and "\" in it for
/// what they are. Source: systemd.service(5), "Command Lines".
std::string unit_command_word(std::string_view word);

/// A value in which systemd would otherwise replace specifiers: "%" is doubled, and undone.
/// Source: systemd.unit(5), "Specifiers".
std::string without_specifiers(std::string_view value);
std::string with_specifiers(std::string_view value);

/// The last value of KEY in [SECTION] of a unit's text.
std::optional<std::string> unit_setting(std::string_view text, std::string_view section, std::string_view key);

/// A unit file in /etc/systemd/system.
struct UnitFile {
  std::optional<std::string> content;  ///< Also a foreign one.
  bool enabled = false;                ///< A link in TARGET.wants leads to it.
  /// Why a file of ours may not take its place: it is foreign, is no regular file, or ours
  /// would hide one of a package's. Empty otherwise.
  std::string in_the_way;

  bool ours() const;
};
/// I/O, read-only, no program. `target` is what the unit's [Install] section names.
/// Errors: as NodeReader::read_file().
Result<UnitFile> read_unit(const std::string& name, std::string_view target, const NodeReader& node);

/// I/O. `systemctl VERB -- NAME`; `name` may be empty. Errors: kFailed with what systemctl says, kUnsupported
/// without systemd.
Result<void> systemctl(const std::string& verb, const std::string& name, Node& node);

/// I/O, read-only. True for a unit that is up, not on its way. Errors: as NodeReader::units().
Result<bool> is_active(const std::string& name, const NodeReader& node, std::chrono::milliseconds deadline);

/// I/O. Writes the unit where it differs, enables or disables it, and lets systemd read it.
Result<void> write_unit(const std::string& name, const std::string& content, bool enabled, const UnitFile& now,
                        Node& node);
/// I/O. The same for taking it away; it has to be down by now.
Result<void> remove_unit(const std::string& name, const UnitFile& now, Node& node);

/// I/O, read-only. The node's own clock, in the words of `journalctl --since`: "@1700000000.123456". Empty where it
/// does not say.
std::string journal_time(const NodeReader& node);

/// I/O, read-only. The last lines of the journal: of a unit, or with an empty name of the kernel. With a time from
/// journal_time() only what was said since then. Empty where there is no journal.
std::string last_messages(const std::string& unit, const std::string& since, const NodeReader& node);

}  // namespace sparkplan
