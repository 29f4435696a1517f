#pragma once

#include <string>

#include "engine/core/value.h"
#include "engine/doctor/doctor_run.h"
#include "engine/report/text/text_style.h"
#include "engine/verify/verify_run.h"

/// The output of `verify` and `doctor`. In texts, all content of nodes and of the file passes printable().
namespace sparkplan {

/// One line for checks with equal text, failures last, then the counts and, for measurements between pairs, a matrix.
/// Lines but those of a matrix are at most `style.width` columns wide.
std::string to_text(const VerifyReport& report, const TextStyle& style);
/// Failures and warnings first, each with the fact that was read, its cause and its fix; then the number of passed
/// rows, or with `style.verbose` their names. The counts are those of the lines, while the JSON counts each node. Lines
/// are at most `style.width` columns wide.
std::string to_text(const DoctorReport& report, const TextStyle& style);

/// Schema: schemas/verify.schema.json.
Value to_json_value(const VerifyReport& report);
/// Schema: schemas/doctor.schema.json.
Value to_json_value(const DoctorReport& report);

/// JUnit XML: one suite per level, one case per check.
std::string to_junit(const VerifyReport& report);

/// Checks, or findings, by status.
struct StatusCounts {
  std::size_t pass = 0, warn = 0, fail = 0, skip = 0;

  void add(CheckStatus status) {
    if (status == CheckStatus::kPass) ++pass;
    if (status == CheckStatus::kWarn) ++warn;
    if (status == CheckStatus::kFail) ++fail;
    if (status == CheckStatus::kSkip) ++skip;
  }
};
template <class Checks>
StatusCounts count_by_status(const Checks& checks) {
  StatusCounts counts;
  for (const auto& check : checks) counts.add(check.status);
  return counts;
}

/// A failure or a warning.
constexpr bool is_problem(CheckStatus status) { return status == CheckStatus::kFail || status == CheckStatus::kWarn; }

/// True for the levels whose checks measure one half of the fabric.
constexpr bool measures_a_half(Level level) {
  return level == Level::kLink || level == Level::kMtu || level == Level::kTcp || level == Level::kRdma;
}

}  // namespace sparkplan
