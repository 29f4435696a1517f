#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/model/plan.h"
#include "engine/plan/report.h"
#include "engine/wire/apply_messages.h"

namespace sparkplan {

/// How far one change is.
struct ChangeOutcome {
  bool approved = false;
  bool sent = false;             ///< Sent to the node, and not answered yet: its outcome is unknown.
  bool carried_out = false;      ///< All its steps in one request were done. A later failure does not clear this.
  std::optional<Error> failure;  ///< Failed, stale or rolled back. Later plans exclude the change.
  std::set<ArtifactId> artifacts = {};  ///< Written by its finished steps.
};

/// The resources that a plan still changes, and of these the ones that wait.
struct LeftToDo {
  std::set<ResourceId> all;
  std::set<ResourceId> waiting;
};
LeftToDo left_to_do(const NodePlan& plan);

/// The outcome of each change of one node, from the approval to the report. Each phase advances it. Failures and
/// finished changes never go away, so a run with a hostile node ends.
class ChangeOutcomes {
 public:
  /// From now on exactly these changes may be carried out.
  void approve(const std::set<ResourceId>& ids);
  /// True if all changes of the step are approved.
  bool approves(const Step& step) const;
  void send(const std::vector<Step>& steps);
  /// The outcome of everything that was sent is known.
  void settle_sent();
  /// settle_sent(), then records the results, one for each step.
  void receive(const std::vector<Step>& steps, const ApplyReply& reply);
  /// Records a failure. The first failure of a change stays. False: it had failed before.
  bool fail(const ResourceId& id, Error error);
  /// As fail(): the change is no longer possible as it was approved.
  bool go_stale(const ResourceId& id, Error error);
  /// settle_sent(), then records that the node has undone the steps.
  void roll_back(const std::vector<Step>& steps, const Error& error);

  const ChangeOutcome& of(const ResourceId& id) const;
  const std::map<ResourceId, ChangeOutcome>& all() const { return changes_; }
  std::map<ResourceId, Error> failures() const;
  bool any_stale() const { return stale_; }
  /// The first failure that says what is stale; null if no failure does.
  const Error* why_stale() const;
  /// At least one step was done.
  bool wrote() const { return wrote_; }
  /// wrote(), or the outcome of a change is unknown.
  bool may_have_changed() const;
  /// Grows with each change that is carried out or fails.
  std::size_t progress() const;
  /// For the report. `left` is of the newest plan; `lost` is true if the node takes no further part.
  Outcome reported(const ResourceId& id, const LeftToDo& left, bool lost) const;

 private:
  std::map<ResourceId, ChangeOutcome> changes_;
  bool stale_ = false;
  bool wrote_ = false;
};

}  // namespace sparkplan
