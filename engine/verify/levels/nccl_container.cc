#include "engine/verify/levels/nccl_container.h"

#include <initializer_list>
#include <utility>

#include "engine/remote/transport/remote_commands.h"
#include "engine/verify/verify_context.h"

namespace sparkplan {
namespace {

/// Between SIGTERM and SIGKILL: the program has nothing to save.
constexpr std::int64_t kGraceMs = 500;

}  // namespace

StartJob container_job(const RankContainer& container, const std::string& id) {
  const std::string program = program_file(RemoteProgram::kNcclRank);
  auto argv = container_words(container.engine, id, 0, container.hardware, {{program, true}});
  const auto put = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  // The mark of the job is passed on from the client's environment.
  put({"--interactive", "--env", std::string(kJobVariable), "--entrypoint", program, container.image, "--stdio"});
  StartJob job;
  job.id = id;
  job.ranks.push_back({0, std::move(argv), {}, true});
  job.grace_ms = kGraceMs;
  job.containers.engine = std::string(to_string(container.engine));
  return job;
}

Result<std::string> new_container_id() {
  const auto token = new_token();
  if (token.empty()) return failure(ErrorCode::kFailed, "this machine has no random numbers for the id of a container");
  return "verify-" + token;
}

}  // namespace sparkplan
