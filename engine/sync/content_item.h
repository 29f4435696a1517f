#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// One entry of `models`: content that every node is to have.
struct ContentItem {
  std::string name;   ///< As the file and the report name it: the path.
  std::string path;   ///< The directory on the nodes.
  std::string from;   ///< The node whose content counts; empty: the node that has most of it.
  std::string owner;  ///< Empty: the owners on the source.
  SourceRange where;
};

/// Pure. In the order of the file.
std::vector<ContentItem> content_items(const Cluster& cluster);

}  // namespace sparkplan
