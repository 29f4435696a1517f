#include <array>
#include <string>
#include <utility>

#include "resources/profile_env/profile_env.h"

namespace sparkplan::profile_env {
namespace {

struct SpecialName {
  std::string_view name;
  std::string_view reason;
};

/// Set for everybody, these keep people from logging in or run code in every shell.
constexpr std::array<SpecialName, 18> kRefused{{
    {"IFS", "it changes how every shell splits words"},
    {"BASH_ENV", "every bash script would run that file first"},
    {"ENV", "every shell would run that file first"},
    {"PROMPT_COMMAND", "every prompt would run it"},
    {"PS4", "bash expands it while it traces, commands included"},
    {"SHELLOPTS", "bash makes it read-only and every login prints an error"},
    {"BASHOPTS", "bash makes it read-only and every login prints an error"},
    {"BASH_VERSINFO", "bash makes it read-only and every login prints an error"},
    {"UID", "bash makes it read-only and every login prints an error"},
    {"EUID", "bash makes it read-only and every login prints an error"},
    {"PPID", "bash makes it read-only and every login prints an error"},
    {"LD_PRELOAD", "every program would load that library, sudo and ssh included"},
    {"LD_AUDIT", "every program would load that library, sudo and ssh included"},
    {"HOME", "it differs from user to user"},
    {"USER", "it differs from user to user"},
    {"LOGNAME", "it differs from user to user"},
    {"PWD", "the shell keeps it"},
    {"OLDPWD", "the shell keeps it"},
}};

constexpr std::array<SpecialName, 2> kWarned{{
    {"PATH", "the value replaces the whole search path of every login shell; $PATH in it is not expanded"},
    {"LD_LIBRARY_PATH", "every program of every login looks for its libraries there first"},
}};

Diagnostic finding(Severity severity, const char* code, std::string message, std::string hint, SourceRange where) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.where = where;
  return diagnostic;
}

std::vector<Diagnostic> check_name(const MapEntry& entry) {
  const std::string& name = entry.key;
  if (!is_name(name)) {
    return {finding(Severity::kError, "profile_env.name", "\"" + name + "\" is no name of an environment variable",
                    "letters, digits and \"_\", not beginning with a digit", entry.key_where)};
  }
  for (const SpecialName& refused : kRefused) {
    if (name != refused.name) continue;
    return {finding(Severity::kError, "profile_env.refused-name",
                    name + " cannot be set for all logins: " + std::string(refused.reason), {}, entry.key_where)};
  }
  for (const SpecialName& warned : kWarned) {
    if (name != warned.name) continue;
    return {finding(Severity::kWarning, "profile_env.risky-name",
                    name + " is set for all logins: " + std::string(warned.reason), {}, entry.key_where)};
  }
  if (name.starts_with("NCCL_")) {
    return {finding(Severity::kWarning, "profile_env.nccl-name",
                    name + " set here reaches login shells only, and is not checked",
                    "write it below nccl: env: instead", entry.key_where)};
  }
  return {};
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  if (section.entries() == nullptr) return findings;
  for (const MapEntry& entry : *section.entries()) {
    if (entry.value.is_null()) continue;
    for (Diagnostic& one : check_name(entry)) findings.push_back(std::move(one));
    if (const Result<std::string> value = resolve_value(entry.value); !value) {
      findings.push_back(
          finding(Severity::kError, "profile_env.value", value.error().message, value.error().hint, entry.value.where));
    }
  }
  return findings;
}

}  // namespace sparkplan::profile_env
