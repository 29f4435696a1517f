#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/node/node.h"

/// Environment variables as files of /etc/profile.d set them. Pure but for profile_files_after().
namespace sparkplan {

/// [A-Za-z_][A-Za-z0-9_]*
bool is_variable_name(std::string_view text);

/// Why a variable cannot be set for all logins: nobody could log in any more, every shell would run
/// code, or it differs from user to user. One clause; empty for all others.
std::optional<std::string_view> why_not_for_all_logins(std::string_view name);

/// What setting a variable for all logins does besides, where that may surprise. One clause; empty
/// for all others.
std::optional<std::string_view> risk_for_all_logins(std::string_view name);

/// `text` as one word of a POSIX shell, nothing in it expanded: 'it'\''s $HOME'.
/// Source: POSIX.1-2017, Shell Command Language, 2.2.2.
std::string shell_quote(std::string_view text);

/// A value of cluster.yaml as text: text or an integer.
/// Errors: kInvalidInput for other kinds and for newline, NUL and other control characters.
Result<std::string> variable_value(const Value& value);

/// A variable that a line sets, or takes away ("unset NAME").
struct ShellAssignment {
  std::string name;
  std::optional<std::string> value;
  int line = 0;  ///< From 1.
};

/// The assignments of a shell file that need no shell to be understood: "export NAME=value",
/// "NAME=value" and "unset NAME" with literal words. Lines that are indented belong to an `if` or a
/// function in all likelihood and are left out, as is whatever the shell would expand.
std::vector<ShellAssignment> parse_shell_assignments(std::string_view content);

/// A file that a login shell reads after one of ours.
struct ProfileFile {
  std::string path;
  std::string content;
};

/// I/O, read-only. "*.sh" in the directory of `own_file` after it in the order of bytes.
/// Errors: kPermissionDenied and others: what cannot be read might override us.
Result<std::vector<ProfileFile>> profile_files_after(const std::filesystem::path& own_file, const NodeReader& node);

/// What is left of a variable once all of `files` have been read.
struct LaterAssignment {
  std::optional<std::string> value;  ///< Empty: it is unset.
  std::string source;                ///< "/etc/profile.d/zz.sh:3"
  std::string message;               ///< One clause: "sets it to 'x' and is read later".
};
std::optional<LaterAssignment> last_assignment(std::string_view name, std::span<const ProfileFile> files);

}  // namespace sparkplan
