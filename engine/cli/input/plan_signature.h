#pragma once

#include <string>
#include <string_view>

#include "engine/cli/input/options.h"
#include "engine/core/result.h"

namespace sparkplan {

/// The namespace for `ssh-keygen -Y sign -n`. With it, a signature of a plan is valid for nothing else.
inline constexpr std::string_view kPlanSignatureNamespace = "sparkplan-plan";

/// Lets ssh-keygen verify that PLAN_FILE.sig signs exactly `text`. The key must be one that the file of allowed signers
/// lists for this identity. ssh-keygen reads `text` from standard input: the plan's file is not read again. Returns
/// ssh-keygen's message about the good signature, in one line. `program` is searched for like in run_and_capture().
/// Errors: kRefused for a signature that does not verify; kInvalidInput for a missing signature, file of allowed
/// signers or identity; kNotFound without the program; kFailed on timeout.
/// Source: ssh-keygen(1), -Y verify and ALLOWED SIGNERS.
Result<std::string> verify_plan_signature(std::string_view text, const std::string& plan_file,
                                          const SignerOptions& signer, const std::string& program = "ssh-keygen");

}  // namespace sparkplan
