#include "resources/ssh_trust/peers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/ssh_trust.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::size_t kMostRemarks = 32;
constexpr std::size_t kMostNames = 8;  ///< In a remark: the lines may come from other software.

/// Key to the nodes that have it, in the order of the file.
using Holders = std::map<std::string, std::vector<std::string>>;

void add(Holders& holders, std::string key, const std::string& node) {
  std::vector<std::string>& nodes = holders[std::move(key)];
  if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
}

/// Keys that are shared by the same nodes make one finding.
std::vector<std::vector<std::string>> groups_in(const Holders& holders) {
  std::vector<std::vector<std::string>> groups;
  for (const auto& [key, nodes] : holders) {
    if (nodes.size() > 1 && std::ranges::find(groups, nodes) == groups.end()) groups.push_back(nodes);
  }
  return groups;
}

/// The words "TYPE BASE64" of an authorized_keys line with an ed25519 key; empty for other lines.
std::string key_in(std::string_view line) {
  constexpr std::string_view kKeyType = "ssh-ed25519 ";
  const std::size_t at = line.find(kKeyType);
  if (at == std::string_view::npos) return {};
  const std::size_t end = line.find(' ', at + kKeyType.size());
  std::string key(line.substr(at, end == std::string_view::npos ? end : end - at));
  return is_ed25519_public_key(key) ? key : std::string();
}

}  // namespace

std::vector<Diagnostic> same_user_keys(const std::vector<Peer>& peers_of_user, const Value& user) {
  const std::string name = user.string() == nullptr ? std::string() : *user.string();
  Holders holders;
  for (const Peer& peer : peers_of_user) {
    const Value* exported = export_of(peer, name);
    std::string key = exported == nullptr ? std::string() : exported->text_or("public_key", "");
    if (is_ed25519_public_key(key)) add(holders, std::move(key), peer.name());
  }
  std::vector<Diagnostic> findings;
  for (const auto& nodes : groups_in(holders)) {
    findings.push_back(
        finding(Severity::kWarning, "ssh_trust.same-key",
                fold_names(nodes) + " have the same key for " + name +
                    ": removing one of them from the file does not revoke its access to the others",
                "compare ~/.ssh/sparkplan_ed25519.pub of " + name +
                    " on them, as a node can report any key; delete the key on each copy, then apply: each creates its "
                    "own key",
                user.where));
  }
  return findings;
}

std::vector<Diagnostic> same_host_keys(const std::vector<Peer>& peers, SourceRange where) {
  Holders holders;
  for (const Peer& peer : peers) {
    if (peer.exported == nullptr) continue;
    for (std::string& key : texts_in(peer.exported->find("host_keys"))) {
      if (is_public_key(key)) add(holders, std::move(key), peer.name());
    }
  }
  std::vector<Diagnostic> findings;
  for (const auto& nodes : groups_in(holders)) {
    findings.push_back(finding(Severity::kWarning, "ssh_trust.same-host-key",
                               fold_names(nodes) + " have the same host key: each can impersonate the others",
                               "compare /etc/ssh/ssh_host_*_key.pub on them, as a node can report any key; on each "
                               "copy, delete /etc/ssh/ssh_host_*_key* and create new ones with ssh-keygen -A",
                               where));
  }
  return findings;
}

std::vector<ForeignClaim> same_key_remarks(const std::string& user, const AuthorizedLines& lines) {
  Holders holders;
  for (const auto& [node, line] : lines.of_node) {
    if (std::string key = key_in(line); !key.empty()) add(holders, std::move(key), node);
  }
  std::vector<ForeignClaim> remarks;
  for (const auto& [key, nodes] : holders) {
    for (const std::string& node : nodes) {
      if (nodes.size() < 2 || remarks.size() >= kMostRemarks) continue;
      std::vector<std::string> others = nodes;
      std::erase(others, node);
      others.resize(std::min(others.size(), kMostNames));
      remarks.push_back({{"ssh_trust", user},
                         std::string(kAuthorizedPrefix) + node,
                         Value(),
                         "~" + user + "/.ssh/authorized_keys",
                         "accepts for " + node + " a key that is also the key of " + fold_names(others),
                         true});
    }
  }
  return remarks;
}

}  // namespace sparkplan::ssh_trust
