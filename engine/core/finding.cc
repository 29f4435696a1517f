#include "engine/core/finding.h"

#include <utility>

namespace sparkplan {

Diagnostic finding(Severity severity, std::string code, std::string message, std::string hint, SourceRange where) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  diagnostic.where = where;
  return diagnostic;
}

Diagnostic finding(std::string code, std::string message, std::string hint, SourceRange where) {
  return finding(Severity::kError, std::move(code), std::move(message), std::move(hint), where);
}

}  // namespace sparkplan
