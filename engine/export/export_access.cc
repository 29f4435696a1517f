// The formats for tools that reach the nodes: OpenSSH, Ansible, Slurm, Prometheus.
#include "engine/core/ascii.h"
#include "engine/core/json.h"
#include "engine/export/formats.h"

namespace sparkplan::formats {
namespace {

/// Source: ssh_config(5): arguments with blanks in double quotes, in which a backslash escapes.
std::string ssh_word(const std::string& text) {
  if (text.find_first_of(" \t\"'\\#") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

/// A text as JSON, which is also valid YAML.
std::string json_text(const std::string& text) { return public_json(Value(text), -1); }

/// Ansible uses group names as variable names: letters, digits and "_".
std::string group_name(const std::string& name) {
  std::string group;
  for (const char c : name) {
    group += is_alphanumeric(c) ? c : '_';
  }
  // Ansible has groups of these names, and in Slurm DEFAULT is not a partition.
  const bool taken = group == "all" || group == "ungrouped" || group == "DEFAULT";
  return taken || group.empty() || is_digit(group.front()) ? "cluster_" + group : group;
}

/// In a HostName "%" begins a token, so the "%" of a link-local address's zone is escaped.
std::string host_name(const std::string& address) {
  std::string name;
  for (const char c : address) name += c == '%' ? std::string("%%") : std::string(1, c);
  return name;
}

bool is_ipv6(const std::string& address) { return address.find(':') != std::string::npos; }

constexpr int kNodeExporterPort = 9100;
/// Source: NVIDIA, DGX Spark hardware overview: 10 Cortex-X925 and 10 Cortex-A725.
constexpr int kCoresOfASpark = 20;

}  // namespace

std::string ssh_config(const Hosts& hosts) {
  std::string text;
  for (const NodeSpec* node : hosts) {
    const SshSettings& ssh = node->ssh;
    text += "Host " + node->name.str() + "\n  HostName " + host_name(node->address) + "\n";
    if (!ssh.user.empty()) text += "  User " + ssh_word(ssh.user) + "\n";
    text += "  Port " + std::to_string(ssh.port) + "\n";
    if (!ssh.identity.empty()) text += "  IdentityFile " + ssh_word(ssh.identity) + "\n";
    if (!ssh.jump.empty()) text += "  ProxyJump " + ssh.jump + "\n";
    text += std::string("  StrictHostKeyChecking ") + (ssh.host_keys == HostKeyPolicy::kStrict ? "yes" : "accept-new") +
            "\n";
  }
  return text;
}

std::string ansible(const Cluster& cluster, const Hosts& hosts) {
  std::string text = "all:\n  children:\n    " + group_name(cluster.name) + ":\n      hosts:\n";
  for (const NodeSpec* node : hosts) {
    text += "        " + json_text(node->name.str()) + ":\n";
    text += "          ansible_host: " + json_text(node->address) + "\n";
    text += "          ansible_port: " + std::to_string(node->ssh.port) + "\n";
    if (!node->ssh.user.empty()) text += "          ansible_user: " + json_text(node->ssh.user) + "\n";
    if (!node->ssh.identity.empty()) {
      text += "          ansible_ssh_private_key_file: " + json_text(node->ssh.identity) + "\n";
    }
    if (!node->ssh.jump.empty()) {
      text += "          ansible_ssh_common_args: " + json_text("-o ProxyJump=" + node->ssh.jump) + "\n";
    }
  }
  return text;
}

ExportedText slurm(const Cluster& cluster, const Hosts& hosts, const Hosts& selected) {
  const std::string group = group_name(cluster.name);
  const bool sparks = cluster.profile == "dgx-spark";
  std::string text = "ClusterName=" + group + "\nSlurmctldHost=" + hosts.front()->name.str() + "(" +
                     data_address(*hosts.front(), hosts) + ")\nGresTypes=gpu\n";
  std::string names;
  for (const NodeSpec* node : selected) {
    text += "NodeName=" + node->name.str() + " NodeHostname=" + node->name.str() +
            " NodeAddr=" + data_address(*node, hosts);
    if (sparks) text += " CPUs=" + std::to_string(kCoresOfASpark);
    text += " Gres=gpu:1 State=UNKNOWN\n";
    names += (names.empty() ? "" : ",") + node->name.str();
  }
  text += "PartitionName=" + group + " Nodes=" + names + " Default=YES State=UP\n";
  text += "# /etc/slurm/gres.conf of each node:\n# Name=gpu File=/dev/nvidia0\n";
  const std::string only_nodes = sparks ? "RealMemory" : "CPUs and RealMemory";
  return {text,
          {"add " + only_nodes + " to each NodeName as `slurmd -C` prints them there: only the node knows its memory",
           "NodeHostname must be what `hostname -s` prints on the node; its default is the name in cluster.yaml"}};
}

std::string prometheus(const Cluster& cluster, const Hosts& hosts) {
  std::string text;
  for (const NodeSpec* node : hosts) {
    const std::string host = is_ipv6(node->address) ? "[" + node->address + "]" : node->address;
    text += std::string(text.empty() ? "" : ",\n") + "  {\"targets\": [" +
            json_text(host + ":" + std::to_string(kNodeExporterPort)) +
            "], \"labels\": {\"cluster\": " + json_text(cluster.name) + ", \"node\": " + json_text(node->name.str()) +
            "}}";
  }
  return "[\n" + text + "\n]\n";
}

}  // namespace sparkplan::formats
