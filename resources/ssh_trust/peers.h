#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/resource/resource_type.h"
#include "resources/ssh_trust/trust_text.h"

// What a node has to know of the others. All of it is pure.

namespace sparkplan::ssh_trust {

/// One node as another one sees it.
struct Peer {
  const NodeSpec* spec = nullptr;
  const Value* exported = nullptr;     ///< Null when it was not asked, could not answer, or says too much.
  std::string fabric_name;             ///< "spark-02-fabric"; empty when no address goes with it.
  std::string fabric_name_address;     ///< What the fabric name stands for.
  std::string excess;                  ///< Why its export is refused; empty when it is not, or there is none.
  std::set<std::string> own;           ///< The addresses that it exports, canonical, without those of other nodes.
  bool has_fixed_address = false;      ///< The file's addresses are all that it connects from.
  std::set<std::string> shared_names;  ///< Those that other nodes have as well; only the port tells them apart.

  const std::string& name() const { return spec->name.str(); }
};

/// All nodes with this section that can be logged in to, the node itself among them, as the file has
/// them. The suffix of fabric names is the node's own, as in its /etc/hosts. What a node exports is taken within
/// the limits of export_limits.h, and an address of another node in the file is not taken for its own.
std::vector<Peer> peers_of(const ClusterView& view);

/// Those of them that list the user.
std::vector<Peer> peers_of_user(const std::vector<Peer>& peers, const std::string& user);

/// The user's part of what the peer exports; null when there is none.
const Value* export_of(const Peer& peer, const std::string& user);

/// Where the peer's logins may come from, canonical: the addresses in the file; also those that it
/// exports, if the one in the file is a name, has a zone or is none of them (then it is behind an
/// address translation). On itself (`local`) also the loopback addresses.
std::set<std::string> source_addresses(const Peer& peer, bool local);

/// The lines about its host keys; nothing when they are not known now.
std::optional<std::vector<std::string>> known_hosts_of(const Peer& peer, const std::string& cluster);

std::vector<Destination> destinations_of(const Peer& peer);

/// Which of a user's homes are one and the same directory. Both nodes have to describe it as the same, and show that
/// they see the same private key in it: a node that only knows of another's home cannot claim it. While neither
/// has a key there, a description is enough.
class SharedHomes {
 public:
  /// Of those who list the user. The peers are used as long as this is.
  SharedHomes(const std::vector<Peer>& peers_of_user, const std::string& user);

  /// Whether `peer` shares the home with anybody.
  bool is_shared(const Peer& peer) const;
  /// The nodes with which `peer` shares it, in the order of the file.
  std::vector<std::string> sharing_with(const Peer& peer) const;

 private:
  const Value* home_of(const Peer& peer) const;

  const std::vector<Peer>& peers_;
  const std::string& user_;
  /// The homes by each text that two descriptions of one have in common, sorted by it: nobody is compared with all.
  std::vector<std::pair<std::string_view, const Value*>> by_text_;
};

}  // namespace sparkplan::ssh_trust
