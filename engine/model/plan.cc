#include "engine/model/plan.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, Step& step) {
  field("type", step.type, kRequired);
  field("artifact", step.artifact, kRequired);
  field("phase", step.phase, kRequired);
  field("before", step.before, kRequired);
  field.check("before", !std::holds_alternative<Error>(step.before), "an error is not a state to start from");
  field("after", step.after, kRequired);
  const bool is_target = std::holds_alternative<Absent>(step.after) || std::holds_alternative<Present>(step.after);
  field.check("after", is_target, "expected absent or present");
  field("resources", step.resources, kOptional.at_most(kMostResources));
  field("needs", step.needs, kOptional.at_most(kMostResources));
  field("group", step.group);
  field("activates", step.activates);
  field("cutting", step.disruptive);
  field("reversible", step.reversible, kOptional.unless(step.reversible == Reversible::kExact));
}

}  // namespace sparkplan
