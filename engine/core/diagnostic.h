#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/named_enum.h"

namespace sparkplan {

/// A range within one line of the user's file. Lines and columns count from 1. Columns count Unicode code points.
/// `end_column` is one past the last column. Line 0 means "no position".
struct SourceRange {
  int line = 0;
  int column = 0;
  int end_column = 0;

  bool known() const { return line > 0; }
  auto operator<=>(const SourceRange&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};

enum class Severity { kError, kWarning, kNote };

constexpr EnumNames<3> names_of(Severity /*severity*/) { return {"error", "warning", "note"}; }

/// A second place that a finding refers to: "first defined here".
struct DiagnosticNote {
  std::string message;
  SourceRange where;
  bool operator==(const DiagnosticNote&) const = default;
};

/// A finding about the user's input. One run reports many findings; an Error is one failed operation.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;     ///< Stable, can be searched for: "yaml.duplicate-key", "fabric.twins-in-one-subnet".
  std::string message;  ///< One sentence without a final period.
  std::string hint;     ///< The suggested correction; may be empty.
  std::string file;     ///< As the user wrote it; empty for findings without a file.
  SourceRange where;
  std::vector<DiagnosticNote> notes;
  std::string node;  ///< The node whose facts led to the finding; else empty.

  bool operator==(const Diagnostic&) const = default;
};

bool has_errors(const std::vector<Diagnostic>& diagnostics);

/// "file:line:column: error: message", the source line, a caret range and the hint.
/// `source` is the whole text of the file, or empty. A longer source line is cut to `quoted` columns around the caret.
inline constexpr std::size_t kLongestQuote = 200;
std::string render(const Diagnostic& diagnostic, std::string_view source, std::size_t quoted = kLongestQuote);

/// A finding of one sentence, a hint and a place. The caller adds the other fields of a Diagnostic: a file, a node,
/// notes.
Diagnostic finding(Severity severity, std::string code, std::string message, std::string hint = {},
                   SourceRange where = {});

/// A finding with the severity "error".
Diagnostic finding(std::string code, std::string message, std::string hint = {}, SourceRange where = {});

}  // namespace sparkplan
