#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"
#include "resources/ssh_trust/trust_text.h"

// Each node's view of the other nodes. Everything here is pure.
namespace sparkplan::ssh_trust {

/// One node as another one sees it.
struct Peer {
  const NodeSpec* spec = nullptr;
  const Value* exported = nullptr;  ///< Null if not requested, failed, or over the limits.
  std::string fabric_name;          ///< "spark-02-fabric"; empty without an address for it.
  std::string fabric_name_address;  ///< The address of fabric_name.
  std::string excess;               ///< Why the export is refused; empty if it is not.
  std::set<std::string> own;        ///< Exported addresses, canonical. Before use, other nodes' addresses are removed.
  bool has_fixed_address = false;   ///< It connects only from the file's addresses.
  std::set<std::string> shared_names;  ///< Names that other nodes also have; the port differs.

  const std::string& name() const { return spec->name.str(); }
};

/// All nodes with this section that accept logins, including the node itself, in the order of the file. Fabric names
/// have the node's own suffix, as in its /etc/hosts. Exports over the limits of exports.h are refused, and so are
/// exported addresses that the file gives to another node.
std::vector<Peer> peers_of(const ClusterView& view);

/// The peers that list the user.
std::vector<Peer> peers_of_user(const std::vector<Peer>& peers, const std::string& user);

/// The user's part of the peer's export; null without one.
const Value* export_of(const Peer& peer, const std::string& user);

/// The source addresses of the peer's logins, canonical: its addresses in the file. Unless has_fixed_address, its
/// exported addresses are added. On the node itself (`local`), the loopback addresses are added.
std::set<std::string> source_addresses(const Peer& peer, bool local);

/// One known_hosts line per host key; nothing while no valid key is known.
std::optional<std::vector<std::string>> known_hosts_of(const Peer& peer, const std::string& cluster);

/// The names and addresses at which the peer is reached: its own first, then those of the fabric, each once.
std::vector<Destination> destinations_of(const Peer& peer);

/// Finds homes of one user that are the same directory on several nodes. Both nodes must describe it alike and show the
/// same private key in it. So a node cannot claim a home that it only knows about. While neither home has a key, the
/// description is enough.
class SharedHomes {
 public:
  /// `peers_of_user` are the peers that list the user. Peers and user must outlive this object.
  SharedHomes(const std::vector<Peer>& peers_of_user, const std::string& user);

  /// Whether `peer` shares its home with another node.
  bool is_shared(const Peer& peer) const;
  /// The nodes with which `peer` shares it, in the order of the file.
  std::vector<std::string> sharing_with(const Peer& peer) const;

 private:
  const Value* home_of(const Peer& peer) const;

  const std::vector<Peer>& peers_;
  const std::string& user_;
  /// The homes by each of their identities_of(), sorted by text: this avoids comparing all pairs.
  std::vector<std::pair<std::string_view, const Value*>> by_text_;
};

// Several nodes may have the same key: they were made from one image, or a node claims another node's key. The two
// cases look the same. No claim removes another node's access: each key is accepted under its own node's name and
// addresses. But removing one node from the file does not revoke a key that another node has, so it is reported.

/// Warnings about keys of the user that more than one node exports.
std::vector<Diagnostic> same_user_keys(const std::vector<Peer>& peers_of_user, const Value& user);

/// Warnings about host keys that more than one node exports.
std::vector<Diagnostic> same_host_keys(const std::vector<Peer>& peers, SourceRange where);

/// Remarks on lines in a user's block that accept one key for several nodes, including departed nodes.
std::vector<ForeignClaim> same_key_remarks(const std::string& user, const AuthorizedLines& lines);

}  // namespace sparkplan::ssh_trust
