#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/resource/registry.h"
#include "engine/resource/resource_type.h"
#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// A folder resources/TYPE/cases/CASE. It holds
///   cluster.yaml   the desired state
///   observed.json  the observed node; every key is optional:
///     types     [resource types to observe]; all by default
///     node      its name; the first of the file by default
///     live      false for an image; true by default
///     files     {path: "content" or [lines] or {content, mode: "0644", uid, gid}}
///     symlinks  {path: target}
///     special   [path] devices
///     kernel    {path: "value" or {value, refuse_errno, maximum, read_error}}, below /proc/sys if relative
///     commands  {"command line": {exit_status, standard_output, standard_error}}
///     users     {name: {uid, gid, home, key}}; home is optional, null means that the directory does not exist;
///               key is the comment of the user's key, if the user has a key
///     exports   {node: {type: exports of that node}} of the other nodes
///     units     {unit name: {running, enabled, properties: {name: text}}} of a node with systemd (add_systemd());
///               their files are among "files"
///     storage   {devices: {name: file system}, servers: {NQN: device name}, connected: {NQN: {address, port,
///               state}}, mounts: [{source, target, type, options}], busy: [target]} (install_fake_storage())
///     modules   {name: {loaded, users}} of the node's kernel; users is the number of users of a loaded module
///     packages  {name: {version, installed, needs: [name], automatic, held, broken}}, available or installed
///     facts     as encode(Facts) has them; the fake node has the same links
///     manifest  {resources: {id: {last_applied, artifacts: [id]}}, artifacts: {id: original or null},
///               edited: [id of an artifact that another program has changed since]}
///   plan.json      the expected plan: describe()
struct CaseFolder {
  std::string type;
  std::string name;
  std::filesystem::path folder;

  std::string title() const { return type + "/" + name; }
};

/// Sorted by type and name.
std::vector<CaseFolder> all_cases(const Registry& registry);

/// A cluster and one of its nodes, in memory.
struct World {
  Cluster cluster;
  std::vector<std::string> types;  ///< Resource types to observe; empty: all.
  std::string self;                ///< The node's name.
  Facts facts;
  FakeNode node;
  bool applied = false;  ///< True when the node has a manifest.
  Manifest manifest;
  std::map<std::string, NodeExports> exports;  ///< Exports of the other nodes; a missing node was not asked.
  std::vector<Diagnostic> findings;            ///< Findings from loading the file.
};

/// Errors: kInvalidInput for a cluster.yaml with errors and for keys that observed.json does not have.
Result<World> open_case(const CaseFolder& folder, const Registry& registry);

/// The node's desired state, its observed state and the plan made from both.
struct Look {
  std::vector<Resource> desired;
  std::vector<Diagnostic> diagnostics;
  std::optional<Error> refused;
  std::set<std::string> incomplete_types;
  std::set<ResourceId> unresolved;
  ObservedState observed;
  NodePlan plan;
};
Look look_at(const World& world, const Registry& registry);

/// A plan for people and for comparison: multi-line text becomes a list of lines.
Value describe(const Look& look);

/// Compares with FOLDER/plan.json and returns the difference; empty when equal. With SPARKPLAN_ACCEPT=1 in the
/// environment the file is written instead.
std::string compare_with_golden(const CaseFolder& folder, const Value& actual);

Result<std::string> read_text(const std::filesystem::path& path);

}  // namespace sparkplan::test
