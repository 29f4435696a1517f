// The formats for containers: docker run, and Docker Compose.
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/domain/container/job_container.h"
#include "engine/export/formats.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan::formats {
namespace {

/// Compose replaces "$NAME" in values; "$$" is a dollar sign. Source: Compose specification, interpolation.
std::string compose_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? std::string("$$") : std::string(1, c);
  return public_json(Value(escaped), -1);
}

/// A project's name has lower-case letters, digits, "-" and "_". Source: Compose specification, name.
std::string project_name(const std::string& name) {
  std::string project;
  for (const char c : group_name(name)) project += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return project;
}

/// False with `mode: socket`, and without both `nccl` and a fabric: docker starts no container with a device that the
/// node lacks.
bool uses_rdma(const NodeSpec& node) {
  const auto nccl = node.sections.find("nccl");
  if (nccl != node.sections.end()) return nccl->second.text_or("mode", "safe") != "socket";
  return node.sections.contains("fabric");
}

/// The settings that every service has. Shared memory and RDMA need the host's limits; `--init` collects the zombies of
/// a server's workers; without a bound, one core dump of a model fills the disk.
constexpr std::string_view kComposeSettings = R"(    image: "${IMAGE:?set IMAGE to the image of the job}"
    profiles: [node]
    network_mode: host
    ipc: host
    init: true
    cap_add: [IPC_LOCK]
    ulimits: {memlock: -1, stack: 67108864, nofile: 1048576, core: 0}
    oom_score_adj: 800
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}
)";

}  // namespace

ExportedText docker(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  for (const NodeSpec* node : selected) {
    exported.text += "# on " + node->name.str() + "\ndocker run " +
                     join(job_container_flags(ContainerEngine::kDocker, {true, uses_rdma(*node)}), " ");
    for (const BindMount& one : job_mounts(*node)) {
      exported.text += " \\\n  -v " + shell_quote(one.path + ":" + one.path + (one.read_only ? ":ro" : ""));
    }
    for (const auto& [name, value] : variables_of(cluster, *node, hosts, registry)) {
      exported.text += " \\\n  -e " + shell_quote(name + "=" + value);
    }
    exported.text += " \\\n  \"$@\"\n";
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

ExportedText compose(const Cluster& cluster, const Hosts& hosts, const Hosts& selected, const Registry& registry) {
  ExportedText exported;
  exported.text =
      "# On each node, with its own name in place of NODE:\n#   IMAGE=... docker compose -f compose.yaml run "
      "--rm NODE COMMAND\nname: " +
      compose_text(project_name(cluster.name)) + "\nservices:\n";
  for (const NodeSpec* node : selected) {
    exported.text += "  " + compose_text(node->name.str()) + ":\n" + std::string(kComposeSettings);
    if (uses_rdma(*node)) exported.text += "    devices: [\"/dev/infiniband:/dev/infiniband\"]\n";
    const std::vector<BindMount> mounts = job_mounts(*node);
    if (!mounts.empty()) exported.text += "    volumes:\n";
    for (const BindMount& one : mounts) {
      exported.text += "      - {type: bind, source: " + compose_text(one.path) +
                       ", target: " + compose_text(one.path) + (one.read_only ? ", read_only: true" : "") + "}\n";
    }
    exported.text += "    environment:\n";
    for (const auto& [name, value] : variables_of(cluster, *node, hosts, registry)) {
      exported.text += "      " + name + ": " + compose_text(value) + "\n";
    }
  }
  exported.remarks = unknown_of(cluster, selected, registry);
  return exported;
}

}  // namespace sparkplan::formats
