#include "engine/load/unresolved_node.h"

#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/load/merge.h"
#include "engine/load/profile.h"
#include "engine/model/cluster.h"

namespace sparkplan {
namespace {

constexpr int kLargestId = 16'777'215;  // As in the schema.

/// A std::map adds to each entry three links, a color, and the key.
constexpr std::size_t kBytesOfAMapNode = 4 * sizeof(void*) + sizeof(std::string);

const Value& value_or_null(const Value& map, std::string_view key) {
  static const Value null;
  const Value* found = map.find(key);
  return found != nullptr ? *found : null;
}

void read_names(UnresolvedNode& draft, const Value& record) {
  draft.name = record.text_or("name", "");
  const Value* name = record.find("name");
  draft.name_where = name != nullptr ? name->where : record.where;
  const auto id = record.integer_or("id", 0);
  const Value* given = record.find("id");
  if (given != nullptr && given->integer() != nullptr && id > 0 && id <= kLargestId) {
    draft.id = static_cast<int>(id);
    draft.id_where = given->where;
  } else if (given == nullptr) {
    draft.id = id_from_name(draft.name);
    draft.id_where = draft.name_where;
  }
  draft.address = record.text_or("address", "");
  if (const Value* address = record.find("address")) draft.address_where = address->where;
  if (record.text_or("transport", "ssh") == "local") draft.transport = TransportKind::kLocal;
}

/// Merges the nodes of one file, and counts the memory that they take together.
class NodeMerger {
 public:
  NodeMerger(UnresolvedCluster& draft, Findings& findings) : draft_(draft), findings_(findings) {}

  /// False: all nodes together are too large, which is a finding.
  bool merge_ssh(UnresolvedNode& node) {
    const Value& shared = value_or_null(*draft_.root, "ssh");
    const Value* own = node.record->find("ssh");
    Value merged = own != nullptr ? merge(shared, *own) : shared;
    const bool fits = has_room(node, "ssh", merged);
    node.ssh = without_nulls(std::move(merged));
    return fits;
  }

  bool merge_sections(UnresolvedNode& node, const Value& profile) {
    for (const std::string& key : draft_.registry->sections()) {
      const RecordList* records = draft_.registry->records_of(key);
      Value merged = value_or_null(profile, key);
      if (const Value* shared = draft_.root->find(key)) merged = merge(merged, *shared, records);
      if (const Value* own = node.record->find(key)) merged = merge(merged, *own, records);
      if (merged.is_null()) continue;
      if (!has_room(node, key, merged)) return false;
      // A null below nccl drops a variable that the mode would set, so the type needs the null.
      node.sections.emplace(key, key == "nccl" ? std::move(merged) : without_nulls(std::move(merged)));
    }
    for (const std::string_view key : kSectionsWithoutType) {
      const Value* body = draft_.root->find(key);
      if (body == nullptr || body->is_null()) continue;
      if (!has_room(node, key, *body)) return false;
      node.sections.emplace(key, without_nulls(*body));
    }
    return true;
  }

  /// A secret variable without `users` is for the login user.
  bool name_readers_of_secrets(UnresolvedNode& node) {
    const std::string login = node.ssh.text_or("user", "");
    const auto section = node.sections.find("profile_env");
    if (login.empty() || section == node.sections.end() || !section->second.is_map()) return true;
    for (MapEntry& entry : *section->second.entries()) {
      const Value* secret = entry.value.find("secret");
      if (secret == nullptr || entry.value.find("users") != nullptr) continue;
      Value users = Value::list({Value(login)});
      users.where = secret->where;
      if (!has_room(node, section->first, users)) return false;
      entry.value.set("users", std::move(users));
    }
    return true;
  }

 private:
  /// Counts a section before without_nulls(): a list keeps the memory of the entries that it loses.
  bool has_room(const UnresolvedNode& node, std::string_view key, const Value& section) {
    draft_.merged_bytes += kBytesOfAMapNode + key.size() + memory_of(section);
    if (!draft_.is_too_large()) return true;
    findings_.error(section.where.known() ? section.where : node.name_where, "nodes.too-large",
                    "with " + in_quotes(key) + " of " + shown_name(node) + ", the merged sections of all nodes are " +
                        too_large_when_merged(),
                    "each node counts its copy of a shared section: put long texts into a package or on a shared file "
                    "system");
    return false;
  }

  static std::string shown_name(const UnresolvedNode& node) {
    return node.name.empty() ? "node " + std::to_string(node.index + 1) : in_quotes(node.name);
  }

  UnresolvedCluster& draft_;
  Findings& findings_;
};

SshSettings ssh_settings(const UnresolvedNode& draft) {
  SshSettings settings;
  settings.user = draft.ssh.text_or("user", "");
  settings.port = static_cast<std::uint16_t>(draft.ssh.integer_or("port", 22));
  settings.port_given = draft.ssh.find("port") != nullptr;
  settings.identity = draft.ssh.text_or("identity", "");
  if (draft.ssh.text_or("host_keys", "strict") == "accept-new") settings.host_keys = HostKeyPolicy::kAcceptNew;
  if (draft.ssh.text_or("become", "sudo") == "none") settings.become = Become::kNone;
  settings.jump = draft.ssh.text_or("jump", "");
  settings.host_key = draft.record->text_or("host_key", "");
  return settings;
}

}  // namespace

int id_from_name(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const auto last_other = name.find_last_not_of("0123456789");
  const auto digits = last_other == std::string_view::npos ? name : name.substr(last_other + 1);
  const int id = parse_number<int>(digits).value_or(0);
  return id > 0 && id <= kLargestId ? id : 0;
}

std::string too_large_when_merged() { return "larger than " + std::to_string(kMostMergedBytes >> 20) + " MiB"; }

UnresolvedCluster unresolved_cluster(const Value& root, const Registry& registry, Findings& findings) {
  UnresolvedCluster draft;
  draft.root = &root;
  draft.registry = &registry;
  draft.profile = root.text_or("profile", "");
  if (const Value* profile = root.find("profile")) draft.profile_where = profile->where;
  const Value::List& nodes = items_of(root.find("nodes"));
  NodeMerger merger(draft, findings);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Value& record = nodes[i];
    if (!record.is_map()) continue;
    UnresolvedNode node;
    node.record = &record;
    node.index = i;
    read_names(node, record);
    draft.merged_bytes += sizeof(UnresolvedNode);
    if (!merger.merge_ssh(node)) break;
    const Value profile = profile_sections(draft.profile, node.ssh.text_or("user", ""), draft.profile_where);
    if (!merger.merge_sections(node, profile) || !merger.name_readers_of_secrets(node)) break;
    draft.nodes.push_back(std::move(node));
  }
  return draft;
}

std::vector<NodeSpec> finish_nodes(UnresolvedCluster draft) {
  std::vector<NodeSpec> nodes;
  for (auto& node : draft.nodes) {
    auto name = NodeName::parse(node.name);
    if (!name) continue;  // Unreachable: the name was checked.
    NodeSpec spec{std::move(*name), node.id, {}, {}, node.transport, {}, false, {}, {}, node.record->where};
    if (node.transport == TransportKind::kSsh) spec.address = node.address;
    spec.ssh = ssh_settings(node);
    spec.root = node.record->text_or("root", "");
    spec.maintenance = node.record->boolean_or("maintenance", false);
    spec.fabric = std::move(node.fabric);
    spec.sections = std::move(node.sections);
    nodes.push_back(std::move(spec));
  }
  return nodes;
}

}  // namespace sparkplan
