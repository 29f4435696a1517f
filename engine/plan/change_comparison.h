#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/model/plan.h"

// Internal to engine/plan: compares what two plans display and do for one resource. All functions are pure. Each
// returned text is one clause without a final period, for an Error.

namespace sparkplan {

/// Equal, where an Unknown equals another one with the same reason and producer.
bool same_shown(const Value& a, const Value& b);

/// Equal, where an Unknown in `then` may have become any value.
bool may_become(const Value& then, const Value& now);

/// Why the second change is not displayed like the first one; nothing if it is. An Unknown in one must be an Unknown in
/// the other, for the same reason.
std::optional<std::string> why_shown_otherwise(const Change& then, const Change& now);

/// Why the second step differs from the first one: it has another state before or after, or is carried out in another
/// way.
std::optional<std::string> why_another_step(const Step& then, const Step& now);

/// As why_shown_otherwise(), without the fields that `kept` names. Without them, a displayed drift may be none any
/// more.
std::optional<std::string> why_rest_shown_otherwise(Change then, Change now, const std::set<std::string>& kept);

/// As why_another_step(), for a step that may do less than the displayed one: it may be for fewer resources. Each line
/// that it writes is displayed or there already, and it removes no line that the displayed step leaves.
std::optional<std::string> why_more_than_step(const Step& then, const Step& now);

/// The answers of these functions about pairs of steps, each computed once: the step of a file may be for thousands of
/// resources, and it is compared for each. The steps must outlive it, unchanged.
class ComparedSteps {
 public:
  /// Whether both steps find the same state.
  bool same_before(const Step& then, const Step& now);
  /// As why_another_step().
  const std::optional<std::string>& why_another(const Step& then, const Step& now);
  /// As why_more_than_step().
  const std::optional<std::string>& why_more_than(const Step& then, const Step& now);

 private:
  using Pair = std::pair<const Step*, const Step*>;

  std::map<Pair, bool> same_before_;
  std::map<Pair, std::optional<std::string>> why_another_;
  std::map<Pair, std::optional<std::string>> why_more_;
};

/// Compares the change of a later stage with the change displayed before the first stage. Displayed values must be
/// unchanged. Unknown values may have become known, and the fields' old values are ignored. Returns why it exceeds the
/// displayed change; nothing if it does not.
std::optional<std::string> why_beyond(const Change& shown, const Change& now);

}  // namespace sparkplan
