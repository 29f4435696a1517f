#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/fields.h"
#include "engine/model/resource.h"

namespace sparkplan {

enum class Action : std::uint8_t { kCreate, kUpdate, kRemove };

/// The reason for a change. Origin describes the past, never what apply will do.
enum class Origin : std::uint8_t {
  kConfig,   ///< cluster.yaml changed, or the node was never applied.
  kDrift,    ///< The node was changed outside sparkplan: observed != last applied.
  kForeign,  ///< A foreign file sets another value; apply cannot correct it.
};

constexpr EnumNames<3> names_of(Action /*action*/) { return {"create", "update", "remove"}; }
constexpr EnumNames<3> names_of(Origin /*origin*/) { return {"config", "drift", "foreign"}; }

/// One field that differs. Null means "absent".
struct FieldChange {
  std::string path;  ///< "running", "mtu", "addresses.0"
  Value before;
  Value after;
};

/// One resource that differs from the file.
struct Change {
  ResourceId id;
  Action action = Action::kUpdate;
  Origin origin = Origin::kConfig;
  std::vector<FieldChange> fields;  ///< Sorted by path; empty only where is_harmless().
  Impact impact = Impact::kLive;
  Reversible reversible = Reversible::kExact;
  SourceRange where;  ///< Unknown position for a removal: no place in the file declares it.
  std::string note;   ///< The foreign file (foreign), the awaited step, or the source of a secret. Else empty.

  /// A foreign file that sets the same value, or another value without effect: printed, but not a difference.
  bool is_harmless() const { return origin == Origin::kForeign && fields.empty(); }
};

/// The phase of a node's run in which a step is carried out. The enumerators are in the order of execution.
enum class Phase : std::uint8_t {
  kPackages,
  kUsersAndKeys,
  kFiles,
  kKernelModules,
  kKernelParameters,
  kUnits,
  kStorage,
  kRestarts,
  kNetwork,
};
constexpr EnumNames<9> names_of(Phase /*phase*/) {
  return {"packages", "users_and_keys", "files",    "kernel_modules", "kernel_parameters",
          "units",    "storage",        "restarts", "network"};
}

/// One artifact that has to change. The agent carries out steps.
struct Step {
  std::string type;  ///< The resource type it belongs to.
  ArtifactId artifact;
  Phase phase = Phase::kFiles;
  Observation before;                 ///< The planned state before the step; the node compares it (compare-and-swap).
                                      ///< Never an Error.
  Observation after;                  ///< Absent or Present, without Unknown.
  std::vector<ResourceId> resources;  ///< The changes that need this step.
  std::vector<ResourceId> needs;      ///< The step is skipped if a step of one of these resources has failed in the
                                      ///< same run.
  /// When one step of a group fails, all steps of that group on the node are undone, last first. So a kernel parameter
  /// does not keep its new value when its file cannot be written.
  std::string group;
  /// Activates the content that other steps of its group write ("let networkd read its files again"). It runs after
  /// them. It is also undone after them, so that it finds the old files again.
  bool activates = false;
  /// May cut our connection, or the node's connections to other nodes. All such steps of a node run last, all or none.
  /// A timer on the node undoes them unless a controller reconnects and confirms them.
  bool disruptive = false;
  /// Whether a step with `before` in place of `after` restores the old state. The text of a file is always restored.
  Reversible reversible = Reversible::kExact;
};

void list_fields(FieldVisitor& field, Step& step);

/// A resource that cannot be planned, and the reason.
struct BlockedResource {
  ResourceId id;
  Error error;
  SourceRange where;
};

/// A resource that cannot exist on this node.
struct SkippedResource {
  ResourceId id;
  std::string field;  ///< Empty: the whole resource.
  std::string reason;
};

/// The changes and steps of one node. Immutable once made.
struct NodePlan {
  std::vector<Change> changes;  ///< By phase, then id.
  std::vector<Step> steps;      ///< In the order of execution.
  std::vector<BlockedResource> blocked;
  std::vector<SkippedResource> not_applicable;
  std::vector<ResourceId> kept_orphans;  ///< No longer in the file, but changed outside sparkplan: left as they are.
  std::vector<ResourceId> waiting;       ///< Contain an Unknown: a later stage plans them.
  /// The manifest's content for the current state: the desired value of resources in sync, the last applied value of
  /// all others that are still managed.
  std::map<ResourceId, Value> resulting;
  /// The manifest's value for a resource after all its steps. Null: the resource is gone, and its entry is removed.
  std::map<ResourceId, Value> after_steps;
  int managed_before = 0;  ///< The number of resources in the manifest before this plan, for the prune guard.

  bool in_sync() const {
    return blocked.empty() && waiting.empty() &&
           std::all_of(changes.begin(), changes.end(), [](const Change& one) { return one.is_harmless(); });
  }
};

}  // namespace sparkplan
