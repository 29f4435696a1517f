#include "engine/plan/readable_ids.h"

#include "engine/core/ids.h"

namespace sparkplan {
namespace {

class IdReader {
 public:
  const std::optional<std::string>& unreadable() const { return unreadable_; }

  template <class Id>
  void read(const Id& id) {
    if (unreadable_) return;
    const auto again = Id::parse(id.str());
    if (!again || *again != id) unreadable_ = id.str();
  }
  template <class Ids>
  void read_all(const Ids& ids) {
    for (const auto& id : ids) read(id);
  }

 private:
  std::optional<std::string> unreadable_;
};

}  // namespace

std::optional<std::string> unreadable_id(const NodePlan& plan) {
  IdReader ids;
  for (const Change& change : plan.changes) ids.read(change.id);
  for (const Step& step : plan.steps) {
    ids.read(step.artifact);
    ids.read_all(step.resources);
    ids.read_all(step.needs);
  }
  for (const BlockedResource& one : plan.blocked) ids.read(one.id);
  for (const SkippedResource& one : plan.not_applicable) ids.read(one.id);
  ids.read_all(plan.kept_orphans);
  ids.read_all(plan.waiting);
  for (const auto& [id, value] : plan.resulting) ids.read(id);
  for (const auto& [id, value] : plan.after_steps) ids.read(id);
  return ids.unreadable();
}

}  // namespace sparkplan
