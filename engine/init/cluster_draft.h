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

/// A machine for the file, and its facts.
struct InitMachine {
  std::string given;  ///< As the user named it: "nvidia@10.0.0.11:22".
  std::string address;
  SshSettings ssh;
  std::optional<Facts> facts;  ///< Nothing: it was not read, and `error` has the reason.
  std::optional<Error> error;
  std::optional<Manifest> manifest;  ///< Nothing: sparkplan has never applied there.
  std::string host_key = {};         ///< The fingerprint that its connection has proved; empty if it was not read.
};

struct InitInput {
  std::vector<InitMachine> machines;
  std::string schema;  ///< The place of the JSON Schema for editors.
};

/// A drafted cluster.yaml.
struct DraftedFile {
  std::string text;                 ///< The whole file, with its comments.
  std::vector<Diagnostic> remarks;  ///< Notes for the user that are not in the file; without positions.
};

/// Pure. Drafts the file that changes as little as possible on these machines. It declares again everything that the
/// manifests of the nodes list as managed. It keeps existing fabric addresses, and omits entries where sparkplan
/// derives the same value. It passes load_cluster().
/// Errors: kInvalidInput (two entries are the same machine; no file may have any machine), kUnreachable (no machine was
/// read), kRefused (members of different clusters), kBug (the drafted file would not load).
Result<DraftedFile> draft_cluster(const InitInput& input, const Registry& registry);

}  // namespace sparkplan
