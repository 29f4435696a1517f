#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/fleet/apply/apply_run.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

/// A cluster of directories, each served by the embedded agent like a real node.
class FleetBench {
 public:
  explicit FleetBench(std::size_t nodes);

  /// The file's sections; the nodes n1, n2 ... are written below them.
  std::string sections;
  std::string cluster_name = "lab";
  /// Added to a node's entry: ", maintenance: true". One item per node.
  std::vector<std::string> extra;
  /// Nodes that the file does not name.
  std::vector<bool> left_out;

  RunOptions run;
  ApplyOptions options;

  std::string file() const;
  Report plan() const;
  /// The plan from plan(), as a saved file holds it.
  SavedPlan saved_plan() const;
  Report apply() const;
  /// An apply() that must succeed and leave an empty plan; otherwise the test fails.
  void apply_all() const;

  ScratchDirectory& root(std::size_t number) { return *roots_.at(number - 1); }
  const ScratchDirectory& root(std::size_t number) const { return *roots_.at(number - 1); }
  /// All files on all nodes, except sparkplan's own.
  std::vector<std::map<std::string, std::string>> trees() const;
  /// All files on all nodes, except the lock's file, which names the last lock holder.
  std::vector<std::map<std::string, std::string>> whole_trees() const;

 private:
  Cluster load() const;
  std::vector<std::unique_ptr<ScratchDirectory>> roots_;
};

int exit_of(const Report& report);
/// "n1 in_sync, n2 pending": the status of every node.
std::string standing(const Report& report);
bool has_diagnostic(const Report& report, const std::string& code);
/// "n1 create sysctl/a config": every change of every node, in their order.
std::vector<std::string> changes(const Report& report);

inline constexpr auto kSysctlFile = "/etc/sysctl.d/90-sparkplan.conf";
inline constexpr auto kProfileFile = "/etc/profile.d/sparkplan-env.sh";
inline constexpr auto kManifestFile = "/var/lib/sparkplan/manifest.json";

}  // namespace sparkplan::test
