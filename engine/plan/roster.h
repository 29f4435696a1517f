#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// What this run has seen of the machines behind the file's nodes, by the node's name in the file.
struct Machine {
  std::string host_key;    ///< Empty: not seen in this run, or a local node.
  std::string machine_id;  ///< As the node reports it.
  std::string known_as;    ///< The name in the machine's own manifest; empty without one.
};
using Machines = std::map<std::string, Machine>;

/// A member that half or fewer of the manifests list. Nothing follows from it but a warning.
struct UnsupportedMember {
  std::string name;
  std::vector<std::string> listed_by;  ///< Nodes whose manifest lists it, by their names in the file.
};

/// What the manifests of one cluster say together. One node decides nothing here as soon as there are three.
struct AgreedRoster {
  /// The uuid and the members that more than half of the manifests name; each field of a member is the value that more
  /// than half of all manifests give it, and empty where they do not agree. The generation is the highest that more
  /// than half have reached.
  Roster roster;
  /// Nodes whose manifest belongs to another cluster than the majority's, by name. kRefused. All nodes with a manifest
  /// in a tie.
  std::map<std::string, Error> refused;
  /// Listed by manifests that are not older than `roster`, and by half of all or fewer.
  std::vector<UnsupportedMember> unsupported;
};

/// Pure. `manifests` by the node's name in the file; null where the node has none. Manifests without a roster are left
/// out of the count.
AgreedRoster agree_on_roster(const std::map<std::string, const Manifest*>& manifests);

/// Pure. Takes members that the file no longer names out of `agreed`, into `unsupported`, where fewer than two
/// manifests list them: the manifest of one machine decides nothing as soon as the file names two nodes.
/// Returns the entries that were taken out.
std::vector<RosterEntry> require_two_witnesses(AgreedRoster& agreed,
                                               const std::map<std::string, const Manifest*>& manifests,
                                               const Cluster& cluster, const Machines& machines);

/// A warning "roster.unsupported-member" for each set of nodes that list the same members; the first five are named.
std::vector<Diagnostic> warnings_of(const std::vector<UnsupportedMember>& unsupported, const std::string& hint);

/// Members of `roster` that the file no longer names. A member is still in the file under its name, at its address, or
/// as a machine that has shown its host key in this run. A local node has no host key: its machine-id and the name in
/// its manifest stand in.
std::vector<RosterEntry> departed_members(const Roster& roster, const Cluster& cluster, const Machines& machines);

/// The roster after a successful apply: the file's nodes, plus departed members but for those in `released`. Those in
/// `consented` are marked `leaving`. The generation grows only when something differs. What is not seen of a machine
/// stays as `previous` knew it. `new_uuid` is used when `previous` has none.
Roster next_roster(const Roster& previous, const Cluster& cluster, const Machines& machines,
                   const std::set<std::string>& released, const std::set<std::string>& consented,
                   const std::string& new_uuid);

/// Pure. `next` as one node's manifest takes it. A departed member stays as that manifest has it, so that no other
/// manifest can blank or change its record. `single_witness`: members that only this manifest may list; it keeps them.
/// A departed member without an address is given to no manifest that does not have it.
Roster roster_of_node(const Roster& next, const Roster& own, const Cluster& cluster,
                      const std::vector<RosterEntry>& single_witness);

/// Errors: kRefused when the manifest belongs to another cluster than `cluster`.
Result<void> check_membership(const Manifest& manifest, const Cluster& cluster);

}  // namespace sparkplan
