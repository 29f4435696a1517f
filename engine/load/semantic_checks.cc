#include "engine/load/semantic_checks.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/core/units.h"
#include "engine/load/address.h"
#include "engine/load/merge.h"
#include "engine/load/tree.h"

namespace sparkplan {
namespace {

// Two limits of one domain and item are one limit unless one is soft and the other hard.
bool are_soft_and_hard(const Value& a, const Value& b) {
  const std::string first = a.text_or("type", "both");
  const std::string second = b.text_or("type", "both");
  return first != "both" && second != "both" && first != second;
}

void check_records(std::string_view key, const Value* list, Findings& findings) {
  const auto keys = identity_keys(key);
  std::multimap<std::string, const Value*> seen;
  for (const auto& record : items_of(list)) {
    const auto identity = identity_of(record, keys);
    if (!identity) continue;
    const auto [begin, end] = seen.equal_range(*identity);
    const auto clash = std::find_if(
        begin, end, [&](const auto& other) { return key != "limits" || !are_soft_and_hard(*other.second, record); });
    if (clash != end) {
      const Value* last = record.find(keys.back());
      std::string name = text_of(record.find(keys.front()));
      if (keys.size() > 1) name += " " + text_of(last);
      findings.error(place_of(last), "list.duplicate",
                     in_quotes(name) + " is given twice in \"" + std::string(key) + "\"", "keep one of the two",
                     {{"first given here", place_of(clash->second->find(keys.back()))}});
    }
    seen.emplace(*identity, &record);
  }
}

void check_all_records(const Value& holder, Findings& findings) {
  for (const char* const key : {"limits", "units", "storage", "files"}) check_records(key, holder.find(key), findings);
  if (const Value* fabric = holder.find("fabric")) check_records("interfaces", fabric->find("interfaces"), findings);
}

void need(const Value& record, const char* key, std::string_view name_key, Findings& findings) {
  const Value* name = record.find(name_key);
  if (record.find(key) != nullptr || name == nullptr || !name->is_string()) return;
  findings.error(name->where, "list.missing-key", in_quotes(text_of(name)) + " has no \"" + std::string(key) + "\"",
                 "add it here or where all nodes get it from");
}

void check_file_record(const Value& record, Findings& findings) {
  const Value* source = record.find("source");
  if (source == nullptr) return need(record, "content", "path", findings);
  if (record.find("content") == nullptr) return;
  findings.error(source->where, "files.content-and-source",
                 in_quotes(record.text_or("path", "")) + " has both \"content\" and \"source\"",
                 "keep one of the two; null drops what is inherited");
}

const Value::List& records_of(const UnresolvedNode& node, const char* section) {
  const auto found = node.sections.find(section);
  return items_of(found != node.sections.end() ? &found->second : nullptr);
}

// What one layer leaves out another may add, so this looks at merged records.
void check_merged_records(const UnresolvedNode& node, Findings& findings) {
  for (const auto& record : records_of(node, "files")) check_file_record(record, findings);
  for (const auto& record : records_of(node, "units")) {
    const Value* drop_in = record.find("drop_in");
    if (drop_in == nullptr || record.find("content") == nullptr) continue;
    findings.error(drop_in->where, "units.content-and-drop-in",
                   in_quotes(record.text_or("name", "")) + " has both \"content\" and \"drop_in\"",
                   "a drop-in is for a unit of somebody else's; put its lines into \"content\"");
  }
}

void check_path(const Value* path, Findings& findings) {
  const auto parts = split(text_of(path), '/');
  if (std::find(parts.begin(), parts.end(), "..") == parts.end()) return;
  findings.error(place_of(path), "path.parent", in_quotes(text_of(path)) + " has a \"..\" in it",
                 "write the path without it");
}

void check_paths(const Value& holder, Findings& findings) {
  const auto each = [&](const char* section, const char* key) {
    for (const auto& record : items_of(holder.find(section))) check_path(record.find(key), findings);
  };
  each("files", "path");
  each("storage", "target");
}

// Only the bodies of files and units have lines; everywhere else a line break is a slip or an attack.
void check_line_breaks(const Value& value, Findings& findings) {
  if (const auto* entries = value.entries()) {
    for (const auto& entry : *entries) {
      if (entry.key.find('\n') != std::string::npos) {
        findings.error(entry.key_where, "text.line-break", "a key cannot have a line break in it");
      }
      const bool body = entry.key == "content" || entry.key == "drop_in";
      if (!body || !entry.value.is_string()) check_line_breaks(entry.value, findings);
    }
  } else if (const auto* items = value.list_items()) {
    for (const auto& item : *items) check_line_breaks(item, findings);
  } else if (const auto* text = value.string(); text != nullptr && text->find('\n') != std::string::npos) {
    findings.error(value.where, "text.line-break", "this value has a line break in it and has no room for one",
                   "write it on one line; after \"|\" every line break counts");
  }
}

void check_rates(const Value& root, Findings& findings) {
  for (const auto& entry : entries_of(root.find("verify"))) {
    const auto* text = entry.value.string();
    if (text == nullptr || text->empty()) continue;
    const auto rate = parse_rate(*text);
    if (rate && *rate > 0) continue;
    findings.error(entry.value.where, "verify.rate", in_quotes(*text) + " is no bandwidth",
                   "write it with its unit: 21.875 GB/s or 100 Gb/s");
  }
}

void check_effects(const UnresolvedCluster& draft, Findings& findings) {
  const auto* nccl = draft.root->find_entry("nccl");
  const Value* fabric = draft.root->find("fabric");
  const bool nodes_have_fabric = std::any_of(draft.nodes.begin(), draft.nodes.end(), [](const UnresolvedNode& node) {
    return node.sections.contains("fabric");
  });
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
                     "the profile lets ssh.user log in from node to node, and the file names no such user",
                     "add \"ssh: {user: NAME}\", or \"ssh_trust: null\" if that is not wanted");
  }
}

}  // namespace

void check_sections(const UnresolvedCluster& draft, Findings& findings) {
  check_line_breaks(*draft.root, findings);
  check_all_records(*draft.root, findings);
  check_paths(*draft.root, findings);
  check_nccl_variables(*draft.root, findings);
  check_rates(*draft.root, findings);
  for (const auto& node : draft.nodes) {
    check_all_records(*node.record, findings);
    check_paths(*node.record, findings);
    check_nccl_variables(*node.record, findings);
  }
  check_effects(draft, findings);
}

void check_merged_sections(const UnresolvedCluster& draft, Findings& findings) {
  for (const auto& node : draft.nodes) check_merged_records(node, findings);
  check_storage(draft, findings);
}

}  // namespace sparkplan
