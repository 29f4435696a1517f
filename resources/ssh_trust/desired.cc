#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/peers.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr const char* kType = "ssh_trust";

/// Findings about all nodes are reported once, by the first node that has exports and is not in maintenance. A node
/// with exports takes part in the run (FleetSession::exports()), so its desired values are made.
bool speaks_for_all(const std::vector<Peer>& peers, const std::string& self) {
  const auto first = std::ranges::find_if(peers, [](const Peer& peer) {
    return !peer.spec->maintenance && (peer.exported != nullptr || !peer.excess.empty());
  });
  return first != peers.end() && first->name() == self;
}

void add_refused_exports(const std::vector<Peer>& peers, SourceRange where, std::vector<Diagnostic>& diagnostics) {
  for (const Peer& peer : peers) {
    if (peer.excess.empty()) continue;
    diagnostics.push_back(finding(Severity::kWarning, "ssh_trust.export-refused",
                                  "the keys and addresses that " + peer.name() + " exports are refused: " + peer.excess,
                                  "find out why it exports that much; until then its lines stay unchanged on all nodes",
                                  where));
    diagnostics.back().node = peer.name();
  }
}

/// The desired state of one user on one node.
class TrustOfUser {
 public:
  TrustOfUser(const ClusterView& view, const std::vector<Peer>& peers, const Value& user)
      : view_(view),
        all_(peers),
        user_(user),
        peers_(peers_of_user(peers, *user.string())),
        homes_(peers_, *user.string()) {}
  TrustOfUser(const TrustOfUser&) = delete;
  TrustOfUser& operator=(const TrustOfUser&) = delete;

  void add_to(Desired& result) const {
    add_diagnostics(result.diagnostics, result.about_several);
    Resource resource;
    resource.id = {kType, name()};
    resource.desired = value();
    resource.where = user_.where;
    resource.reversible = Reversible::kBestEffort;
    resource.known_part_first = true;
    result.resources.push_back(std::move(resource));
  }

 private:
  const std::string& name() const { return *user_.string(); }
  std::string self() const { return view_.self.name.str(); }

  Value value() const {
    if (const auto others = sharing_our_home(); !others.empty()) {
      return refused("the home is shared with " + fold_names(others));
    }
    // All keys differ, so set() and its search are avoided: every node has as many fields as the cluster has nodes.
    Value::Map fields;
    fields.reserve(peers_.size() + all_.size() + 3);
    fields.push_back({std::string(kKeyField), std::string(kKeyType) + " " + mark_of(view_.cluster.name, self())});
    fields.push_back({std::string(kUnexpectedField), Value::list()});
    for (const Peer& peer : peers_) {
      if (!has_lost_its_key(peer)) fields.push_back({std::string(kAuthorizedPrefix) + peer.name(), authorized(peer)});
    }
    for (const Peer& peer : all_) {
      fields.push_back({std::string(kKnownHostsPrefix) + peer.name(), known_hosts(peer)});
    }
    fields.push_back({std::string(kConfigField), config()});
    return fields;
  }

  /// Changes nothing, except that lines of departed nodes are removed. A node's claim of a shared home cannot keep
  /// them.
  Value refused(const std::string& why) const {
    Value::Map fields;
    fields.push_back({std::string(kRefusedField), settled_by_what_is_there(why)});
    for (const Peer& peer : peers_) {
      if (has_lost_its_key(peer)) continue;
      fields.push_back({std::string(kAuthorizedPrefix) + peer.name(), settled_by_what_is_there(why)});
    }
    for (const Peer& peer : all_) {
      fields.push_back({std::string(kKnownHostsPrefix) + peer.name(), settled_by_what_is_there(why)});
    }
    return fields;
  }

  /// No key is made in a shared home. A key that was there may have been removed for a reason.
  bool has_lost_its_key(const Peer& peer) const {
    const Value* exported = export_of(peer, name());
    return exported != nullptr && exported->boolean_or("makes_key", false) && homes_.is_shared(peer);
  }

  Value authorized(const Peer& peer) const {
    if (homes_.is_shared(peer)) return settled_by_what_is_there("the home is shared on " + peer.name());
    const Value* exported = export_of(peer, name());
    if (exported == nullptr) return settled_by_what_is_there(peer.name() + " has not reported its key");
    const Value* told = exported->find("public_key");
    const std::string key = told == nullptr || told->string() == nullptr ? std::string() : *told->string();
    if (key.empty() && exported->boolean_or("makes_key", false)) {
      return Value::Unknown{"known after " + peer.name() + " creates its key",
                            peer.name() + "/" + kType + "/" + name()};
    }
    const std::set<std::string> addresses = source_addresses(peer, peer.name() == self());
    if (!is_ed25519_public_key(key) || addresses.empty()) {
      return settled_by_what_is_there(peer.name() + " has no usable key");
    }
    return authorized_line(addresses, key, mark_of(view_.cluster.name, peer.name()));
  }

  Value known_hosts(const Peer& peer) const {
    auto lines = known_hosts_of(peer, view_.cluster.name);
    if (!lines) return settled_by_what_is_there(peer.name() + " has not reported its host keys");
    return Value::List(std::make_move_iterator(lines->begin()), std::make_move_iterator(lines->end()));
  }

  Value config() const {
    std::set<std::string> destinations;
    for (const Peer& peer : peers_) {
      for (const Destination& destination : destinations_of(peer)) destinations.insert(to_text(destination));
    }
    return Value::List(destinations.begin(), destinations.end());
  }

  std::vector<std::string> sharing_our_home() const {
    const auto peer = std::ranges::find_if(peers_, [&](const Peer& one) { return one.name() == self(); });
    return peer == peers_.end() ? std::vector<std::string>() : homes_.sharing_with(*peer);
  }

  /// The node itself and the others, in the order of the file.
  std::vector<std::string> together(const std::vector<std::string>& others) const {
    std::vector<std::string> names;
    for (const Peer& peer : peers_) {
      const bool one = peer.name() == self() || std::ranges::find(others, peer.name()) != others.end();
      if (one) names.push_back(peer.name());
    }
    return names;
  }

  void add_diagnostics(std::vector<Diagnostic>& diagnostics, std::vector<Diagnostic>& about_several) const {
    if (const auto others = sharing_our_home(); !others.empty()) {
      diagnostics.push_back(
          finding("ssh_trust.shared-home",
                  "the home of " + name() + " is the same directory on " + fold_names(together(others)) +
                      "; sparkplan does nothing for " + name() + " there",
                  "give " + name() + " its own home on each node, or take " + name() + " out of users", user_.where));
    }
    if (speaks_for_all(peers_, self())) {
      std::vector<Peer> apart;  // A shared home has one key and its own finding.
      std::ranges::copy_if(peers_, std::back_inserter(apart),
                           [&](const Peer& peer) { return !homes_.is_shared(peer); });
      for (Diagnostic& warning : same_user_keys(apart, user_)) about_several.push_back(std::move(warning));
    }
    if (auto note = root_on_all()) about_several.push_back(*std::move(note));
  }

  /// Reported once, by the first listed node with exports, while at least one key is still to be made. Nodes in
  /// maintenance are excluded, whatever they have exported.
  std::optional<Diagnostic> root_on_all() const {
    std::vector<std::string> nodes;
    bool more_to_make = false;
    for (const Peer& peer : peers_) {
      const Value* exported = export_of(peer, name());
      if (exported == nullptr || peer.spec->maintenance) continue;
      if (exported->boolean_or("root", false)) nodes.push_back(peer.name());
      more_to_make = more_to_make || exported->boolean_or("makes_key", false);
    }
    if (!more_to_make || nodes.empty() || nodes.front() != self()) return std::nullopt;
    const std::string everywhere =
        "a login as " + name() + " on any node of the cluster gives root access to " + fold_names(nodes);
    return finding(Severity::kNote, "ssh_trust.root-on-all",
                   name() == "root" ? everywhere : name() + " may become root without a password: " + everywhere, {},
                   user_.where);
  }

  const ClusterView& view_;
  const std::vector<Peer>& all_;
  const Value& user_;
  std::vector<Peer> peers_;
  SharedHomes homes_;
};

/// The fabric's name leads to an address of the fabric, so nothing must be resolved.
bool has_fabric_name(const Peer& peer) {
  return !peer.fabric_name.empty() && peer.fabric_name_address != peer.spec->address;
}

/// The other nodes reach these only if they resolve their addresses by themselves. Every node says the same.
std::optional<Diagnostic> unresolvable(const ClusterView& view, const std::vector<Peer>& peers) {
  if (view.cluster.nodes.size() < 2) return std::nullopt;
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  bool all_on_fabric = true;
  SourceRange where;
  for (const Peer& peer : peers) {
    const NodeSpec& node = *peer.spec;
    if (node.address.empty() || means_one_machine(node.address)) continue;
    if (names.empty()) where = node.where;
    names.push_back(node.name.str());
    addresses.push_back(node.address);
    if (!has_fabric_name(peer)) all_on_fabric = false;
  }
  if (names.empty()) return std::nullopt;
  const std::string only_if = " only if they can resolve " + fold_names(addresses);
  return finding(Severity::kWarning, "ssh_trust.address-is-a-name",
                 all_on_fabric ? "on the other nodes, `ssh NODE` reaches " + fold_names(names) + only_if +
                                     "; the names on the fabric always work"
                               : "the other nodes log in to " + fold_names(names) + only_if,
                 "write names that all nodes can resolve, or IP addresses; in place of an alias of ~/.ssh/config, also "
                 "add the IP address to the alias's Host line, as in `Host spark 10.0.0.11`",
                 where);
}

}  // namespace

Desired desired_trust(const ClusterView& view, const Value& section) {
  Desired result;
  const std::vector<Peer> peers = peers_of(view);
  const std::vector<Value> users = users_of(section);
  if (!users.empty() && speaks_for_all(peers, view.self.name.str())) {
    add_refused_exports(peers, users.front().where, result.diagnostics);
    for (Diagnostic& warning : same_host_keys(peers, users.front().where)) {
      result.about_several.push_back(std::move(warning));
    }
  }
  if (auto warning = users.empty() ? std::nullopt : unresolvable(view, peers)) {
    result.about_several.push_back(*std::move(warning));
  }
  for (const Value& user : users) TrustOfUser(view, peers, user).add_to(result);
  return result;
}

}  // namespace sparkplan::ssh_trust
