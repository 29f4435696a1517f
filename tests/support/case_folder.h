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
///   cluster.yaml   what is asked for
///   observed.json  the node it is asked of; every key may be missing:
///     types     [resource types that are looked at]; all by default
///     node      its name; the first of the file by default
///     live      false for an image; true by default
///     files     {path: "content" or [lines] or {content, mode: "0644", uid, gid}}
///     symlinks  {path: target}
///     special   [path] devices
///     kernel    {path: "value" or {value, refuse_errno, maximum, read_error}}, below /proc/sys if relative
///     commands  {"command line": {exit_status, standard_output, standard_error}}
///     users     {name: {uid, gid, home, key}}; home may be missing, or null for one that is not there;
///               key is the comment of the user's key, where there is one
///     exports   {node: {type: what that node exports}} of the other nodes
///     units     {unit name: {running, enabled, properties: {name: text}}} of a node with systemd (add_systemd());
///               their files are among "files"
///     storage   {devices: {name: file system}, servers: {NQN: device name}, connected: {NQN: {address, port,
///               state}}, mounts: [{source, target, type, options}], busy: [target]} (install_fake_storage())
///     modules   {name: {loaded, users}} that the node's kernel has, with their users where they are loaded
///     packages  {name: {version, installed, needs: [name], automatic, broken}} of the node's sources and on it
///     facts     as encode(Facts) has them; the links are also those of the node
///     manifest  {resources: {id: {last_applied, artifacts: [id]}}, artifacts: {id: original or null},
///               edited: [id of an artifact that somebody has changed since]}
///   plan.json      the plan that must come out: describe()
struct CaseFolder {
  std::string type;
  std::string name;
  std::filesystem::path folder;

  std::string title() const { return type + "/" + name; }
};

/// Sorted by type and name.
std::vector<CaseFolder> all_cases(const Registry& registry);

/// A cluster and one node of it, in memory.
struct World {
  Cluster cluster;
  std::vector<std::string> types;  ///< Resource types that are looked at; empty: all.
  std::string self;                ///< The node's name.
  Facts facts;
  FakeNode node;
  bool applied = false;  ///< True when the node has a manifest.
  Manifest manifest;
  std::map<std::string, NodeExports> exports;  ///< Of the other nodes; one that is missing was not asked.
  std::vector<Diagnostic> findings;            ///< Of loading the file.
};

/// Errors: kInvalidInput for a cluster.yaml with errors and for keys that observed.json does not have.
Result<World> open_case(const CaseFolder& folder, const Registry& registry);

/// One look at the node and what comes of it.
struct Look {
  std::vector<Resource> desired;
  std::vector<Diagnostic> diagnostics;
  std::optional<Error> refused;
  std::set<std::string> incomplete_types;
  ObservedState observed;
  NodePlan plan;
};
Look look_at(const World& world, const Registry& registry);

/// A plan for people and for comparison: text of several lines becomes a list of them.
Value describe(const Look& look);

/// Compares with FOLDER/plan.json. With SPARKPLAN_ACCEPT=1 in the environment the file is written
/// instead. Empty when equal, else the difference.
std::string compare_with_golden(const CaseFolder& folder, const Value& actual);

Result<std::string> read_text(const std::filesystem::path& path);

}  // namespace sparkplan::test
