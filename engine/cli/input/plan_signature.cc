#include "engine/cli/input/plan_signature.h"

#include <sys/stat.h>

#include <vector>

#include "engine/core/text.h"
#include "engine/process/child_process.h"
#include "engine/process/own_user.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kPatience{30};
/// ssh-keygen prints a line or two.
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// The path that users of git and ssh-keygen already have.
std::string allowed_signers_of(const SignerOptions& signer) {
  if (!signer.allowed_signers.empty()) return signer.allowed_signers;
  const auto user = own_user();
  return user ? user->home + "/.ssh/allowed_signers" : std::string();
}

std::string in_one_line(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  return printable(join(lines, "; "));
}

Result<void> check_files(const std::string& signature, const std::string& allowed, const SignerOptions& signer) {
  if (signer.identity.empty())
    return failure(ErrorCode::kInvalidInput, "--allowed-signers is given without --signed-by",
                   "name the signer with --signed-by IDENTITY, as in the file of allowed signers");
  if (!is_regular_file(signature)) {
    return failure(
        ErrorCode::kInvalidInput, "the plan has no signature: there is no file " + signature,
        "read the plan, then sign it: ssh-keygen -Y sign -n " + std::string(kPlanSignatureNamespace) + " -f KEY PLAN");
  }
  if (!is_regular_file(allowed)) {
    return failure(ErrorCode::kInvalidInput, "there is no file of allowed signers " + allowed,
                   "make it, with a line \"IDENTITY KEYTYPE KEY\" per signer, or name another: --allowed-signers PATH");
  }
  return {};
}

}  // namespace

Result<std::string> verify_plan_signature(std::string_view text, const std::string& plan_file,
                                          const SignerOptions& signer, const std::string& program) {
  const std::string signature = plan_file + ".sig";
  const std::string allowed = allowed_signers_of(signer);
  SPARK_CHECK(check_files(signature, allowed, signer));
  const std::vector<std::string> command{
      program, "-Y",    "verify", "-n",     std::string(kPlanSignatureNamespace), "-I", signer.identity,
      "-f",    allowed, "-s",     signature};
  CaptureLimits limits{kPatience, kMostBytes};
  limits.standard_input = text;
  auto verified = run_and_capture(command, limits);
  if (!verified) {
    Error error = std::move(verified).error();
    if (error.code == ErrorCode::kNotFound) error.hint = "install openssh-client: ssh-keygen verifies signatures";
    if (error.code == ErrorCode::kUnreachable) error.code = ErrorCode::kFailed;
    return failure(std::move(error));
  }
  if (verified->exit_status == 0) return in_one_line(verified->standard_output);
  return failure(ErrorCode::kRefused,
                 "the plan is not signed by " + signer.identity + ": " +
                     in_one_line(verified->standard_error + "\n" + verified->standard_output),
                 "it was edited after it was signed, signed for another purpose, or signed by a key that " + allowed +
                     " does not list for this identity: read it with `sparkplan show`");
}

}  // namespace sparkplan
