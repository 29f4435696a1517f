#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/resource/secret_artifact.h"
#include "engine/resource/shell_environment.h"
#include "resources/profile_env/profile_env.h"

namespace sparkplan::profile_env {
namespace {

std::optional<Diagnostic> check_name(const MapEntry& entry) {
  if (auto wrong = check_variable_name(entry, "profile_env")) return wrong;
  if (!entry.key.starts_with("NCCL_")) return std::nullopt;
  return finding(Severity::kWarning, "profile_env.nccl-name", entry.key + " set here reaches login shells only",
                 "write it below nccl: env: instead", entry.key_where);
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
    if (auto wrong = check_name(entry)) findings.push_back(*std::move(wrong));
    if (entry.value.is_map()) {
      for (Diagnostic& one : check_secret_entry(entry)) findings.push_back(std::move(one));
      continue;
    }
    if (auto clear = warn_of_clear_secret(entry.key, entry.key_where, "profile_env.clear-secret"))
      findings.push_back(*std::move(clear));
    if (const Result<std::string> value = variable_value(entry.value); !value) {
      findings.push_back(finding("profile_env.value", value.error().message, value.error().hint, entry.value.where));
    }
  }
  return findings;
}

}  // namespace sparkplan::profile_env
