#pragma once

#include <optional>
#include <type_traits>

#include "engine/cli/terminal/console.h"
#include "engine/core/value.h"
#include "engine/load/load.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/plan/report.h"

namespace sparkplan {

template <class AnyReport>
auto& diagnostics_of(AnyReport& report) {
  if constexpr (std::is_same_v<std::remove_const_t<AnyReport>, Report>) {
    return report.diagnostics;
  } else {
    return report.run.diagnostics;
  }
}

template <class AnyReport>
void print_json(const AnyReport& report, const Console& console) {
  console.result_json(to_json_value(report));
}

/// The report with the findings of the file before its own.
template <class AnyReport>
AnyReport with_findings(AnyReport report, const LoadedCluster& loaded) {
  auto& diagnostics = diagnostics_of(report);
  diagnostics.insert(diagnostics.begin(), loaded.diagnostics.begin(), loaded.diagnostics.end());
  return report;
}

/// Prints a report of any command as text or JSON on standard output, and its diagnostics on standard error. The JSON
/// also contains the findings of the file and, if given, `verification`.
template <class AnyReport>
void print(const AnyReport& report, const LoadedCluster& loaded, bool json, const Console& console,
           const std::optional<Value>& verification = {}) {
  console.diagnostics(diagnostics_of(report), loaded.source);
  if (!json) return console.result(to_text(report, console.style()));
  auto value = to_json_value(with_findings(report, loaded));
  if (verification) value.set("verification", *verification);
  console.result_json(value);
}

}  // namespace sparkplan
