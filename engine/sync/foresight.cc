#include "engine/sync/foresight.h"

#include "engine/core/bounded_text.h"
#include "engine/sync/route.h"

namespace sparkplan {
namespace {

std::string counted_files(std::size_t number) { return std::to_string(number) + (number == 1 ? " file" : " files"); }

bool takes_no_part(const SyncNode& node) { return !node.is_read || node.shown->error.has_value(); }

}  // namespace

void foresee_networks(const Cluster& cluster, const std::vector<SyncNode>& nodes, std::size_t source,
                      ContentReport& report) {
  std::vector<std::size_t> places;
  std::vector<const NodeSpec*> specs;
  std::size_t first = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].skipped || takes_no_part(nodes[i]) || nodes[i].is_controller) continue;
    if (i != source && cluster.cables.empty() && report.nodes[i].comparison.in_sync()) continue;
    if (i == source) first = places.size();
    places.push_back(i);
    specs.push_back(nodes[i].spec);
  }
  if (specs.empty()) return;
  const auto found = senders(cluster, specs, first);
  for (std::size_t place = 0; place < places.size(); ++place) {
    ContentOfNode& shown = report.nodes[places[place]];
    if (const auto sender = found[place]) {
      const bool is_joined = !fabric_paths(cluster, *specs[*sender], *specs[place]).empty();
      shown.network = is_joined ? Network::kFabric : Network::kManagement;
    } else {
      shown.network = nodes[source].is_controller ? Network::kSsh : Network::kFabric;
    }
  }
}

Error not_replaced(const ContentItem& item, const Comparison& found) {
  if (item.kind == ContentKind::kImage) {
    return make_error(ErrorCode::kRefused, "another image of this name: " + found.differing.front(),
                      "look at the image; `sparkplan sync --yes` replaces it");
  }
  return make_error(ErrorCode::kRefused,
                    counted_files(found.differing.size()) + " with other content: " + found.differing.front(),
                    "look at the files; `sparkplan sync --yes` replaces them");
}

Error not_spread(const ContentReport& report, const std::string& source) {
  return make_error(ErrorCode::kRefused,
                    "without `from`, only " + source + " has " + counted_files(report.unshared.size()) + ": " +
                        shown_text(report.unshared.front()),
                    "name the node in `from`, or look at its content; `sparkplan sync --yes` sends it");
}

}  // namespace sparkplan
