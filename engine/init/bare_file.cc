#include "engine/init/bare_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/core/text.h"
#include "engine/init/yaml_writer.h"
#include "engine/load/load.h"
#include "engine/load/unresolved_node.h"

namespace sparkplan {
namespace {

/// The SSH settings of a machine that differ from the defaults.
Value ssh_of(const SshSettings& ssh) {
  Value value = Value::map();
  if (!ssh.user.empty()) value.set("user", ssh.user);
  if (ssh.port != 22) value.set("port", static_cast<std::int64_t>(ssh.port));
  if (!ssh.jump.empty()) value.set("jump", ssh.jump);
  if (ssh.become == Become::kNone) value.set("become", "none");
  return value;
}

/// Removes the entries that all values share from each value, and returns them.
Value take_common(std::vector<Value>& each) {
  Value common = Value::map();
  const Value first = each.front();
  for (const MapEntry& entry : *first.entries()) {
    const bool shared = std::all_of(each.begin(), each.end(), [&](const Value& one) {
      const Value* value = one.find(entry.key);
      return value != nullptr && *value == entry.value;
    });
    if (!shared) continue;
    common.set(entry.key, entry.value);
    for (Value& one : each) one.erase(entry.key);
  }
  return common;
}

/// Keeps the parts from `begin` to `end` with which the file can be loaded, beside those that are kept already.
void keep_loadable(std::vector<bool>& kept, std::size_t begin, std::size_t end, const LoadsWith& loads) {
  if (begin == end) return;
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.begin() + static_cast<std::ptrdiff_t>(end), true);
  if (loads(kept)) return;
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.begin() + static_cast<std::ptrdiff_t>(end), false);
  if (end - begin == 1) return;
  const std::size_t middle = begin + (end - begin) / 2;
  keep_loadable(kept, begin, middle, loads);
  keep_loadable(kept, middle, end, loads);
}

}  // namespace

Value bare_file_of(const Members& members) {
  std::vector<Value> ssh;
  for (const Member& node : members.nodes) ssh.push_back(ssh_of(node.ssh));
  Value common = take_common(ssh);
  Value file = Value::map({{"version", 1}, {"name", members.cluster}});
  if (!common.entries()->empty()) file.set("ssh", std::move(common));
  Value nodes = Value::list();
  for (std::size_t i = 0; i < members.nodes.size(); ++i) {
    const Member& node = members.nodes[i];
    Value record = Value::map({{"name", node.name}});
    if (node.id != id_from_name(node.name)) record.set("id", node.id);
    record.set("address", node.address);
    if (!ssh[i].entries()->empty()) record.set("ssh", ssh[i]);
    if (node.machine == nullptr) record.set("maintenance", true);
    nodes.push_back(std::move(record));
  }
  file.set("nodes", std::move(nodes));
  return file;
}

std::string plain_text(const Value& file) {
  YamlWriter writer;
  for (const MapEntry& entry : *file.entries()) writer.entry(entry.key, entry.value);
  return writer.take();
}

std::string first_error_of(const Value& file, const Registry& registry) {
  const auto loaded = load_cluster(plain_text(file), "cluster.yaml", registry);
  if (loaded.cluster) return "";
  const auto& all = loaded.diagnostics;
  const auto first = std::ranges::find_if(all, [](const Diagnostic& one) { return one.severity == Severity::kError; });
  return first == all.end() ? "it cannot be loaded" : printable(first->message);
}

std::optional<Cluster> cluster_of(const Value& file, const Registry& registry) {
  return load_cluster(plain_text(file), "cluster.yaml", registry).cluster;
}

std::vector<bool> loadable_parts(std::size_t count, const LoadsWith& loads) {
  std::vector<bool> all(count, true);
  if (loads(all)) return all;
  std::vector<bool> kept(count, false);
  if (!loads(kept)) return kept;
  keep_loadable(kept, 0, count / 2, loads);
  keep_loadable(kept, count / 2, count, loads);
  return kept;
}

}  // namespace sparkplan
