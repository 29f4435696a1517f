#include "engine/sync/content_item.h"

#include "engine/core/tree.h"
#include "engine/domain/hub/hub_cache.h"

namespace sparkplan {

namespace {

/// Sections of the cluster as a whole are the same on all nodes.
const Value::List& records_of(const Cluster& cluster, const std::string& section) {
  static const Value::List none;
  if (cluster.nodes.empty()) return none;
  const auto found = cluster.nodes.front().sections.find(section);
  return found == cluster.nodes.front().sections.end() ? none : items_of(found->second);
}

}  // namespace

std::vector<ContentItem> content_items(const Cluster& cluster) {
  std::vector<ContentItem> items;
  for (const Value& record : records_of(cluster, "models")) {
    const bool hub = record.find("hub") != nullptr;
    items.push_back({hub ? ContentKind::kHub : ContentKind::kDirectory, record.text_or(hub ? "hub" : "path", ""),
                     record.text_or("from", ""), record.text_or("owner", ""), record.where, ContainerEngine::kDocker});
  }
  for (const Value& record : records_of(cluster, "images")) {
    const auto engine = value_named<ContainerEngine>(record.text_or("engine", "")).value_or(ContainerEngine::kDocker);
    items.push_back(
        {ContentKind::kImage, record.text_or("name", ""), record.text_or("from", ""), "", record.where, engine});
  }
  return items;
}

Result<std::string> tree_of(const ContentItem& item, const Value* variables) {
  if (item.kind == ContentKind::kDirectory) return item.name;
  SPARK_TRY(const auto cache, hub_cache(variables));
  return cache + "/" + hub_folder(item.name);
}

}  // namespace sparkplan
