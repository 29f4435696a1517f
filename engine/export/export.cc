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
  return {"ssh-config", "hostfile", "torchrun", "env", "docker", "ansible", "slurm", "prometheus", "topology"};
}

namespace {

Result<std::string> text_in_format(const Cluster& cluster, std::string_view format, const Registry& registry) {
  if (format == "topology") return formats::topology(cluster);
  formats::Hosts hosts;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.transport == TransportKind::kSsh) hosts.push_back(&node);
  }
  if (hosts.empty()) {
    return failure(ErrorCode::kInvalidInput, "all nodes have transport local: there is no host to export");
  }
  if (format == "ssh-config") return formats::ssh_config(hosts);
  if (format == "hostfile") return formats::hostfile(hosts);
  if (format == "torchrun") return formats::torchrun(hosts);
  if (format == "env") return formats::environment(cluster, hosts, registry);
  if (format == "docker") return formats::docker(cluster, hosts, registry);
  if (format == "ansible") return formats::ansible(cluster, hosts);
  if (format == "slurm") return formats::slurm(cluster, hosts);
  if (format == "prometheus") return formats::prometheus(cluster, hosts);
  return failure(ErrorCode::kInvalidInput, "there is no format " + std::string(format), joined(export_formats()));
}

}  // namespace

Result<std::string> export_cluster(const Cluster& cluster, std::string_view format, const Registry& registry) {
  SPARK_TRY(auto text, text_in_format(cluster, format, registry));
  if (printable(text, true) == text) return text;
  return failure(ErrorCode::kInvalidInput, "a setting has characters in it that no format can show",
                 "take control characters and invisible ones out of identity and env");
}

}  // namespace sparkplan
