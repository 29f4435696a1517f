#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/hub/hub_cache.h"
#include "engine/load/node_names.h"
#include "engine/load/semantic_checks.h"
#include "engine/model/cluster.h"
#include "engine/model/directory_path.h"

namespace sparkplan {
namespace {

/// The schema refuses more entries. Each may have another directory on each node.
constexpr std::size_t kMostModels = 256;

/// A cache of the hub, and the login user of its nodes.
using HubCaches = std::set<std::pair<std::string, std::string>>;

/// The directories of all earlier entries. Of those that contain each other, only the outermost is kept: whatever
/// shares a directory with an inner one shares it with the outer one, too.
class CoveredDirectories {
 public:
  /// The first earlier entry that covers the directory, one above it or one below it. `directory` is a plain_path().
  std::optional<std::size_t> first_sharing(const std::string& directory) const {
    if (const auto above = outer_of(directory); above != outermost_.end()) return above->second;
    std::optional<std::size_t> first;
    for (auto below = outermost_.lower_bound(directory); is_below(below, directory); ++below) {
      first = first ? std::min(*first, below->second) : below->second;
    }
    return first;
  }

  void add(const std::string& directory, std::size_t entry) {
    if (outer_of(directory) != outermost_.end()) return;
    auto below = outermost_.lower_bound(directory);
    while (is_below(below, directory)) below = outermost_.erase(below);
    outermost_.emplace(directory, entry);
  }

 private:
  using Entries = std::map<std::string, std::size_t>;  ///< By directory; none contains another one.

  /// Between an outer directory and one in it, only names in the outer one are sorted, and none of them is kept.
  Entries::const_iterator outer_of(const std::string& directory) const {
    const auto behind = outermost_.upper_bound(directory);
    if (behind == outermost_.begin()) return outermost_.end();
    const auto before = std::prev(behind);
    return directory.starts_with(before->first) ? before : outermost_.end();
  }
  bool is_below(Entries::const_iterator entry, const std::string& directory) const {
    return entry != outermost_.end() && entry->first.starts_with(directory);
  }

  Entries outermost_;
};

bool leads_up(const Value& path, Findings& findings) {
  const auto parts = split(text_of(&path), '/');
  if (std::none_of(parts.begin(), parts.end(), [](std::string_view part) { return part == ".."; })) return false;
  findings.error(path.where, "models.path", in_quotes(text_of(&path)) + " contains \"..\"",
                 "write the directory itself");
  return true;
}

void check_from(const Value& from, const std::string& section, NodeNames& nodes, Findings& findings) {
  const std::string& name = text_of(&from);
  if (name.empty() || name == kControllerName || nodes.has(name)) return;
  const auto near = nodes.meant_by(name);
  findings.error(from.where, section + ".from", "there is no node " + in_quotes(name),
                 near ? "did you mean " + *near + "?" : "name a node of this file, or leave \"from\" out");
}

const Value* login_variables(const UnresolvedNode& node) {
  const auto section = node.sections.find("profile_env");
  return section == node.sections.end() ? nullptr : &section->second;
}

HubCaches caches_of(const UnresolvedCluster& draft) {
  HubCaches caches;
  for (const UnresolvedNode& node : draft.nodes) {
    if (auto cache = hub_cache(login_variables(node))) caches.emplace(std::move(*cache), node.ssh.text_or("user", ""));
  }
  return caches;
}

/// The directories of a model on all nodes. A home counts by its owner, who is the login user by default.
std::set<std::string> directories_of_hub(const Value& record, const HubCaches& caches) {
  std::set<std::string> directories;
  const std::string owner = record.text_or("owner", "");
  const std::string folder = hub_folder(record.text_or("hub", ""));
  for (const auto& [cache, login] : caches) {
    const std::string& user = owner.empty() ? login : owner;
    const std::string cached = cache.starts_with("~/") ? "~" + user + cache.substr(1) : cache;
    directories.insert(plain_path(cached + "/" + folder));
  }
  return directories;
}

void check_hub(const Value& hub, const UnresolvedCluster& draft, Findings& findings) {
  if (!is_hub_name(text_of(&hub))) {
    findings.error(hub.where, "models.hub", in_quotes(text_of(&hub)) + " is not the name of a model",
                   "write it as the hub does: ORG/NAME");
  }
  std::set<std::string> told;
  for (const UnresolvedNode& node : draft.nodes) {
    const auto cache = hub_cache(login_variables(node));
    if (cache || !told.insert(cache.error().message).second) continue;
    const MapEntry* variable = hub_cache_variable(login_variables(node));
    findings.error(variable->value.where, "models.cache", cache.error().message, cache.error().hint,
                   {{"needed for this model", hub.where}});
  }
}

/// The directories of one entry; none if it is not valid.
std::set<std::string> check_model(const Value& record, const UnresolvedCluster& draft, const HubCaches& caches,
                                  Findings& findings) {
  const Value* path = record.find("path");
  const Value* hub = record.find("hub");
  if ((path == nullptr) == (hub == nullptr)) {
    findings.error(record.where, "models.kind",
                   path == nullptr ? "the entry names no content" : "the entry names both a path and a model",
                   "write either \"path\", a directory, or \"hub\", a model in a Hugging Face cache");
    return {};
  }
  if (path != nullptr) {
    if (!path->is_string() || leads_up(*path, findings)) return {};
    return {plain_path(text_of(path))};
  }
  if (!hub->is_string()) return {};
  check_hub(*hub, draft, findings);
  return directories_of_hub(record, caches);
}

void check_models(const UnresolvedCluster& draft, NodeNames& nodes, Findings& findings) {
  const Value::List& records = items_of(draft.root->find("models"));
  if (records.size() > kMostModels) return;
  const HubCaches caches = caches_of(draft);
  CoveredDirectories covered;
  std::vector<SourceRange> places;
  for (const Value& record : records) {
    if (!record.is_map()) continue;
    if (const Value* from = record.find("from")) check_from(*from, "models", nodes, findings);
    const auto directories = check_model(record, draft, caches, findings);
    std::optional<std::size_t> other;
    for (const std::string& directory : directories) {
      if (const auto one = covered.first_sharing(directory)) other = std::min(other.value_or(*one), *one);
    }
    const Value* name = record.find("path") != nullptr ? record.find("path") : record.find("hub");
    if (other) {
      findings.error(name->where, "models.overlap", in_quotes(text_of(name)) + " is in another entry already",
                     "two entries cannot share a directory", {{"the other entry", places[*other]}});
    }
    for (const std::string& directory : directories) covered.add(directory, places.size());
    places.push_back(name != nullptr ? name->where : record.where);
  }
}

void check_images(const UnresolvedCluster& draft, NodeNames& nodes, Findings& findings) {
  std::map<std::pair<std::string, std::string>, SourceRange> earlier;
  for (const Value& record : items_of(draft.root->find("images"))) {
    if (const Value* from = record.find("from")) check_from(*from, "images", nodes, findings);
    const Value* name = record.find("name");
    if (name == nullptr || !name->is_string()) continue;
    const std::pair image(text_of(name), record.text_or("engine", "docker"));
    const auto [first, is_new] = earlier.try_emplace(image, name->where);
    if (is_new) continue;
    findings.error(name->where, "images.duplicate", in_quotes(image.first) + " is in another entry already",
                   "keep one of the two", {{"the other entry", first->second}});
  }
}

}  // namespace

void check_content(const UnresolvedCluster& draft, Findings& findings) {
  NodeNames nodes(draft.nodes);
  check_models(draft, nodes, findings);
  check_images(draft, nodes, findings);
}

}  // namespace sparkplan
