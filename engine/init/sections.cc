#include "engine/init/sections.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/init/bare_file.h"
#include "engine/init/fabric_found.h"
#include "engine/init/yaml_writer.h"
#include "engine/load/profile.h"

namespace sparkplan {
namespace {

Diagnostic cannot_be_written(const ResourceType& type, std::size_t count, const std::string& node) {
  return finding(Severity::kWarning, "init.not-written",
                 std::to_string(count) + " managed resource" + (count == 1 ? "" : "s") + " of type " +
                     type.info().name + " on " + node +
                     " cannot be reconstructed from the node alone: the file lacks " + (count == 1 ? "it" : "them") +
                     ", and an apply would remove " + (count == 1 ? "it" : "them"),
                 "add \"" + type.info().section + "\" to the file before you apply it");
}

/// Removes the resources that hold a secret and returns their names: a manifest has neither the value nor its source.
std::vector<std::string> take_secret_ones(std::map<std::string, Value>& applied) {
  std::vector<std::string> names;
  for (const auto& [name, value] : applied) {
    if (holds_secret(value)) names.push_back(name);
  }
  for (const std::string& name : names) applied.erase(name);
  return names;
}

Diagnostic secrets_are_missing(const ResourceType& type, const std::vector<std::string>& names,
                               const std::string& node) {
  constexpr std::size_t kMostNamed = 5;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)));
  const std::string more =
      names.size() > kMostNamed ? " and " + std::to_string(names.size() - kMostNamed) + " more" : "";
  return finding(Severity::kWarning, "init.not-written",
                 type.info().name + " on " + node + " has secrets whose source no node knows (" +
                     printable(sparkplan::join(first, ", ")) + more +
                     "): the file lacks them, and an apply would remove them",
                 "add them to \"" + type.info().section + "\" with `{secret: ...}` before you apply the file");
}

/// Types that share a section each contribute a part of it.
void join(Value& section, const Value& more) {
  if (section.is_null()) {
    section = more;
  } else if (section.is_map() && more.is_map()) {
    for (const MapEntry& entry : *more.entries()) section.set(entry.key, entry.value);
  } else if (section.list_items() != nullptr && more.list_items() != nullptr) {
    append_records(section, more);
  }
}

constexpr const char* kDgxSpark = "dgx-spark";

/// For the reader of the file: the machines that take the profile from all, if most could have it. One machine could
/// claim any product. Empty if most machines are no DGX Sparks.
std::string who_prevents_profile(const Members& members) {
  std::vector<std::string> others;
  std::size_t sparks = 0;
  for (const Member& member : members.nodes) {
    if (member.machine == nullptr) continue;
    if (is_dgx_spark(*member.machine->facts)) {
      ++sparks;
    } else {
      others.push_back(member.name);
    }
  }
  if (sparks < others.size()) return "";
  return "Without " + fold_first_names(others) + ", `profile: dgx-spark` would fit: " +
         (others.size() == 1 ? "it is no DGX Spark." : "they are no DGX Sparks.");
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
    "All nodes are DGX Sparks. The profile sets socket buffers of 256 MiB, unlimited locked memory, names for the "
    "fabric's addresses, logins between the nodes, and NCCL's variables.";

/// A section of the cluster, or of the node with that name.
struct Part {
  std::string node;
  MapEntry section;

  std::string place() const {
    return "\"" + section.key + "\"" + (node.empty() ? " of the manifests" : " in the manifest of " + node);
  }
};

std::vector<Part> parts_of(const Sections& sections) {
  std::vector<Part> parts;
  for (const MapEntry& section : sections.of_cluster) parts.push_back({"", section});
  for (const auto& [node, own] : sections.of_nodes) {
    for (const MapEntry& section : own) parts.push_back({node, section});
  }
  return parts;
}

/// The longest part of the node with the longest parts, unless a part of the cluster is far longer. A single machine
/// must not take from the file what the others share. Null without a part.
const Part* longest_part(const std::vector<Part>& parts) {
  constexpr std::size_t kFarLonger = 16;
  struct Place {
    const Part* part = nullptr;
    std::size_t part_length = 0;
    std::size_t length = 0;  ///< Of all parts.
  };
  std::map<std::string, Place> places;
  for (const Part& part : parts) {
    Place& place = places[part.node];
    const std::size_t length = yaml_flow(part.section.value).size();
    place.length += length;
    if (place.part == nullptr || length > place.part_length) {
      place.part = &part;
      place.part_length = length;
    }
  }
  const Place cluster = std::exchange(places[""], {});
  const auto node = std::ranges::max_element(places, {}, [](const auto& one) { return one.second.length; });
  return node->second.length * kFarLonger > cluster.part_length ? node->second.part : cluster.part;
}

Value file_with(Value file, const std::vector<Part>& parts, const std::vector<bool>& kept) {
  std::map<std::string, Value*> nodes;
  for (Value& node : *file.find("nodes")->list_items()) nodes.emplace(node.text_or("name", ""), &node);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [node, section] = parts[i];
    if (kept[i] && !node.empty()) nodes.at(node)->set(section.key, section.value);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (kept[i] && parts[i].node.empty()) file.set(parts[i].section.key, parts[i].section.value);
  }
  return file;
}

}  // namespace

void leave_out_invalid(Sections& sections, const Value& file, const Registry& registry) {
  const std::vector<Part> parts = parts_of(sections);
  const auto kept = loadable_parts(parts.size(), [&](const std::vector<bool>& tried) {
    return cluster_of(file_with(file, parts, tried), registry).has_value();
  });
  sections.of_cluster.clear();
  sections.of_nodes.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (kept[i]) {
      (part.node.empty() ? sections.of_cluster : sections.of_nodes[part.node]).push_back(part.section);
      continue;
    }
    std::vector<bool> with = kept;
    with[i] = true;
    sections.remarks.push_back(
        finding(Severity::kWarning, "init.not-written",
                part.place() + " is not valid in a file: " + first_error_of(file_with(file, parts, with), registry) +
                    "; the file lacks it, and an apply would remove it",
                "find out how it came there; sparkplan never applies this"));
  }
}

bool leave_out_longest(Sections& sections) {
  const std::vector<Part> parts = parts_of(sections);
  const Part* longest = longest_part(parts);
  if (longest == nullptr) return false;
  const std::string& key = longest->section.key;
  Value::Map& map = longest->node.empty() ? sections.of_cluster : sections.of_nodes[longest->node];
  std::erase_if(map, [&](const MapEntry& section) { return section.key == key; });
  sections.remarks.push_back(
      finding(Severity::kWarning, "init.not-written",
              longest->place() + " is too long for one file: the file lacks it, and an apply would remove it",
              "add \"" + key + "\" to the file before you apply it, with its long texts in separate files"));
  return true;
}

Sections sections_of(const Members& members, const Cluster& cluster, const Registry& registry) {
  Sections result;
  for (const std::string& key : registry.sections()) {
    if (key == "fabric") continue;
    std::vector<Value> each;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < members.nodes.size(); ++i) {
      const Member& member = members.nodes[i];
      if (!member.managed()) continue;
      Value section;
      for (const ResourceType* type : registry.of_section(key)) {
        auto applied = applied_of(*member.machine->manifest, type->info().name);
        const auto secret = take_secret_ones(applied);
        if (!secret.empty()) result.remarks.push_back(secrets_are_missing(*type, secret, member.name));
        if (applied.empty()) continue;
        const auto part = type->section_from({cluster, cluster.nodes[i], {}}, applied, *member.machine->facts);
        if (part) {
          join(section, *part);
        } else {
          result.remarks.push_back(cannot_be_written(*type, applied.size(), member.name));
        }
      }
      each.push_back(std::move(section));
      names.push_back(member.name);
    }
    if (each.empty()) continue;
    // The values of a single manifest are written for its own machine only.
    const bool common = members.decides_for_all(each.size(), each.size());
    Split split = common ? split_common(each, registry.records_of(key)) : Split{Value(), std::move(each)};
    if (!split.common.is_null()) result.of_cluster.push_back({key, std::move(split.common)});
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (split.rests[i].is_null()) continue;
      result.of_nodes[names[i]].push_back({key, std::move(split.rests[i])});
    }
  }
  return result;
}

ProfileChoice choose_profile(const Members& members, const Cluster& cluster, const Registry& registry,
                             Sections& sections) {
  std::vector<const Facts*> facts;
  for (const Member& member : members.nodes) {
    if (member.machine != nullptr) facts.push_back(&*member.machine->facts);
  }
  if (facts.empty()) return {};
  const auto managed = static_cast<std::size_t>(
      std::count_if(members.nodes.begin(), members.nodes.end(), [](const Member& one) { return one.managed(); }));
  // A single manifest does not take the profile from the other machines.
  const bool manifests_decide = managed > 0 && members.decides_for_all(managed, managed);
  if (!std::ranges::all_of(facts, [](const Facts* one) { return is_dgx_spark(*one); }))
    return {"", manifests_decide ? "" : who_prevents_profile(members)};
  if (!manifests_decide) return {kDgxSpark, kWhat + what_it_changes(members)};
  Value::Map rest = sections.of_cluster;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.ssh.user != cluster.nodes.front().ssh.user) return {};  // Then the profile differs between the nodes.
  }
  const Value profile = profile_sections(kDgxSpark, cluster.nodes.front().ssh.user, {});
  for (const MapEntry& entry : *profile.entries()) {
    const auto there = std::ranges::find_if(rest, [&](const MapEntry& one) { return one.key == entry.key; });
    const bool of_a_node = std::any_of(sections.of_nodes.begin(), sections.of_nodes.end(), [&](const auto& one) {
      return std::ranges::any_of(one.second, [&](const MapEntry& section) { return section.key == entry.key; });
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
