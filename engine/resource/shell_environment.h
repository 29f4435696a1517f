#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/node/node.h"
#include "engine/resource/config_files.h"

/// Environment variables as files of /etc/profile.d set them. Pure except for profile_files_after().
namespace sparkplan {

/// [A-Za-z_][A-Za-z0-9_]*
bool is_variable_name(std::string_view text);

/// The finding about a text that is no name of a variable, has more than kLongestWordName bytes, or is a variable that
/// must not or should not be set for all logins: logins would fail, every shell would run code, or the value differs
/// from user to user. The code of the finding begins with `section`.
std::optional<Diagnostic> check_variable_name(const MapEntry& entry, const std::string& section);

/// `text` as one word of a POSIX shell, without any expansion: 'it'\''s $HOME'.
std::string shell_quote(std::string_view text);

/// A value of cluster.yaml as text: text or an integer.
/// Errors: kInvalidInput for other kinds and for newline, NUL and other control characters.
Result<std::string> variable_value(const Value& value);

/// A variable that a line sets or removes ("unset NAME").
struct ShellAssignment {
  std::string name;
  std::optional<std::string> value;
  int line = 0;  ///< From 1.
};

/// The assignments of a shell file that can be understood without a shell: "export NAME=value", "NAME=value" and "unset
/// NAME" with literal words. Indented lines are left out, because they probably belong to an `if` or a function. Lines
/// with expansions are left out, too.
std::vector<ShellAssignment> parse_shell_assignments(std::string_view content);

/// I/O, read-only. The "*.sh" files in the directory of `own_file` that follow it in byte order. Errors: as
/// read_config_files().
Result<std::vector<ConfigFile>> profile_files_after(const std::filesystem::path& own_file, const NodeReader& node);

/// The effect of `files` on one variable, after all of them have been read.
struct LaterAssignment {
  std::optional<std::string> value;  ///< Nothing: it is unset.
  std::string source;                ///< "/etc/profile.d/zz.sh:3"
  std::string message;               ///< One clause: "sets it to 'x' and is read later".
};
std::optional<LaterAssignment> last_assignment(std::string_view name, std::span<const ConfigFile> files);

}  // namespace sparkplan
