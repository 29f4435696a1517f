#pragma once

#include <optional>
#include <string>

#include "engine/cli/commands.h"
#include "engine/core/result.h"
#include "engine/load/load.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan {

/// The bytes of a file that holds a saved plan, read once; nothing when it holds something else, or cannot be opened:
/// then it is not a plan that is missing. What a file is says its content, never its name.
/// Errors: kInvalidInput when it is larger than any plan; kFailed when it cannot be read to its end.
Result<std::optional<std::string>> read_plan_text(const std::string& path);

/// A plan from a file, with the cluster of the cluster.yaml in it.
struct OpenedPlan {
  SavedPlan plan;
  LoadedCluster loaded;
  std::string signature;  ///< What ssh-keygen printed of its signature; empty when none was asked for.
};

/// Reads a plan once, has its signature verified where one is asked for, and only then decodes these same bytes, and
/// loads the cluster.yaml in it. No file but those two and the file of allowed signers is read, whatever the plan
/// says; nothing is contacted. Nothing when the file holds no plan.
/// Errors: those of read_plan_text(), verify_plan_signature(), decode_saved_plan() and check_belongs(); kInvalidInput
/// for a cluster.yaml that cannot be loaded, and for a signature asked of what is no plan.
Result<std::optional<OpenedPlan>> open_saved_plan(const std::string& path, const SignerOptions& signer);

/// The exit code for an error of open_saved_plan(): kRefused for a signature that does not verify, else kUsage.
ExitCode exit_code_of_plan(const Error& error);

/// Whether a plan may be written there: where nothing is, or a saved plan. Errors: kInvalidInput.
Result<void> check_plan_destination(const std::string& path);

/// By rename, so that nobody ever reads half of it; 0600, because it holds the texts of files.
/// Errors: kInvalidInput for a plan that is too large to be read again; kPermissionDenied, kFailed.
Result<void> write_saved_plan(const std::string& path, const SavedPlan& plan);

}  // namespace sparkplan
