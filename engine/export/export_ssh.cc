// The formats for tools that log in to the nodes: OpenSSH and Ansible.
#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/core/ascii.h"
#include "engine/export/formats.h"
#include "engine/model/address.h"

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

/// In a HostName "%" begins a token, so the "%" of a link-local address's zone is escaped.
std::string host_name(const std::string& address) {
  std::string name;
  for (const char c : address) name += c == '%' ? std::string("%%") : std::string(1, c);
  return name;
}

bool consists_of(std::string_view word, std::string_view marks) {
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), [&](char c) {
    return is_alphanumeric(c) || marks.find(c) != std::string_view::npos;
  });
}

/// A word without a meaning for a shell, for Ansible or as a token of OpenSSH.
bool is_plain_word(std::string_view word) { return consists_of(word, "._/:@+~-"); }

/// A name that ssh reads as a name alone, both after Host and after ProxyJump.
bool is_host_word(std::string_view name) { return consists_of(name, "._-") && name != "none"; }

/// The target of a node, or the settings of cluster.yaml for a node without a target. Its `jumps` are then unknown.
SshTarget target_for(const NodeSpec& node, const SshTargets& targets) {
  if (const auto found = targets.find(node.name.str()); found != targets.end()) return found->second;
  SshTarget target;
  target.address = node.address;
  target.user = node.ssh.user;
  target.port = node.ssh.port;
  if (!node.ssh.identity.empty()) target.identities.push_back(node.ssh.identity);
  return target;
}

/// The lines of a Host block. `jumps` is its ProxyJump.
std::string block_of(const SshTarget& target, const std::string& jumps, HostKeyPolicy policy) {
  std::string text = "  HostName " + host_name(target.address) + "\n";
  if (!target.user.empty()) text += "  User " + ssh_word(target.user) + "\n";
  text += "  Port " + std::to_string(target.port) + "\n";
  for (const std::string& identity : target.identities) text += "  IdentityFile " + ssh_word(identity) + "\n";
  if (target.only_identities) text += "  IdentitiesOnly yes\n";
  if (!target.host_key_alias.empty()) text += "  HostKeyAlias " + ssh_word(target.host_key_alias) + "\n";
  if (!target.known_hosts.empty()) text += "  UserKnownHostsFile";
  for (const std::string& file : target.known_hosts) text += " " + ssh_word(file);
  if (!target.known_hosts.empty()) text += "\n";
  if (!jumps.empty()) text += "  ProxyJump " + jumps + "\n";
  return text + "  StrictHostKeyChecking " + (policy == HostKeyPolicy::kStrict ? "yes" : "accept-new") + "\n";
}

/// The names of the jump hosts in an exported configuration. ssh takes the key of a jump host only from a Host block
/// that matches the word after ProxyJump, so each jump host is named by such a block.
class JumpNames {
 public:
  JumpNames(const Hosts& nodes, const SshTargets& targets) : nodes_(nodes), targets_(targets) {}

  /// The value of ProxyJump for a node; empty: none.
  std::string list_of(const NodeSpec& node) {
    const std::vector<SshTarget> jumps = target_for(node, targets_).jumps;
    if (jumps.empty()) return node.ssh.jump;
    std::string list;
    for (const SshTarget& jump : jumps) list += (list.empty() ? "" : ",") + name_of(jump, list.empty(), node);
    return list;
  }

  /// The Host blocks of the jump hosts that are no nodes of the configuration.
  std::string blocks() const {
    std::string text;
    for (const auto& [name, block] : blocks_) text.append("Host ").append(name).append("\n").append(block);
    return text;
  }

 private:
  std::string name_of(const SshTarget& jump, bool is_first, const NodeSpec& behind) {
    for (const NodeSpec* node : nodes_) {
      const SshTarget target = target_for(*node, targets_);
      const bool same = target.address == jump.address && target.port == jump.port && target.user == jump.user;
      // ssh follows the ProxyJump in the block of the first jump host, and replaces the ProxyJump of all others.
      const bool direct = target.jumps.empty() && node->ssh.jump.empty();
      if (same && (direct || !is_first) && is_host_word(node->name.str())) return node->name.str();
    }
    const std::string block = block_of(jump, "", behind.ssh.host_keys);
    const std::string base = is_host_word(jump.name) ? jump.name : "jump";
    for (std::size_t number = 1;; ++number) {
      std::string name = base + (number == 1 ? "" : "-" + std::to_string(number));
      if (is_node(name)) continue;
      const auto [at, is_new] = blocks_.try_emplace(name, block);
      if (is_new || at->second == block) return name;
    }
  }

  bool is_node(const std::string& name) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeSpec* node) { return node->name.str() == name; });
  }

  const Hosts& nodes_;
  const SshTargets& targets_;
  std::map<std::string, std::string> blocks_;  ///< Name -> lines.
};

/// The command that connects through a jump host with the keys of that host. Nothing if a word would need quotes: the
/// text is read by Ansible, by ssh and by a shell.
std::optional<std::string> proxy_command(const SshTarget& jump) {
  std::vector<std::string> words{"-p", std::to_string(jump.port)};
  if (!jump.user.empty()) words.insert(words.end(), {"-l", jump.user});
  for (const std::string& identity : jump.identities) words.insert(words.end(), {"-i", identity});
  // ssh takes the word behind an option as its value, and the last word as the host.
  std::string command = "ssh -W '[%h]:%p'";
  for (const std::string& word : words) {
    if (word != "-p" && word != "-l" && word != "-i" && !is_plain_word(word)) return std::nullopt;
    command += " " + word;
  }
  if (!is_plain_word(jump.address)) return std::nullopt;
  return command + " " + jump.address;
}

/// The value of ansible_ssh_common_args for a node with jump hosts.
std::string jump_arguments(const NodeSpec& node, const SshTarget& target, std::vector<std::string>& remarks) {
  const auto& jumps = target.jumps;
  const bool with_keys = std::ranges::any_of(jumps, [](const SshTarget& jump) { return !jump.identities.empty(); });
  if (!with_keys) return "-o ProxyJump=" + node.ssh.jump;
  // For several jump hosts, each command would be quoted inside the next one.
  if (const auto command = jumps.size() == 1 ? proxy_command(jumps.front()) : std::nullopt) {
    return "-o ProxyCommand=\"" + *command + "\"";
  }
  remarks.push_back(node.name.str() + ": the inventory cannot name the keys of " + node.ssh.jump +
                    ": load them with `ssh-add`, or name them in the ~/.ssh/config of Ansible's machine");
  return "-o ProxyJump=" + node.ssh.jump;
}

}  // namespace

std::string jump_list(const std::vector<SshTarget>& jumps) {
  std::string list;
  for (const SshTarget& jump : jumps) {
    if (!list.empty()) list += ",";
    if (!jump.user.empty()) list += jump.user + "@";
    list += bracketed(jump.address) + ":" + std::to_string(jump.port);
  }
  return list;
}

std::string ssh_config(const Hosts& hosts, const SshTargets& targets) {
  JumpNames names(hosts, targets);
  std::string text;
  for (const NodeSpec* node : hosts) {
    text += "Host " + node->name.str() + "\n" +
            block_of(target_for(*node, targets), names.list_of(*node), node->ssh.host_keys);
  }
  return text + names.blocks();
}

ExportedText ansible(const Cluster& cluster, const Hosts& hosts, const SshTargets& targets) {
  ExportedText exported;
  std::string& text = exported.text;
  text = "all:\n  children:\n    " + group_name(cluster.name) + ":\n      hosts:\n";
  for (const NodeSpec* node : hosts) {
    text += "        " + json_text(node->name.str()) + ":\n";
    text += "          ansible_host: " + json_text(node->address) + "\n";
    text += "          ansible_port: " + std::to_string(node->ssh.port) + "\n";
    if (!node->ssh.user.empty()) text += "          ansible_user: " + json_text(node->ssh.user) + "\n";
    if (!node->ssh.identity.empty()) {
      text += "          ansible_ssh_private_key_file: " + json_text(node->ssh.identity) + "\n";
    }
    if (!node->ssh.jump.empty()) {
      text += "          ansible_ssh_common_args: " +
              json_text(jump_arguments(*node, target_for(*node, targets), exported.remarks)) + "\n";
    }
  }
  return exported;
}

}  // namespace sparkplan::formats
