#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"
#include "engine/wire/apply_messages.h"

namespace sparkplan {

/// The directory of values that a rollback may need (root, 0700). A file's name is the digest in its token.
inline constexpr std::string_view kSecretBackups = "/var/lib/sparkplan/secrets";

/// The values behind the tokens of steps: those of the request, and those of files that earlier steps replaced.
class SecretSteps {
 public:
  explicit SecretSteps(LocalNode& node) : node_(node) {}
  SecretSteps(const SecretSteps&) = delete;
  SecretSteps& operator=(const SecretSteps&) = delete;
  ~SecretSteps();

  /// Takes the values of a request. From then on this process writes no core.
  void take(const std::vector<SecretValue>& secrets);

  /// Before the first step: stores the node's key, and a copy of each secret file that `steps` will replace. Does
  /// nothing without a secret.
  /// Errors: kInvalidInput for a value that does not fit its token; as secret_key() and LocalNode::write_file().
  Result<void> prepare(const std::vector<Step>& steps);

  /// The observation with the value in place of its token. Errors: kNotFound if the value is not known any more.
  Result<Observation> opened(const Observation& observation) const;

 private:
  Result<void> check_values() const;
  Result<void> keep_copy(const Step& step);

  LocalNode& node_;
  std::map<std::string, std::string> values_;  ///< By token.
  std::string key_;
};

/// Removes the empty directories that a removed secret file leaves below /etc/sparkplan.
void remove_empty_secret_directories(const ArtifactId& removed, LocalNode& node);

/// Removes the backups that neither the manifest nor a journal mentions any more.
void remove_unused_secret_backups(LocalNode& node);

}  // namespace sparkplan
