#include "engine/sync/content_item.h"

#include "engine/core/tree.h"

namespace sparkplan {

std::vector<ContentItem> content_items(const Cluster& cluster) {
  std::vector<ContentItem> items;
  if (cluster.nodes.empty()) return items;
  const auto& sections = cluster.nodes.front().sections;
  const auto models = sections.find("models");
  if (models == sections.end()) return items;
  for (const Value& record : items_of(models->second)) {
    const std::string path = record.text_or("path", "");
    items.push_back({path, path, record.text_or("from", ""), record.text_or("owner", ""), record.where});
  }
  return items;
}

}  // namespace sparkplan
