#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan {

/// The most errors that one pass over the file keeps, and the most other findings. Many checks repeat for each node,
/// and a message that names the node differs each time.
inline constexpr std::size_t kMostKeptFindings = 30'000;

/// The longest message of a finding or of its note, in bytes. A "name" of a megabyte can be in thousands of them.
inline constexpr std::size_t kLongestFinding = 1000;

/// The findings of one pass over a file, in the order of discovery. Of findings with the same place and text, the first
/// one is kept.
class Findings {
 public:
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  ~Findings() = default;

  void error(SourceRange where, std::string code, std::string message, std::string hint = {},
             std::vector<DiagnosticNote> notes = {}) {
    add({Severity::kError, std::move(code), std::move(message), std::move(hint), {}, where, std::move(notes), {}});
  }
  void warning(SourceRange where, std::string code, std::string message, std::string hint = {},
               std::vector<DiagnosticNote> notes = {}) {
    add({Severity::kWarning, std::move(code), std::move(message), std::move(hint), {}, where, std::move(notes), {}});
  }
  void add(Diagnostic diagnostic) {
    // Errors have a count of their own: no number of warnings hides the first error.
    std::size_t& kept = diagnostic.severity == Severity::kError ? errors_ : others_;
    diagnostic.message = cut_text(std::move(diagnostic.message), kLongestFinding);
    diagnostic.hint = cut_text(std::move(diagnostic.hint), kLongestFinding);
    for (DiagnosticNote& note : diagnostic.notes) note.message = cut_text(std::move(note.message), kLongestFinding);
    all_.push_back(std::move(diagnostic));
    const auto [place, is_new] = order_.insert(all_.size() - 1);
    if (is_new && kept < kMostKeptFindings) {
      ++kept;
      return;
    }
    if (is_new) order_.erase(place);
    all_.pop_back();
    is_cut_ = is_cut_ || is_new;
  }

  const std::vector<Diagnostic>& all() const { return all_; }
  /// True if there were more findings than kMostKeptFindings.
  bool is_cut() const { return is_cut_; }
  std::vector<Diagnostic> take() {
    order_.clear();
    return std::move(all_);
  }

 private:
  /// Compares two findings by their indexes.
  struct ByContent {
    const std::vector<Diagnostic>* all;
    bool operator()(std::size_t a, std::size_t b) const {
      const auto content = [this](std::size_t index) {
        const Diagnostic& one = (*all)[index];
        return std::tie(one.where, one.severity, one.code, one.message);
      };
      return content(a) < content(b);
    }
  };

  std::vector<Diagnostic> all_;
  std::set<std::size_t, ByContent> order_{ByContent{&all_}};
  std::size_t errors_ = 0;
  std::size_t others_ = 0;
  bool is_cut_ = false;
};

}  // namespace sparkplan
