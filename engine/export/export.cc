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

enum class Purpose : std::uint8_t {
  kAccess,   ///< To reach the hosts, also those in maintenance.
  kJob,      ///< As for `run`, a host in maintenance has no rank.
  kDrawing,  ///< Of all nodes, also of those that are no hosts.
};

struct Format {
  std::string_view name;
  ExportedText (*text_of)(const Exported& from);
  Purpose purpose = Purpose::kAccess;
};

/// A format with the environment of a job.
template <auto kText>
ExportedText of_job(const Exported& from) {
  return kText(from.cluster, from.hosts, from.selected, from.registry);
}

/// In the order of the manual.
constexpr auto kFormats = std::to_array<Format>({
    {"ssh-config", [](const Exported& from) { return ExportedText{formats::ssh_config(from.selected, from.targets)}; }},
    {"hostfile", [](const Exported& from) { return ExportedText{formats::hostfile(from.hosts, from.selected)}; },
     Purpose::kJob},
    {"torchrun", of_job<formats::torchrun>, Purpose::kJob},
    {"env", of_job<formats::environment>, Purpose::kJob},
    {"mpirun", of_job<formats::mpirun>, Purpose::kJob},
    {"vllm", of_job<formats::vllm>, Purpose::kJob},
    {"ray", of_job<formats::ray>, Purpose::kJob},
    {"docker", of_job<formats::docker>, Purpose::kJob},
    {"compose", of_job<formats::compose>, Purpose::kJob},
    {"ansible", [](const Exported& from) { return formats::ansible(from.cluster, from.selected, from.targets); }},
    {"slurm", [](const Exported& from) { return formats::slurm(from.cluster, from.hosts, from.selected); },
     Purpose::kJob},
    {"prometheus", [](const Exported& from) { return ExportedText{formats::prometheus(from.cluster, from.selected)}; }},
    {"hosts", [](const Exported& from) { return formats::hosts_file(from.cluster, from.selected, from.registry); }},
    {"topology", [](const Exported& from) { return ExportedText{formats::topology(from.cluster)}; }, Purpose::kDrawing},
    {"svg", [](const Exported& from) { return ExportedText{formats::svg(from.cluster)}; }, Purpose::kDrawing},
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
  const auto found = std::ranges::find_if(kFormats, [&](const Format& one) { return one.name == format; });
  if (found == kFormats.end()) {
    return failure(ErrorCode::kInvalidInput, "there is no format " + std::string(format), joined(export_formats()));
  }
  formats::Hosts hosts;
  formats::Hosts selected;
  std::vector<std::string> in_maintenance;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.transport != TransportKind::kSsh) continue;
    const bool is_selected = !selects || selects(node);
    if (node.maintenance && found->purpose == Purpose::kJob) {
      if (is_selected) in_maintenance.push_back(node.name.str());
      continue;
    }
    hosts.push_back(&node);
    if (is_selected) selected.push_back(&node);
  }
  if (selected.empty() && found->purpose != Purpose::kDrawing) {
    return failure(ErrorCode::kInvalidInput,
                   in_maintenance.empty() ? "all selected nodes have transport local: there is no host to export"
                                          : "all selected hosts are in maintenance: no host is left for a job",
                   in_maintenance.empty() ? "" : "remove `maintenance: true` from the file");
  }
  ExportedText exported = found->text_of({cluster, hosts, selected, registry, targets});
  if (!in_maintenance.empty())
    exported.remarks.push_back("left out, as in `run`: " + fold_first_names(in_maintenance) + " in maintenance");
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
