#include "engine/export/export.h"

#include <algorithm>
#include <array>

#include "engine/core/text.h"
#include "engine/export/formats.h"

namespace sparkplan {
namespace {

bool is_printable(const std::string& text) { return printable(text, true) == text; }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The input of a format.
struct Exported {
  const Cluster& cluster;
  const formats::Hosts& hosts;     ///< In the order of their ranks.
  const formats::Hosts& selected;  ///< The hosts to print.
  const Registry& registry;
  const SshTargets& targets;
};

struct Format {
  std::string_view name;
  ExportedText (*text_of)(const Exported& from);
  bool is_drawing = false;  ///< Of all nodes, also of those that are no hosts.
};

/// A format with the environment of a job.
template <auto kText>
ExportedText of_job(const Exported& from) {
  return kText(from.cluster, from.hosts, from.selected, from.registry);
}

/// In the order of the manual.
constexpr auto kFormats = std::to_array<Format>({
    {"ssh-config", [](const Exported& from) { return ExportedText{formats::ssh_config(from.selected, from.targets)}; }},
    {"hostfile", [](const Exported& from) { return ExportedText{formats::hostfile(from.hosts, from.selected)}; }},
    {"torchrun", of_job<formats::torchrun>},
    {"env", of_job<formats::environment>},
    {"mpirun", of_job<formats::mpirun>},
    {"vllm", of_job<formats::vllm>},
    {"ray", of_job<formats::ray>},
    {"docker", of_job<formats::docker>},
    {"compose", of_job<formats::compose>},
    {"ansible", [](const Exported& from) { return formats::ansible(from.cluster, from.selected, from.targets); }},
    {"slurm", [](const Exported& from) { return formats::slurm(from.cluster, from.hosts, from.selected); }},
    {"prometheus", [](const Exported& from) { return ExportedText{formats::prometheus(from.cluster, from.selected)}; }},
    {"hosts", [](const Exported& from) { return formats::hosts_file(from.cluster, from.selected, from.registry); }},
    {"topology", [](const Exported& from) { return ExportedText{formats::topology(from.cluster)}; }, true},
    {"svg", [](const Exported& from) { return ExportedText{formats::svg(from.cluster)}; }, true},
});

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
    node.ssh.jump = formats::jump_list(target.jumps);
  }
  return cluster;
}

}  // namespace

std::vector<std::string> export_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

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
  const auto found = std::ranges::find_if(kFormats, [&](const Format& one) { return one.name == format; });
  if (found == kFormats.end()) {
    return failure(ErrorCode::kInvalidInput, "there is no format " + std::string(format), joined(export_formats()));
  }
  if (selected.empty() && !found->is_drawing) {
    return failure(ErrorCode::kInvalidInput, "all selected nodes have transport local: there is no host to export");
  }
  ExportedText exported = found->text_of({cluster, hosts, selected, registry, targets});
  if (is_printable(exported.text)) return exported;
  std::vector<std::string> concerned;
  for (const NodeSpec* node : selected) {
    if (!is_printable(found->text_of({cluster, hosts, {node}, registry, targets}).text))
      concerned.push_back(node->name.str());
  }
  const std::string of_nodes = concerned.empty() ? "" : " of " + fold_first_names(concerned);
  return failure(ErrorCode::kInvalidInput, "a setting" + of_nodes + " contains characters that no format can represent",
                 "remove control characters and invisible ones from identity and env");
}

}  // namespace sparkplan
