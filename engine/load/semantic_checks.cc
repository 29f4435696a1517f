#include "engine/load/semantic_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/core/tree.h"
#include "engine/core/units.h"

namespace sparkplan {
namespace {

void check_duplicates(std::string_view key, const Value* list, const RecordList& records, Findings& findings) {
  std::multimap<std::string, const Value*> seen;
  const std::string& last_key = records.identity.back();
  for (const auto& record : items_of(list)) {
    const auto identity = records.identity_of(record);
    if (!identity) continue;
    const auto [begin, end] = seen.equal_range(*identity);
    const auto clash = std::find_if(begin, end, [&](const auto& other) {
      return records.may_have_both == nullptr || !records.may_have_both(*other.second, record);
    });
    if (clash != end) {
      std::string name = text_of(record.find(records.identity.front()));
      if (records.identity.size() > 1) name += " " + text_of(record.find(last_key));
      findings.error(place_of(record, last_key), "list.duplicate",
                     in_quotes(name) + " is given twice in \"" + std::string(key) + "\"", "keep one of the two",
                     {{"first given here", place_of(*clash->second, last_key)}});
    }
    seen.emplace(*identity, &record);
  }
}

void check_path(const Value* path, Findings& findings) {
  const auto parts = split(text_of(path), '/');
  if (std::find(parts.begin(), parts.end(), "..") == parts.end()) return;
  findings.error(place_of(path), "path.parent", in_quotes(text_of(path)) + " contains \"..\"",
                 "write the path without it");
}

/// Checks the lists of records of one layer, the file or a node.
void check_records(const Value& holder, const Registry& registry, Findings& findings) {
  for (const std::string& section : registry.sections()) {
    const RecordList* records = registry.records_of(section);
    const Value* body = holder.find(section);
    if (records == nullptr || body == nullptr) continue;
    const bool whole = records->below.empty();
    const Value* list = whole ? body : body->find(records->below);
    check_duplicates(whole ? section : records->below, list, *records, findings);
    if (!records->by_path) continue;
    for (const auto& record : items_of(list)) check_path(record.find(records->identity.front()), findings);
  }
}

/// The keys of texts with several lines.
std::set<std::string> bodies_of(const Registry& registry) {
  std::set<std::string> bodies;
  for (const auto& type : registry.types()) {
    if (type->info().records) bodies.insert(type->info().records->bodies.begin(), type->info().records->bodies.end());
  }
  return bodies;
}

// Only bodies of records have several lines. In other values, a line break is a mistake or an attack.
void check_line_breaks(const Value& value, const std::set<std::string>& bodies, Findings& findings) {
  if (const auto* entries = value.entries()) {
    for (const auto& entry : *entries) {
      if (entry.key.find('\n') != std::string::npos) {
        findings.error(entry.key_where, "text.line-break", "a key cannot contain a line break");
      }
      if (!bodies.contains(entry.key) || !entry.value.is_string()) check_line_breaks(entry.value, bodies, findings);
    }
  } else if (const auto* items = value.list_items()) {
    for (const auto& item : *items) check_line_breaks(item, bodies, findings);
  } else if (const auto* text = value.string(); text != nullptr && text->find('\n') != std::string::npos) {
    findings.error(value.where, "text.line-break", "this value cannot contain a line break",
                   "write it on one line; after \"|\", YAML keeps every line break");
  }
}

void check_rates(const Value& root, Findings& findings) {
  for (const auto& entry : entries_of(root.find("verify"))) {
    const auto* text = entry.value.string();
    if (text == nullptr || text->empty()) continue;
    const auto rate = parse_rate(*text);
    if (rate && *rate > 0) continue;
    findings.error(entry.value.where, "verify.rate", in_quotes(*text) + " is not a bandwidth",
                   "write it with its unit: 21.875 GB/s or 100 Gb/s");
  }
}

void check_effects(const UnresolvedCluster& draft, Findings& findings) {
  const auto* nccl = draft.root->find_entry("nccl");
  const Value* fabric = draft.root->find("fabric");
  const bool nodes_have_fabric =
      std::ranges::any_of(draft.nodes, [](const UnresolvedNode& node) { return node.sections.contains("fabric"); });
  if (nccl != nullptr && nccl->value.is_map() && (fabric == nullptr || fabric->is_null()) && !nodes_have_fabric &&
      nccl->value.find("env") == nullptr && nccl->value.find("library") == nullptr) {
    findings.warning(nccl->key_where, "nccl.no-effect", "without \"fabric\" the mode alone sets nothing for NCCL",
                     "add \"fabric\", or name variables in \"env\"");
  }
  const bool trust_written = draft.root->find("ssh_trust") != nullptr;
  const bool user_missing = std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const UnresolvedNode& node) {
    return node.transport == TransportKind::kSsh && node.ssh.find("user") == nullptr &&
           node.record->find("ssh_trust") == nullptr;
  });
  if (draft.profile == "dgx-spark" && !trust_written && user_missing) {
    findings.warning(draft.profile_where, "profile.no-ssh-user",
                     "the profile sets up SSH between the nodes for ssh.user, but the file does not set it",
                     "add \"ssh: {user: NAME}\", or \"ssh_trust: null\" if you do not want that");
  }
}

}  // namespace

void check_sections(const UnresolvedCluster& draft, Findings& findings) {
  check_line_breaks(*draft.root, bodies_of(*draft.registry), findings);
  check_records(*draft.root, *draft.registry, findings);
  check_nccl_variables(*draft.root, findings);
  check_rates(*draft.root, findings);
  for (const auto& node : draft.nodes) {
    check_records(*node.record, *draft.registry, findings);
    check_nccl_variables(*node.record, findings);
  }
  check_effects(draft, findings);
}

}  // namespace sparkplan
