#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/fleet/cluster_run.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

/// A cluster of directories, each served by the embedded agent as a real node is.
class FleetBench {
 public:
  explicit FleetBench(std::size_t nodes);

  /// The file's sections; the nodes n1, n2 ... are written below them.
  std::string sections;
  std::string cluster_name = "lab";
  /// Added to a node's entry: ", maintenance: true". One for each node.
  std::vector<std::string> extra;
  /// Nodes that the file does not name.
  std::vector<bool> left_out;

  RunOptions run;
  ApplyOptions options;

  std::string file() const;
  Report plan() const;
  /// The same plan as a file would hold it.
  SavedPlan saved_plan() const;
  Report apply() const;
  /// apply() that has to succeed and to leave an empty plan; both fail the test otherwise.
  void apply_all() const;

  ScratchDirectory& root(std::size_t number) { return *roots_.at(number - 1); }
  const ScratchDirectory& root(std::size_t number) const { return *roots_.at(number - 1); }
  /// Everything on all nodes but what sparkplan keeps for itself.
  std::vector<std::map<std::string, std::string>> trees() const;
  /// Everything on all nodes but the lock's file, which tells who came last.
  std::vector<std::map<std::string, std::string>> whole_trees() const;

 private:
  Cluster load() const;
  std::vector<std::unique_ptr<ScratchDirectory>> roots_;
};

int exit_of(const Report& report);
/// "n1 in_sync, n2 pending": how every node stands.
std::string standing(const Report& report);
/// "n1 create sysctl/a config": every change of every node, in their order.
std::vector<std::string> changes(const Report& report);

inline constexpr auto kSysctlFile = "/etc/sysctl.d/90-sparkplan.conf";
inline constexpr auto kProfileFile = "/etc/profile.d/sparkplan-env.sh";
inline constexpr auto kManifestFile = "/var/lib/sparkplan/manifest.json";

}  // namespace sparkplan::test
