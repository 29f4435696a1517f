#include "engine/init/profile_choice.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/init/cluster_draft.h"
#include "engine/load/profile.h"

namespace sparkplan {
namespace {

constexpr const char* kDgxSpark = "dgx-spark";

bool are_sparks(const std::vector<const Facts*>& all) {
  return !all.empty() && std::all_of(all.begin(), all.end(), [](const Facts* facts) { return is_dgx_spark(*facts); });
}

/// The section as section_from() writes it, for comparison; unchanged if no type can write it.
Value as_applied(const std::string& key, const Value& section, const ClusterView& view, const Facts& facts,
                 const Registry& registry) {
  for (const ResourceType* type : registry.of_section(key)) {
    std::map<std::string, Value> applied;
    for (Resource& resource : type->desired(view, section, facts).resources) {
      applied.emplace(resource.id.name, std::move(resource.desired));
    }
    if (applied.empty()) continue;
    if (auto again = type->section_from(view, applied, facts)) return *std::move(again);
  }
  return section;
}

/// `whole` without the entries of `part`; nothing if `part` has other entries.
std::optional<Value> without(const RecordList* list_of_records, const Value& whole, const Value& part) {
  if (whole == part) return Value();
  Value rest;
  if (whole.is_map() && part.is_map()) {
    for (const MapEntry& entry : *part.entries()) {
      const Value* there = whole.find(entry.key);
      if (there == nullptr || !(*there == entry.value)) return std::nullopt;
    }
    for (const MapEntry& entry : *whole.entries()) {
      if (part.find(entry.key) == nullptr) rest.set(entry.key, entry.value);
    }
    return rest;
  }
  if (list_of_records == nullptr || !whole.is_list() || !part.is_list()) return std::nullopt;
  const auto& records = *whole.list_items();
  for (const Value& record : *part.list_items()) {
    if (std::find(records.begin(), records.end(), record) == records.end()) return std::nullopt;
  }
  for (const Value& record : records) {
    const auto& of_part = *part.list_items();
    if (std::find(of_part.begin(), of_part.end(), record) == of_part.end()) rest.push_back(record);
  }
  return rest;
}

/// The current values of the settings that the profile is going to change.
std::string what_it_changes(const Members& members) {
  const Value profile = profile_sections(kDgxSpark, "", {});
  std::string text;
  for (const MapEntry& parameter : *profile.find("sysctl")->entries()) {
    std::map<std::string, std::vector<std::string>> nodes_by_value;
    for (const Member& member : members.nodes) {
      if (member.machine == nullptr || !member.machine->facts->extended) continue;
      const auto& running = member.machine->facts->extended->sysctl;
      const auto found = running.find(parameter.key);
      if (found != running.end()) nodes_by_value[found->second].push_back(member.name);
    }
    for (const auto& [value, nodes] : nodes_by_value) {
      text += "\nNow: " + parameter.key + " is " + printable(value) + " on " + fold_names(nodes) + ".";
    }
  }
  return text;
}

const char* const kWhat =
    "All of them are DGX Sparks. The profile sets socket buffers of 256 MiB, unlimited locked memory, names for the "
    "fabric's addresses, logins between the nodes, and NCCL's variables.";

}  // namespace

ProfileChoice choose_profile(const Members& members, const Cluster& cluster, const Registry& registry,
                             Sections& sections) {
  std::vector<const Facts*> facts;
  for (const Member& member : members.nodes) {
    if (member.machine != nullptr) facts.push_back(&*member.machine->facts);
  }
  if (!are_sparks(facts)) return {};
  const auto managed = static_cast<std::size_t>(
      std::count_if(members.nodes.begin(), members.nodes.end(), [](const Member& one) { return one.managed(); }));
  // A single manifest does not take the profile from the other machines.
  if (managed == 0 || !members.decides_for_all(managed, managed)) return {kDgxSpark, kWhat + what_it_changes(members)};
  Value::Map rest = sections.of_cluster;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.ssh.user != cluster.nodes.front().ssh.user) return {};  // Then the profile differs between the nodes.
  }
  const Value profile = profile_sections(kDgxSpark, cluster.nodes.front().ssh.user, {});
  for (const MapEntry& entry : *profile.entries()) {
    const auto there =
        std::find_if(rest.begin(), rest.end(), [&](const MapEntry& one) { return one.key == entry.key; });
    const bool of_a_node = std::any_of(sections.of_nodes.begin(), sections.of_nodes.end(), [&](const auto& one) {
      return std::any_of(one.second.begin(), one.second.end(),
                         [&](const MapEntry& section) { return section.key == entry.key; });
    });
    if (there == rest.end() || of_a_node) return {};
    const ClusterView view{cluster, cluster.nodes.front(), {}};
    auto left = without(registry.records_of(entry.key), there->value,
                        as_applied(entry.key, entry.value, view, *facts.front(), registry));
    if (!left) return {};
    if (left->is_null()) {
      rest.erase(there);
    } else {
      there->value = *std::move(left);
    }
  }
  sections.of_cluster = std::move(rest);
  return {kDgxSpark, std::string(kWhat) + " All of that is applied already."};
}

}  // namespace sparkplan
