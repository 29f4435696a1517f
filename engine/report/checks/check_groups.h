#pragma once

#include <string>
#include <vector>

#include "engine/verify/check.h"

// Pure. Checks that share a line or a paragraph of a report.

namespace sparkplan {

/// The cause. Blocked checks share a text, whatever check blocks them.
std::string shared_reason(const Check& check);

/// Checks that share a line.
struct CheckGroup {
  const Check* first = nullptr;
  std::vector<const Check*> checks;

  /// Failures and warnings share a line only if its whole text is true of both. Passed checks may differ in their
  /// value, and skipped checks in the check that blocks them.
  bool takes(const Check& check) const;
};

/// In the order of the checks.
std::vector<CheckGroup> groups_of(const std::vector<Check>& checks);

/// "spark-01 -> spark-02" for few pairs, "spark-[01-08], 56 pairs" for many. Printable.
std::string nodes_text(const CheckGroup& group);

/// "9000 bytes", "41.2 to 43.0 Gb/s"; empty without a value. Printable.
std::string values_text(const CheckGroup& group);

}  // namespace sparkplan
