#include "engine/domain/container/job_container.h"

#include <algorithm>

#include "engine/core/tree.h"
#include "engine/domain/storage/storage.h"

namespace sparkplan {
namespace {

void add(std::vector<BindMount>& mounts, BindMount mount) {
  const bool included =
      std::any_of(mounts.begin(), mounts.end(), [&](const BindMount& one) { return is_within(mount.path, one.path); });
  if (!mount.path.empty() && !included) mounts.push_back(std::move(mount));
}

}  // namespace

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

}  // namespace sparkplan
