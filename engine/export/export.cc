#include "engine/export/export.h"

#include "engine/core/text.h"
#include "engine/export/formats.h"

namespace sparkplan {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

std::vector<std::string> export_formats() {
  return {"ssh-config", "hostfile", "torchrun", "env",        "mpirun", "vllm",     "ray", "docker",
          "compose",    "ansible",  "slurm",    "prometheus", "hosts",  "topology", "svg"};
}

namespace {

Result<ExportedText> text_in_format(const Cluster& cluster, std::string_view format, const Registry& registry,
                                    const formats::Hosts& hosts, const formats::Hosts& selected,
                                    const SshTargets& targets) {
  if (format == "ssh-config") return ExportedText{formats::ssh_config(selected, targets)};
  if (format == "hostfile") return ExportedText{formats::hostfile(hosts, selected)};
  if (format == "torchrun") return ExportedText{formats::torchrun(hosts, selected)};
  if (format == "env") return formats::environment(cluster, hosts, selected, registry);
  if (format == "mpirun") return formats::mpirun(cluster, hosts, selected, registry);
  if (format == "vllm") return formats::vllm(cluster, hosts, selected, registry);
  if (format == "ray") return formats::ray(cluster, hosts, selected, registry);
  if (format == "docker") return formats::docker(cluster, hosts, selected, registry);
  if (format == "compose") return formats::compose(cluster, hosts, selected, registry);
  if (format == "ansible") return ExportedText{formats::ansible(cluster, selected)};
  if (format == "slurm") return formats::slurm(cluster, hosts, selected);
  if (format == "prometheus") return ExportedText{formats::prometheus(cluster, selected)};
  if (format == "hosts") return formats::hosts_file(cluster, selected, registry);
  return failure(ErrorCode::kInvalidInput, "there is no format " + std::string(format), joined(export_formats()));
}

/// The cluster with the addresses and logins of the user's own configuration.
Cluster reached_at(Cluster cluster, const SshTargets& targets) {
  for (NodeSpec& node : cluster.nodes) {
    const auto found = targets.find(node.name.str());
    if (found == targets.end()) continue;
    const SshTarget& target = found->second;
    node.address = target.address;
    node.ssh.user = target.user;
    node.ssh.port = target.port;
    node.ssh.identity = target.identities.empty() ? "" : target.identities.front();
    node.ssh.jump = target.jump;
  }
  return cluster;
}

}  // namespace

Result<ExportedText> export_cluster(const Cluster& declared, std::string_view format, const Registry& registry,
                                    const std::function<bool(const NodeSpec&)>& selects, const SshTargets& targets) {
  const Cluster cluster = reached_at(declared, targets);
  formats::Hosts hosts;
  formats::Hosts selected;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.transport != TransportKind::kSsh) continue;
    hosts.push_back(&node);
    if (!selects || selects(node)) selected.push_back(&node);
  }
  ExportedText exported;
  if (format == "topology") {
    exported.text = formats::topology(cluster);
  } else if (format == "svg") {
    exported.text = formats::svg(cluster);
  } else if (selected.empty()) {
    return failure(ErrorCode::kInvalidInput, "all selected nodes have transport local: there is no host to export");
  } else {
    SPARK_TRY(exported, text_in_format(cluster, format, registry, hosts, selected, targets));
  }
  if (printable(exported.text, true) == exported.text) return exported;
  return failure(ErrorCode::kInvalidInput, "a setting contains characters that no format can represent",
                 "remove control characters and invisible ones from identity and env");
}

}  // namespace sparkplan
