#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/roster.h"

/// Nodes, members and rosters of a small cluster.
namespace sparkplan::test {

inline NodeSpec node(const std::string& name, int id, const std::string& address) {
  NodeSpec spec{*NodeName::parse(name), id, address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  spec.ssh.user = "nvidia";
  return spec;
}

inline Cluster lab(std::vector<NodeSpec> nodes) {
  Cluster cluster;
  cluster.name = "lab";
  cluster.nodes = std::move(nodes);
  return cluster;
}

inline Machines keys(std::initializer_list<std::pair<const std::string, std::string>> host_keys) {
  Machines machines;
  for (const auto& [name, key] : host_keys) machines[name].host_key = key;
  return machines;
}

inline Cluster two_sparks() { return lab({node("spark-01", 1, "10.0.0.11"), node("spark-02", 2, "10.0.0.12")}); }

inline Roster roster_of(const std::string& uuid, std::int64_t generation) { return {"lab", uuid, generation, {}}; }

inline RosterEntry member(const std::string& name, int id, const std::string& address) {
  return {name, id, address, "nvidia", 22, "SHA256:" + name, "id-" + name, "", "sudo", "", false};
}

inline Roster with_members(Roster roster, std::vector<RosterEntry> members) {
  roster.members = std::move(members);
  return roster;
}

}  // namespace sparkplan::test
