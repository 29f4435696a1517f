#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
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

/// Why a change is there. Origin is about the past, never about what apply will do.
enum class Origin : std::uint8_t {
  kConfig,   ///< cluster.yaml changed, or the node was never applied.
  kDrift,    ///< The node was changed behind our back: observed != last applied.
  kForeign,  ///< Somebody else's file says otherwise; apply cannot mend it.
};

/// "create", "update", "remove"; "config", "drift", "foreign".
std::span<const std::string_view> names_of(Action action);
std::span<const std::string_view> names_of(Origin origin);

/// One field that differs. Null means "not there".
struct FieldChange {
  std::string path;  ///< "running", "mtu", "addresses.0"
  Value before;
  Value after;
};

/// One resource that is not as the file wants it.
struct Change {
  ResourceId id;
  Action action = Action::kUpdate;
  Origin origin = Origin::kConfig;
  std::vector<FieldChange> fields;  ///< Sorted by path; empty only where is_harmless().
  Impact impact = Impact::kLive;
  Reversible reversible = Reversible::kExact;
  SourceRange where;  ///< Unknown position for a removal: nothing in the file asks for it.
  std::string note;   ///< Who says otherwise (foreign), or what it waits for. Else empty.

  /// Of somebody else's file that says it too, or says otherwise and loses: shown, and no difference.
  bool is_harmless() const { return origin == Origin::kForeign && fields.empty(); }
};

/// When on a node a step runs. The order of the enumerators is the order of the steps.
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
std::span<const std::string_view> names_of(Phase phase);

/// One artifact that has to become something else. Steps are what the agent carries out.
struct Step {
  std::string type;  ///< The resource type it belongs to.
  ArtifactId artifact;
  Phase phase = Phase::kFiles;
  Observation before;                 ///< As planned on; the node compares (compare-and-swap). Never an Error.
  Observation after;                  ///< Absent or Present, without Unknown.
  std::vector<ResourceId> resources;  ///< The changes that need it.
  std::vector<ResourceId> needs;      ///< Not carried out when a step of one of these has failed in the same run.
  /// Steps of one group on one node are undone together, last first, when one of them fails:
  /// a kernel parameter that could be set does not stay when its file cannot be written.
  std::string group;
  /// Makes take effect what other steps of its group write ("let networkd read its files again"):
  /// comes after them, and is undone after they are, so that it finds the old files again.
  bool activates = false;
  /// Could cut the connection that we speak through, or the node off from others: carried out last, all
  /// such steps of a node or none, with a timer on the node that undoes them unless somebody who has
  /// reached the node anew confirms them.
  bool disruptive = false;
  /// Whether carrying it out with `before` for `after` brings the old state back. The text of a file always comes back.
  Reversible reversible = Reversible::kExact;
};

void list_fields(FieldVisitor& field, Step& step);

/// A resource for which nothing can be planned, and why.
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

/// What has to happen on one node. Immutable once made.
struct NodePlan {
  std::vector<Change> changes;  ///< By phase, then id.
  std::vector<Step> steps;      ///< In the order of execution.
  std::vector<BlockedResource> blocked;
  std::vector<SkippedResource> not_applicable;
  std::vector<ResourceId> kept_orphans;  ///< No longer in the file, but changed by somebody: left alone.
  std::vector<ResourceId> waiting;       ///< Hold an Unknown: a later stage plans them.
  /// What the manifest may say as things are now: the desired value of what is seen in sync, the
  /// last applied one of all else that is still managed.
  std::map<ResourceId, Value> resulting;
  /// What the manifest may say of a resource once all its steps are done; null: nothing, it is gone.
  std::map<ResourceId, Value> after_steps;
  int managed_before = 0;  ///< Resources in the manifest before this plan, for the prune guard.

  bool in_sync() const {
    return blocked.empty() && waiting.empty() &&
           std::all_of(changes.begin(), changes.end(), [](const Change& one) { return one.is_harmless(); });
  }
};

}  // namespace sparkplan
