#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/fleet/session/selection.h"
#include "engine/model/cluster.h"
#include "engine/model/plan.h"
#include "engine/remote/keys/secret.h"
#include "engine/resource/secret_artifact.h"
#include "engine/wire/apply_messages.h"

namespace sparkplan {

/// A reference to a secret that nodes of a run need.
struct NeededSecret {
  Value reference;
  SourceRange where;
  bool one_line = false;  ///< It becomes an environment variable, which cannot contain a line break.
};

/// Pure. The references of the nodes that take part, each once, in the order of the file.
std::vector<NeededSecret> needed_secrets(const Cluster& cluster, const Selection& selection);

/// Pure. The commands among them, for the question before a saved plan runs them.
std::vector<std::string> secret_commands(const std::vector<NeededSecret>& needed);

/// The values of a cluster's secrets, in locked memory. Only `plan` and `apply` read them, once, before any node is
/// contacted.
class ClusterSecrets : public SecretValues {
 public:
  struct Reading {
    std::stop_token stop;
    std::chrono::milliseconds deadline{60'000};
    /// Called before a command runs, with its text.
    std::function<void(const std::string& command)> progress = {};
  };

  /// I/O. Reads each source once. The findings are errors for sources that cannot be used, and warnings.
  std::vector<Diagnostic> read(const std::vector<NeededSecret>& needed, const Cluster& cluster, const Reading& reading);

  std::string token(const Value& reference, std::string_view key) const override;

  /// The values that these steps of a node write, and no other: a node never receives another node's secrets.
  std::vector<SecretValue> values_for(const std::vector<Step>& steps, const NodeSpec& node, std::string_view key) const;

 private:
  std::map<std::string, Secret> values_;  ///< By digest() of the reference.
};

/// Puts the tokens that were last applied in the place of unread ones: a command that reads no secret compares the node
/// with what was applied there.
void put_last_applied_secrets(Value& desired, const Value* last_applied);

}  // namespace sparkplan
