#pragma once

#include <optional>
#include <string>

#include "engine/cli/input/options.h"
#include "engine/core/result.h"
#include "engine/load/load.h"
#include "engine/plan/saved_plan.h"
#include "engine/report/exit_code.h"

namespace sparkplan {

/// The bytes of a file that holds a saved plan, read once. Nothing if the file holds something else or cannot be
/// opened: it then does not count as a missing plan. The content decides what a file is, never its name.
/// Errors: kInvalidInput when it is larger than any plan; kFailed when it cannot be read to its end.
Result<std::optional<std::string>> read_plan_text(const std::string& path);

/// A plan from a file, with the cluster of its embedded cluster.yaml.
struct OpenedPlan {
  SavedPlan plan;
  LoadedCluster loaded;
  std::string signature;  ///< ssh-keygen's message about its signature; empty if no signature was required.
};

/// Reads a plan once and verifies its signature if one is required. Only then it decodes the same bytes and loads the
/// embedded cluster.yaml. It reads only the plan, its signature and the file of allowed signers, whatever the plan
/// contains. It contacts no node. Nothing if the file holds no plan.
/// Errors: those of read_plan_text(), verify_plan_signature(), decode_saved_plan() and check_belongs(); kInvalidInput
/// for a cluster.yaml that cannot be loaded, or for a file without a plan if a signature is required.
Result<std::optional<OpenedPlan>> open_saved_plan(const std::string& path, const SignerOptions& signer);

/// Why a file that open_saved_plan() found no plan in is none: it is missing, unreadable, empty or something else.
Error why_no_saved_plan(const std::string& path);

/// The exit code for an error of open_saved_plan(): kRefused for a signature that does not verify, else kUsage.
ExitCode exit_code_of_plan(const Error& error);

/// Checks that a plan may be written there: the path must be free or hold a saved plan. Errors: kInvalidInput.
Result<void> check_plan_destination(const std::string& path);

/// Writes by rename, so that no reader sees an incomplete plan; mode 0600, because a plan contains the texts of files.
/// Errors: kInvalidInput for a plan that is too large to be read again; kPermissionDenied, kFailed.
Result<void> write_saved_plan(const std::string& path, SavedPlan plan);

}  // namespace sparkplan
