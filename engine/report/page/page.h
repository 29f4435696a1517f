#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/doctor/check_status.h"
#include "engine/markup/markup.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The most bytes of one text that a node or the file words.
inline constexpr std::size_t kLongestPageText = 1500;
/// The size of a section from which on it only counts its other entries.
inline constexpr std::size_t kMostSectionBytes = 150'000;

/// A page under construction: a title, a verdict, and sections in their order.
class Page {
 public:
  /// `report`: of the command that makes the page.
  Page(const Report& report, std::string version);

  /// The verdict at the top. `status` decides its sign and colour.
  void verdict(CheckStatus status, const std::string& text);
  /// Begins a section with a heading of the second rank. The reference stays valid.
  Markup& section(Constant id, const std::string& title);
  std::string html() &&;

 private:
  struct Section {
    Constant id;
    std::string title;
    Markup body;
  };

  void head(Markup& page) const;
  void header(Markup& page) const;

  std::string command_;
  std::string cluster_;
  std::string file_;
  std::string made_;
  std::string version_;
  std::string duration_;
  CheckStatus status_ = CheckStatus::kPass;
  std::string verdict_;
  std::deque<Section> sections_;
};

/// "2026-03-01 12:00:00 UTC" for a time of RFC 3339 in UTC; empty for a shorter text.
std::string shown_time(const std::string& rfc3339);

/// Sign and word of a status: a cross and "FAIL".
void write_status(Markup& markup, CheckStatus status);

/// A table that can be wider than the page: a region that can be scrolled with the keyboard, named by its caption.
/// open_table() leaves the element tbody open; close_table() closes it.
void open_table(Markup& markup, Constant css, const std::string& caption, const std::vector<std::string>& columns);
void close_table(Markup& markup);
/// A row whose first cell is its heading.
void write_row(Markup& markup, const std::vector<std::string>& cells);

/// Adds a section with the findings, if there are any.
void add_findings(Page& page, const std::vector<Diagnostic>& diagnostics);

/// The style of all pages.
Constant page_style();

}  // namespace sparkplan
