#include <algorithm>
#include <map>
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

/// An entry that has passed its own checks, and the directories that it covers on the nodes.
struct CoveredEntry {
  SourceRange where;
  std::set<std::string> directories;
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

/// The directories of a model on all nodes. A home counts by its owner, who is the login user by default.
std::set<std::string> directories_of_hub(const Value& record, const UnresolvedCluster& draft) {
  std::set<std::string> directories;
  const std::string owner = record.text_or("owner", "");
  for (const UnresolvedNode& node : draft.nodes) {
    const auto cache = hub_cache(login_variables(node));
    if (!cache) continue;
    const std::string user = owner.empty() ? node.ssh.text_or("user", "") : owner;
    const std::string cached = cache->starts_with("~/") ? "~" + user + cache->substr(1) : *cache;
    directories.insert(plain_path(cached + "/" + hub_folder(record.text_or("hub", ""))));
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
std::set<std::string> check_model(const Value& record, const UnresolvedCluster& draft, Findings& findings) {
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
  return directories_of_hub(record, draft);
}

bool share_directory(const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::any_of(some.begin(), some.end(), [&](const std::string& one) {
    return std::ranges::any_of(others, [&](const std::string& other) { return nested_or_same(one, other); });
  });
}

void check_models(const UnresolvedCluster& draft, NodeNames& nodes, Findings& findings) {
  std::vector<CoveredEntry> earlier;
  for (const Value& record : items_of(draft.root->find("models"))) {
    if (!record.is_map()) continue;
    if (const Value* from = record.find("from")) check_from(*from, "models", nodes, findings);
    CoveredEntry entry{record.where, check_model(record, draft, findings)};
    const Value* name = record.find("path") != nullptr ? record.find("path") : record.find("hub");
    for (const CoveredEntry& other : earlier) {
      if (!share_directory(entry.directories, other.directories)) continue;
      findings.error(name->where, "models.overlap", in_quotes(text_of(name)) + " is in another entry already",
                     "two entries cannot share a directory", {{"the other entry", other.where}});
    }
    if (name != nullptr) entry.where = name->where;
    earlier.push_back(std::move(entry));
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
