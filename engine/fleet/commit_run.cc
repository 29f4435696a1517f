// The end of an apply: departing nodes are released, and the manifests say what is.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/run_identity.h"

namespace sparkplan {
namespace {

bool same_resources(const std::map<ResourceId, ManagedResource>& a, const std::map<ResourceId, ManagedResource>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.last_applied == y.second.last_applied &&
           x.second.artifacts == y.second.artifacts;
  });
}

/// What the manifest is to say: what was seen to be in sync, and what it said of all else.
std::map<ResourceId, ManagedResource> managed_after(const NodeRun& node) {
  std::map<ResourceId, ManagedResource> managed;
  for (const auto& [id, value] : node.plan.resulting) {
    auto& resource = managed[id];
    resource.last_applied = value;
    std::set<ArtifactId> artifacts;
    if (const auto carried = node.artifacts.find(id); carried != node.artifacts.end()) artifacts = carried->second;
    if (node.known.manifest) {
      const auto known = node.known.manifest->resources.find(id);
      if (known != node.known.manifest->resources.end()) {
        artifacts.insert(known->second.artifacts.begin(), known->second.artifacts.end());
      }
    }
    resource.artifacts.assign(artifacts.begin(), artifacts.end());
  }
  return managed;
}

}  // namespace

std::string ClusterRun::audit_line(const NodeRun& node, const std::string& what) const {
  return "run=" + run_ + " cluster=" + cluster_.name + " node=" + node.spec->name.str() +
         " by=" + this_controller(options_.command).who + " " + what +
         " changes=" + std::to_string(node.shown.changes.size()) + " failed=" + std::to_string(node.failures.size());
}

Roster ClusterRun::new_roster() const {
  std::set<std::string> released;
  std::set<std::string> consented;
  for (const auto& node : nodes_) {
    if (node.released) released.insert(node.spec->name.str());
    if (node.leaving && !node.not_contacted && !node.skipped) consented.insert(node.spec->name.str());
  }
  if (rolls_back_) return roster_;
  return next_roster(roster_, cluster_, machines(), released, consented, uuid_);
}

Roster ClusterRun::new_roster_of(const NodeRun& node, const Roster& next) const {
  if (!node.known.manifest) return roster_of_node(next, {}, cluster_, single_witness_);
  if (rolls_back_) return node.known.manifest->roster;  // Who belongs to the cluster is the file's business.
  return roster_of_node(next, node.known.manifest->roster, cluster_, single_witness_);
}

/// A node on which something could not be undone keeps its manifest and its agent, to try again.
void ClusterRun::release_departing() {
  on_each([&](NodeRun& node) {
    const bool all_undone = node.plan.steps.empty() && node.plan.blocked.empty() && node.failures.empty();
    if (!node.leaving || !all_undone || node.stopped) return;
    tell(node, "releasing");
    auto released = node.client->call(ReleaseRequest{audit_line(node, "released")});
    if (!released) return give_up(node, std::move(released).error().within("release"));
    node.client.reset();  // Its lock has gone with it.
    node.released = true;
  });
}

void ClusterRun::commit(NodeRun& node, const Roster& roster) {
  const auto managed = node.undo ? managed_after_undoing(node) : managed_after(node);
  const auto* before = node.known.manifest ? &*node.known.manifest : nullptr;
  const bool nothing_new =
      before != nullptr && !node.wrote && before->roster == roster && same_resources(before->resources, managed);
  if (nothing_new) return;
  auto committed =
      node.client->call(CommitRequest{run_, node.spec->name.str(), roster, managed,
                                      audit_line(node, rolls_back_ ? "rolled_back=" + node.undo->run : "applied")});
  if (!committed) give_up(node, std::move(committed).error().within("write the manifest"));
}

void ClusterRun::commit_all() {
  const auto roster = new_roster();
  on_each([&](NodeRun& node) { commit(node, new_roster_of(node, roster)); });
}

}  // namespace sparkplan
