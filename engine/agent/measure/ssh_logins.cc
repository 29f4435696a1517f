#include "engine/agent/measure/measurements.h"

#include <chrono>
#include <string>
#include <vector>

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kLoginDeadline{20};
constexpr std::size_t kMaxComplaint = 2'000;

std::vector<std::string> login(const std::string& user, const SshLoginRequest::Target& target) {
  // A connection shared with an earlier login would prove nothing.
  return {"runuser",
          "-u",
          user,
          "--",
          "ssh",
          "-n",
          "-T",
          "-x",
          "-a",
          "-o",
          "BatchMode=yes",
          "-o",
          "StrictHostKeyChecking=yes",
          "-o",
          "ConnectTimeout=8",
          "-o",
          "ControlMaster=no",
          "-o",
          "ControlPath=none",
          "-o",
          "UpdateHostKeys=no",
          "-p",
          std::to_string(target.port),
          "--",
          target.host,
          "true"};
}

}  // namespace

Result<SshLoginReply> try_logins(const SshLoginRequest& request, const NodeReader& node,
                                 const std::function<bool()>& stop_asked) {
  SshLoginReply reply;
  for (const auto& target : request.targets) {
    if (stop_asked()) {
      reply.logins.push_back({false, "stopped"});
      continue;
    }
    const auto argv = login(request.user, target);
    auto output = node.query(argv, kLoginDeadline);
    if (!output && output.error().code == ErrorCode::kUnreachable) {
      reply.logins.push_back({false, "ssh: the login did not finish in time: Connection timed out"});
      continue;
    }
    // The other machine decides what ssh prints, and must not decide about the remaining logins.
    if (!output && output.error().code == ErrorCode::kFailed) {
      reply.logins.push_back({false, "ssh: " + output.error().describe().substr(0, kMaxComplaint)});
      continue;
    }
    if (!output) return failure(std::move(output).error());
    const bool succeeded = output->exit_status == 0;
    reply.logins.push_back({succeeded, succeeded ? "" : output->standard_error.substr(0, kMaxComplaint)});
  }
  return reply;
}

}  // namespace sparkplan
