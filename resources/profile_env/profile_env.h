#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// Environment variables of login shells: `profile_env: {NAME: value}`. Everything in this header is
/// pure but later_profile_files() and the type itself.
namespace sparkplan::profile_env {

inline constexpr std::string_view kProfileDirectory = "/etc/profile.d";
inline constexpr std::string_view kOwnFile = "/etc/profile.d/sparkplan-env.sh";

/// [A-Za-z_][A-Za-z0-9_]*
bool is_name(std::string_view text);

/// `text` as one word of a POSIX shell, nothing in it expanded: 'it'\''s $HOME'.
/// Source: POSIX.1-2017, Shell Command Language, 2.2.2.
std::string quote(std::string_view text);

/// A value of cluster.yaml as text: text or an integer.
/// Errors: kInvalidInput for other kinds and for newline, NUL and other control characters.
Result<std::string> resolve_value(const Value& value);

/// A variable that a line sets, or takes away ("unset NAME").
struct Assignment {
  std::string name;
  std::optional<std::string> value;
  int line = 0;  ///< From 1.
};

/// The assignments of a shell file that need no shell to be understood: "export NAME=value",
/// "NAME=value" and "unset NAME" with literal words. Lines that are indented belong to an `if` or a
/// function in all likelihood and are left out, as is whatever the shell would expand.
std::vector<Assignment> parse_file(std::string_view content);

/// Our whole file, header included; parse_file() gives back every variable. Names and values must
/// have passed is_name() and resolve_value().
std::string render_file(const std::map<std::string, std::string>& variables);

/// A file of the same directory that a login shell reads after ours.
struct ProfileFile {
  std::string path;
  std::string content;
};

/// I/O, read-only. "*.sh" of /etc/profile.d after our own in the order of bytes.
/// Errors: kPermissionDenied and others: what cannot be read might override us.
Result<std::vector<ProfileFile>> later_profile_files(const NodeReader& node);

/// Pure. Names outside their grammar, names no login survives, values no file of ours can hold.
std::vector<Diagnostic> validate_section(const Value& section);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::profile_env
