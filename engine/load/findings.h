#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan {

/// The findings of one load, in the order of discovery.
class Findings {
 public:
  void error(SourceRange where, std::string code, std::string message, std::string hint = {},
             std::vector<DiagnosticNote> notes = {}) {
    add(Severity::kError, where, std::move(code), std::move(message), std::move(hint), std::move(notes));
  }
  void warning(SourceRange where, std::string code, std::string message, std::string hint = {},
               std::vector<DiagnosticNote> notes = {}) {
    add(Severity::kWarning, where, std::move(code), std::move(message), std::move(hint), std::move(notes));
  }
  void add(Diagnostic diagnostic) { all_.push_back(std::move(diagnostic)); }

  const std::vector<Diagnostic>& all() const { return all_; }
  std::vector<Diagnostic> take() { return std::move(all_); }

 private:
  void add(Severity severity, SourceRange where, std::string code, std::string message, std::string hint,
           std::vector<DiagnosticNote> notes) {
    all_.push_back(
        Diagnostic{severity, std::move(code), std::move(message), std::move(hint), {}, where, std::move(notes), {}});
  }

  std::vector<Diagnostic> all_;
};

}  // namespace sparkplan
