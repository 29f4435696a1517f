#include "engine/domain/container/job_container.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/storage/storage.h"

namespace sparkplan {
namespace {

void add(std::vector<BindMount>& mounts, BindMount mount) {
  const bool included =
      std::any_of(mounts.begin(), mounts.end(), [&](const BindMount& one) { return is_within(mount.path, one.path); });
  if (!mount.path.empty() && !included) mounts.push_back(std::move(mount));
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

constexpr std::size_t kLongestImage = 512;

/// Letters, digits and what stands in names, tags and digests. Source: OCI distribution specification.
bool is_image(const std::string& name) {
  const auto is_part = [](char c) {
    return is_alphanumeric(c) || std::string_view("._-/:@").find(c) != std::string::npos;
  };
  return !name.empty() && name.size() <= kLongestImage && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(), is_part);
}

}  // namespace

Result<void> check_image_name(const std::string& name) {
  if (is_image(name)) return {};
  return failure(ErrorCode::kInvalidInput, in_quotes(name) + " is no name of an image",
                 "nvcr.io/nvidia/pytorch:25.10-py3");
}

std::vector<BindMount> job_mounts(const NodeSpec& node, const std::vector<std::string>& hub_models) {
  std::vector<BindMount> mounts;
  // NCCL in the container reads the container's file.
  if (node.sections.contains("nccl")) add(mounts, {"/etc/nccl.conf", true});
  if (const auto storage = node.sections.find("storage"); storage != node.sections.end()) {
    for (const StorageMount& mount : storage_mounts(storage->second)) add(mounts, {mount.target, mount.read_only()});
  }
  if (const auto models = node.sections.find("models"); models != node.sections.end()) {
    for (const Value& record : items_of(models->second)) add(mounts, {record.text_or("path", ""), false});
  }
  // Read-only: a program could change a blob under its digest, and no node would notice.
  for (const std::string& directory : hub_models) add(mounts, {directory, true});
  return mounts;
}

std::vector<std::string> job_container_flags(ContainerEngine engine, const ContainerHardware& hardware) {
  const bool docker = engine == ContainerEngine::kDocker;
  std::vector<std::string> flags;
  const auto put = [&](std::initializer_list<const char*> words) {
    flags.insert(flags.end(), words.begin(), words.end());
  };
  if (hardware.gpus && docker) put({"--gpus", "all"});
  if (hardware.gpus && !docker) put({"--device", "nvidia.com/gpu=all", "--security-opt", "label=disable"});
  // `--init` collects the zombies of a server's workers.
  put({"--network", "host", "--ipc", "host", "--init"});
  if (hardware.rdma) put({"--device", "/dev/infiniband"});
  put({"--cap-add", "IPC_LOCK"});
  if (docker) put({"--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--ulimit", "nofile=1048576"});
  // Without a bound, one core dump of a model fills the disk. For podman, the process starter sets that limit.
  if (docker) put({"--ulimit", "core=0"});
  put({"--oom-score-adj", "800"});
  return flags;
}

std::vector<std::string> container_words(ContainerEngine engine, const std::string& id, int rank,
                                         const ContainerHardware& hardware, const std::vector<BindMount>& mounts) {
  const std::string number = std::to_string(rank);
  std::vector<std::string> words{std::string(to_string(engine)), "run", "--rm", "--pull=never"};
  const auto put = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  put({"--name", "sparkplan-" + id + "-rank-" + number});
  put({"--label", kContainerLabel + ("=" + id), "--label", kRankLabel + ("=" + number)});
  // Else `podman rm --force` waits ten seconds for the end of a container.
  if (engine == ContainerEngine::kPodman) put({"--stop-timeout", "0"});
  const auto flags = job_container_flags(engine, hardware);
  words.insert(words.end(), flags.begin(), flags.end());
  for (const BindMount& mount : mounts) put({"--mount", mount_text(mount)});
  return words;
}

}  // namespace sparkplan
