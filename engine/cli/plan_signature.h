#pragma once

#include <string>
#include <string_view>

#include "engine/cli/commands.h"
#include "engine/core/result.h"

namespace sparkplan {

/// What `ssh-keygen -Y sign -n` is given, so that a signature of a plan is one of nothing else.
inline constexpr std::string_view kPlanSignatureNamespace = "sparkplan-plan";

/// Has ssh-keygen verify that PLAN_FILE.sig signs exactly `text`, by a key that the file of allowed signers has for
/// this identity. `text` goes to its standard input: the plan's file is not read again. Returns what ssh-keygen printed
/// of the good signature, in one line. `program` is looked up as run_and_capture() does.
/// Errors: kRefused for a signature that does not verify; kInvalidInput for a missing signature, file of allowed
/// signers or identity; kNotFound without the program; kFailed when it does not end in time. Source: ssh-keygen(1), -Y
/// verify and ALLOWED SIGNERS.
Result<std::string> verify_plan_signature(std::string_view text, const std::string& plan_file,
                                          const SignerOptions& signer, const std::string& program = "ssh-keygen");

}  // namespace sparkplan
