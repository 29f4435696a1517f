#include "engine/model/resource.h"

#include <array>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

/// The fields of one resource.
constexpr std::size_t kMostNotApplicable = 256;
/// Of an error from a newer version. kMostErrorContext are kept.
constexpr std::size_t kMostSentContext = 256;

/// Lists the fields of a state, except its name.
struct StateFields {
  FieldVisitor& field;

  void operator()(Absent& /*absent*/) const {}
  void operator()(Present& present) const {
    field("value", present.value, kRequired);
    field("not_applicable", present.not_applicable,
          kOptional.unless(present.not_applicable.empty()).at_most(kMostNotApplicable));
  }
  void operator()(NotApplicable& not_applicable) const { field("reason", not_applicable.reason, kMessageText); }
  void operator()(Error& error) const { field("error", error, kRequired); }
};

}  // namespace

const Value& present_value(const Observation& observation) {
  static const Value nothing;
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? nothing : present->value;
}

void list_fields(FieldVisitor& field, Error& whole) {
  Error error = bounded(whole);
  std::string code(to_string(error.code));
  field("code", code, kRequired);
  field("message", error.message, kRequired.cut_at(kLongestErrorMessage));
  field("context", error.context,
        kOptional.cut_at(kLongestErrorContext).unless(error.context.empty()).at_most(kMostSentContext));
  field("sys_errno", error.sys_errno);
  field("hint", error.hint, kOptional.cut_at(kLongestErrorHint).unless(error.hint.empty()));
  if (!field.reading()) return;
  // The code of a newer version is still a failure, and the message names it.
  error.code = value_named<ErrorCode>(code).value_or(ErrorCode::kFailed);
  // A kBug of another program is a failure here: exit status 1 is reserved for bugs of this program.
  if (error.code == ErrorCode::kBug) error.code = ErrorCode::kFailed;
  whole = bounded(std::move(error));
}

void list_fields(FieldVisitor& field, Observation& observation) {
  static constexpr std::array<std::string_view, 4> kStates{"absent", "present", "not_applicable", "error"};
  field.tagged("state", observation, kStates, StateFields{field});
}

void list_fields(FieldVisitor& field, ForeignClaim& claim) {
  field("id", claim.id, kRequired);
  field("field", claim.field, kShortText);
  field("value", claim.value);
  field("source", claim.source, kMessageText);
  field("message", claim.message, kMessageText);
  field("harmless", claim.harmless);
}

void list_fields(FieldVisitor& field, Ineffective& ineffective) {
  field("name", ineffective.name, kMessageText);
  field("code", ineffective.code, kShortText);
  field("message", ineffective.message, kMessageText);
  field("hint", ineffective.hint, kOptional.cut_at(kLongestErrorHint));
}

void list_fields(FieldVisitor& field, ObservedType& type) {
  field("resources", type.resources, kOptional.at_most(kMostResources));
  field("artifacts", type.artifacts, kOptional.at_most(kMostResources));
  field("foreign", type.foreign, kOptional.at_most(kMostResources));
}

void list_fields(FieldVisitor& field, ObservedState& observed) {
  field("types", observed.types, kRequired.at_most(kMostTypes));
}

}  // namespace sparkplan
