#pragma once

#include <string>
#include <vector>

#include "engine/doctor/doctor_run.h"

namespace sparkplan {

/// Nodes with the same finding on one row.
struct DoctorProblem {
  const Finding* first = nullptr;
  std::vector<std::string> nodes;  ///< Sorted.
};

/// The result of `doctor` by row. The terminal and the page share it, so they print the same numbers.
struct DoctorRows {
  std::vector<DoctorProblem> problems;  ///< Failures, then warnings.
  /// Rows without a problem, in the order of the table. A row counts as passed if a node has passed it.
  std::vector<std::string> passed, skipped;

  /// "1 failed, 2 warnings, 118 passed, 4 skipped"
  std::string counts_text() const;
};

/// Pure. The findings outlive the result.
DoctorRows doctor_rows(const std::vector<Finding>& findings);

}  // namespace sparkplan
