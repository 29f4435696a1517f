#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/sync/image.h"
#include "engine/sync/sync_run.h"
#include "tests/unit/sync/copy_nodes.h"

/// Whole runs of `sync` on nodes that answer as the case says.
namespace sparkplan::test {

/// How many times a node may start its program.
inline constexpr std::size_t kMostStarts = 24;

struct Bench {
  explicit Bench(std::size_t count) : nodes(count), cluster(on_a_switch(count)) {}

  void declare(const std::string& section, const Value& record) {
    for (NodeSpec& node : cluster.nodes) node.sections.emplace(section, Value::list({record}));
  }
  SyncReport run() {
    RunOptions run;
    run.agent = options_for(nodes, kMostStarts);
    return sync_content(cluster, run, options);
  }

  std::vector<CopyNode> nodes;
  Cluster cluster;
  SyncOptions options;
};

inline int removals_of(const CopyNode& node) {
  const auto prunes = node.all<CopyPrune>();
  return static_cast<int>(std::count_if(prunes.begin(), prunes.end(), [](const CopyPrune& one) { return one.remove; }));
}

inline const std::string kFirst(64, 'a');
inline const std::string kSecond(64, 'b');

/// Of the image local/vllm:1 of podman.
inline std::string stage_with(const std::string& id) {
  ContentItem item;
  item.kind = ContentKind::kImage;
  item.name = "local/vllm:1";
  item.engine = ContainerEngine::kPodman;
  return stage_of(item, id);
}

}  // namespace sparkplan::test
