#include "engine/launch/container_rank.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sparkplan {
namespace {

/// Any of them decides where a program looks for models. Source: constants.py of huggingface_hub.
constexpr std::array<std::string_view, 3> kHubVariables{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"};

/// The home in the container is another one than the login user's, so the cache is named.
void name_hub_cache(RankSpec& rank, const JobRequest& request, const JobMember& member) {
  const bool is_given = std::ranges::any_of(
      kHubVariables, [&](std::string_view name) { return request.environment.contains(std::string(name)); });
  if (is_given || member.hub_models.empty()) return;
  const std::string& first = member.hub_models.front();
  rank.environment["HF_HUB_CACHE"] = first.substr(0, first.rfind('/'));
}

}  // namespace

Result<void> check_container(const JobRequest& request) {
  if (request.image.empty()) return {};
  SPARK_CHECK(check_image_name(request.image));
  if (request.launcher == Launcher::kMpirun) {
    return failure(ErrorCode::kInvalidInput, "--image does not go with --launcher mpirun",
                   "mpirun needs an sshd in each container; use --launcher torchrun or none");
  }
  return {};
}

RankSpec in_container(RankSpec rank, const JobRequest& request, const JobMember& member, const std::string& id) {
  name_hub_cache(rank, request, member);
  auto argv =
      container_words(request.engine, id, rank.rank, member.hardware, job_mounts(*member.node, member.hub_models));
  const auto put = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  if (!request.directory.empty()) put({"--workdir", request.directory});
  // Without a value: the client takes it from its own environment.
  put({"--env", std::string(kJobVariable)});
  for (const auto& [name, value] : rank.environment) {
    const bool of_host = std::find(kHostVariables.begin(), kHostVariables.end(), name) != kHostVariables.end();
    if (!of_host) put({"--env", name});
    // The client itself needs those of the node.
    if (of_host && request.environment.contains(name)) put({"--env", name + "=" + value});
  }
  // The process starter reads their values on the node; a user without that secret passes on nothing.
  for (const std::string& name : member.secrets) {
    if (!rank.environment.contains(name)) put({"--env", name});
  }
  for (const std::string_view name : kHostVariables) rank.environment.erase(std::string(name));
  argv.push_back(request.image);
  argv.insert(argv.end(), rank.argv.begin(), rank.argv.end());
  rank.argv = std::move(argv);
  return rank;
}

}  // namespace sparkplan
