#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/resource/secret_artifact.h"
#include "engine/resource/shell_environment.h"
#include "resources/profile_env/profile_env.h"

namespace sparkplan::profile_env {
namespace {

std::vector<Diagnostic> check_name(const MapEntry& entry) {
  const std::string& name = entry.key;
  if (!is_variable_name(name)) {
    return {finding(Severity::kError, "profile_env.name", "\"" + name + "\" is not an environment variable name",
                    "use letters, digits and \"_\", and no digit at the beginning", entry.key_where)};
  }
  if (const auto reason = why_not_for_all_logins(name)) {
    return {finding(Severity::kError, "profile_env.refused-name",
                    name + " cannot be set for all logins: " + std::string(*reason), {}, entry.key_where)};
  }
  if (const auto risk = risk_for_all_logins(name)) {
    return {finding(Severity::kWarning, "profile_env.risky-name",
                    name + " is set for all logins: " + std::string(*risk), {}, entry.key_where)};
  }
  if (name.starts_with("NCCL_")) {
    return {finding(Severity::kWarning, "profile_env.nccl-name", name + " set here reaches login shells only",
                    "write it below nccl: env: instead", entry.key_where)};
  }
  return {};
}

std::vector<Diagnostic> check_secret_entry(const MapEntry& entry) {
  std::vector<Diagnostic> findings;
  const Value* reference = secret_reference(entry.value);
  if (reference == nullptr) {
    return {finding("profile_env.value", "an environment variable takes text, an integer or a secret",
                    "write {secret: {env: NAME}, users: [NAME]}", entry.value.where)};
  }
  if (auto fault = check_secret(*reference, "profile_env.secret")) findings.push_back(*std::move(fault));
  if (items_of(entry.value.find("users")).empty()) {
    findings.push_back(finding("profile_env.no-users", entry.key + " does not say which users may read the secret",
                               "add users: [NAME], or ssh: {user: NAME}", entry.value.where));
  }
  return findings;
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  for (const MapEntry& entry : entries_of(section)) {
    if (entry.value.is_null()) continue;
    for (Diagnostic& one : check_name(entry)) findings.push_back(std::move(one));
    if (entry.value.is_map()) {
      for (Diagnostic& one : check_secret_entry(entry)) findings.push_back(std::move(one));
      continue;
    }
    if (auto clear = warn_of_clear_secret(entry.key, entry.key_where, "profile_env.clear-secret"))
      findings.push_back(*std::move(clear));
    if (const Result<std::string> value = variable_value(entry.value); !value) {
      findings.push_back(
          finding(Severity::kError, "profile_env.value", value.error().message, value.error().hint, entry.value.where));
    }
  }
  return findings;
}

}  // namespace sparkplan::profile_env
