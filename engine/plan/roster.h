#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// The data seen in this run of the machines behind the file's nodes, by the node's name in the file.
struct Machine {
  std::string host_key;    ///< Empty: not seen in this run, or a local node.
  std::string machine_id;  ///< As the node reports it.
  std::string known_as;    ///< The name in the machine's own manifest; empty without one.
};
using Machines = std::map<std::string, Machine>;

/// The rosters in the nodes' manifests, by the node's name in the file; null for a node without a manifest. Several
/// nodes may share one object; it is then compared once.
using Rosters = std::map<std::string, const Roster*>;

/// A member that half or fewer of the manifests list. The only consequence is a warning.
struct UnsupportedMember {
  std::string name;
  std::vector<std::string> listed_by;  ///< Nodes whose manifest lists it, by their names in the file.
};

/// By id and name: the order of the file and of a manifest has no meaning.
void sort_members(Roster& roster);

/// The roster that the manifests of one cluster agree on. With three or more nodes, a single node decides nothing.
struct AgreedRoster {
  /// The uuid and the members that more than half of the manifests name. Each field of a member has the value in more
  /// than half of all manifests, and is empty without such a value. The generation is the highest that more than half
  /// have reached.
  Roster roster;
  /// The uuids in the manifests that count, with the number of those: more than one uuid if the cluster was begun
  /// twice.
  std::map<std::string, std::size_t> uuids;
  std::size_t manifests = 0;  ///< The number of all that count.
  /// Nodes whose manifest belongs to another cluster than the majority's, by name. kRefused. In a tie, all nodes with a
  /// manifest. Rosters of one cluster with different uuids (is_one_cluster()) count together, for the most frequent
  /// uuid.
  std::map<std::string, Error> refused;
  /// Members in manifests that are not older than `roster`, but in at most half of all manifests.
  std::vector<UnsupportedMember> unsupported;
};

/// Pure. Empty rosters are not counted.
AgreedRoster agree_on_roster(const Rosters& rosters);

/// Pure. Moves members that the file no longer names from `agreed` to `unsupported` if fewer than two manifests list
/// them. So the manifest of one machine decides nothing once the file names two nodes.
/// Returns the removed entries.
std::vector<RosterEntry> require_two_witnesses(AgreedRoster& agreed, const Rosters& rosters, const Cluster& cluster,
                                               const Machines& machines);

/// Pure. If fewer than two manifests are of the cluster `roster`, and the file names two nodes: keeps only the members
/// of the file, and clears their host keys and machine-ids, except those in `machines` of the node with the manifest.
/// Otherwise an apply would write one machine's word about another into all manifests, where it would stay.
void keep_marks_of_many(Roster& roster, const Rosters& rosters, const Cluster& cluster, const Machines& machines);

/// A warning "roster.unsupported-member" for each set of nodes that list the same members; it names the first five.
std::vector<Diagnostic> warnings_of(const std::vector<UnsupportedMember>& unsupported, const std::string& hint);

/// The entry has the address, port, jump host and directory of this node of the file. False for an entry without a
/// place.
bool is_at_the_same_place(const RosterEntry& member, const NodeSpec& node);

/// The machine has the recorded host key. A local node has none: its machine-id and the name in its manifest are used
/// instead.
bool is_the_same_machine(const RosterEntry& member, const Machine& machine);

/// Members of `roster` that the file no longer names. A member is still in the file under its name, at its address, or
/// as a machine whose host key was seen in this run. A local node has no host key: its machine-id and the name in its
/// manifest are used instead.
std::vector<RosterEntry> departed_members(const Roster& roster, const Cluster& cluster, const Machines& machines);

/// The roster after a successful apply: the file's nodes, plus departed members except those in `released`. Members in
/// `consented` are marked `leaving`. The generation grows only when something differs. Machine data not seen in this
/// run is copied from `previous`. `new_uuid` is used when `previous` has none.
Roster next_roster(const Roster& previous, const Cluster& cluster, const Machines& machines,
                   const std::set<std::string>& released, const std::set<std::string>& consented,
                   const std::string& new_uuid);

/// Pure. The form of `next` for one node's manifest. A departed member stays as in that manifest, so that no other
/// manifest can clear or change its record. A member of the file keeps this manifest's host key and machine-id where
/// `next` has none, for the same reason. `single_witness`: members that only this manifest may list; it keeps them.
/// A departed member without an address is not added to manifests that lack it.
Roster roster_of_node(const Roster& next, const Roster& own, const Cluster& cluster,
                      const std::vector<RosterEntry>& single_witness);

/// Errors: kRefused when the roster belongs to another cluster than `cluster`.
Result<void> check_membership(const Roster& roster, const Cluster& cluster);

}  // namespace sparkplan
