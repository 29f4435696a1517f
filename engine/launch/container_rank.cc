#include "engine/launch/container_rank.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestImage = 512;

/// They describe the node. In a container they would hide its own programs.
constexpr std::array<std::string_view, 3> kHostVariables{"PATH", "LD_LIBRARY_PATH", "HOME"};

/// Any of them decides where a program looks for models. Source: constants.py of huggingface_hub.
constexpr std::array<std::string_view, 3> kHubVariables{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"};

/// The home in the container is another one than the login user's, so the cache is named.
void name_hub_cache(RankSpec& rank, const JobRequest& request, const JobMember& member) {
  const bool is_given = std::any_of(kHubVariables.begin(), kHubVariables.end(), [&](std::string_view name) {
    return request.environment.contains(std::string(name));
  });
  if (is_given || member.hub_models.empty()) return;
  const std::string& first = member.hub_models.front();
  rank.environment["HF_HUB_CACHE"] = first.substr(0, first.rfind('/'));
}

/// A field of --mount, which is a line of CSV.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// Unlike --volume, it makes no missing directory on the node.
std::string mount_text(const BindMount& mount) {
  return "type=bind," + csv_field("source=" + mount.path) + "," + csv_field("target=" + mount.path) +
         (mount.read_only ? ",readonly" : "");
}

/// Letters, digits and what stands in names, tags and digests. Source: OCI distribution specification.
bool is_image(const std::string& name) {
  const auto is_part = [](char c) {
    return is_alphanumeric(c) || std::string_view("._-/:@").find(c) != std::string::npos;
  };
  return name.size() <= kLongestImage && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(), is_part);
}

}  // namespace

Result<void> check_container(const JobRequest& request) {
  if (request.image.empty()) return {};
  if (!is_image(request.image)) {
    return failure(ErrorCode::kInvalidInput, in_quotes(request.image) + " is no name of an image",
                   "nvcr.io/nvidia/pytorch:25.10-py3");
  }
  if (request.launcher == Launcher::kMpirun) {
    return failure(ErrorCode::kInvalidInput, "--image does not go with --launcher mpirun",
                   "mpirun needs an sshd in each container; use --launcher torchrun or none");
  }
  return {};
}

RankSpec in_container(RankSpec rank, const JobRequest& request, const JobMember& member, const std::string& id) {
  name_hub_cache(rank, request, member);
  const std::string number = std::to_string(rank.rank);
  std::vector<std::string> argv{std::string(to_string(request.engine)), "run", "--rm", "--pull=never"};
  const auto put = [&](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  put({"--name", "sparkplan-" + id + "-rank-" + number});
  put({"--label", "sparkplan.job=" + id, "--label", "sparkplan.rank=" + number});
  // Else `podman rm --force` waits ten seconds for the end of a container.
  if (request.engine == ContainerEngine::kPodman) put({"--stop-timeout", "0"});
  const auto flags = job_container_flags(request.engine, member.hardware);
  argv.insert(argv.end(), flags.begin(), flags.end());
  for (const BindMount& mount : job_mounts(*member.node, member.hub_models)) put({"--mount", mount_text(mount)});
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
