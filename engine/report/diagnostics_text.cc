#include "engine/report/diagnostics_text.h"

#include <cstddef>

#include "engine/report/text_style.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostOfAKind = 50;

}  // namespace

std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, std::string_view source, bool errors_only) {
  std::string text;
  std::size_t errors = 0;
  std::size_t others = 0;
  for (const auto& diagnostic : diagnostics) {
    const bool is_error = diagnostic.severity == Severity::kError;
    if (errors_only && !is_error) continue;
    if (++(is_error ? errors : others) <= kMostOfAKind) text += render(diagnostic, source);
  }
  std::string rest;
  if (errors > kMostOfAKind) rest += counted(errors - kMostOfAKind, "more error");
  if (others > kMostOfAKind) rest += (rest.empty() ? "" : " and ") + counted(others - kMostOfAKind, "more warning");
  if (rest.empty()) return text;
  return text + "and " + rest + "\n  hint: with --json all are listed\n";
}

}  // namespace sparkplan
