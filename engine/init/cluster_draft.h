#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/manifest.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A machine that is to be in the file, and what is known of it.
struct InitMachine {
  std::string given;  ///< As the user named it: "nvidia@10.0.0.11:22".
  std::string address;
  SshSettings ssh;
  std::optional<Facts> facts;  ///< Nothing: it was not read, and `error` says why.
  std::optional<Error> error;
  std::optional<Manifest> manifest;  ///< Nothing: sparkplan has never written there.
};

struct InitInput {
  std::vector<InitMachine> machines;
  std::string schema;  ///< Where editors find the JSON Schema of the file.
};

/// A cluster.yaml in the making.
struct DraftedFile {
  std::string text;                 ///< The whole file, with its comments.
  std::vector<Diagnostic> remarks;  ///< What the user should know beyond the file; without positions.
};

/// Pure. The file that changes as little as possible on these machines: what the nodes' own manifests say is managed
/// is asked for again, fabric addresses that are there are kept, and what derives the same is left to derive. It
/// passes load_cluster().
/// Errors: kInvalidInput (two machines are one; no machine was read), kRefused (members of different clusters),
/// kBug (the file made would not load).
Result<DraftedFile> draft_cluster(const InitInput& input, const Registry& registry);

}  // namespace sparkplan
