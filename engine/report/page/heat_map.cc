#include "engine/report/page/heat_map.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// From this number of nodes on, the names above the columns are written downwards.
constexpr std::size_t kManyNodes = 9;
/// From this number on, the table needs a wide sheet of paper.
constexpr std::size_t kWideNodes = 25;
/// Of all matrices together: nine of 64 nodes fit, also if every cell failed.
constexpr std::size_t kMostBytes = 1'200'000;
/// More cells than this do not fit, also if all are empty: such a matrix is not even written.
constexpr std::size_t kMostCells = kMostBytes / std::string_view("<td></td>").size();

std::string sign_of(CheckStatus status) {
  if (status == CheckStatus::kFail) return "\u2717 ";
  return status == CheckStatus::kWarn ? "\u25b3 " : "";
}

void write_cell(Markup& body, const PairMatrix& matrix, std::size_t row, std::size_t column) {
  const PairCell* cell = matrix.at(row, column);
  if (cell == nullptr) {
    body.element("td", row == column ? "\u00b7" : "");
    return;
  }
  if (!cell->value) {
    body.element("td", cell->status == CheckStatus::kFail ? "\u2717 none" : "\u2013");
    return;
  }
  std::string css = "h" + std::to_string(matrix.shade(*cell));
  if (cell->status == CheckStatus::kFail) css += " f";
  if (cell->status == CheckStatus::kWarn) css += " w";
  body.element("td", {{"class", css}}, sign_of(cell->status) + number_text(*cell->value));
}

/// "threshold 100 Gb/s", and whether some of the measured pairs have none.
std::string threshold_text(const PairMatrix& matrix) {
  std::set<std::string> thresholds;  // As texts: two that read the same are the same to the reader.
  bool some_have_none = false;
  for (std::size_t row = 0; row < matrix.nodes().size(); ++row) {
    for (std::size_t column = 0; column < matrix.nodes().size(); ++column) {
      const PairCell* cell = matrix.at(row, column);
      if (cell == nullptr || !cell->value) continue;
      if (cell->threshold) {
        thresholds.insert(number_text(*cell->threshold));
      } else {
        some_have_none = true;
      }
    }
  }
  if (thresholds.empty()) return "no threshold";
  const std::string text =
      thresholds.size() > 1 ? "thresholds differ" : "threshold " + *thresholds.begin() + " " + printable(matrix.unit());
  return text + (some_have_none ? ", none for some pairs" : "");
}

std::vector<std::string> slow_nodes(const PairMatrix& matrix, bool as_receiver) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < matrix.nodes().size(); ++at) {
    if (matrix.is_slow(at, as_receiver)) names.push_back(matrix.nodes()[at]);
  }
  return names;
}

void write_heading(Markup& body, Constant scope, const std::string& name, const std::vector<std::string>& slow) {
  body.open("th", {{"scope", std::string(scope.text())}}).text(name);
  if (std::find(slow.begin(), slow.end(), name) != slow.end()) {
    body.raw(" ").element("span", {{"class", "slow"}}, "\u25bc slow");
  }
  body.close();
}

void write_matrix(Markup& body, const PairMatrix& matrix) {
  const auto& nodes = matrix.nodes();
  const auto senders = slow_nodes(matrix, false);
  const auto receivers = slow_nodes(matrix, true);
  body.element("h3", matrix.title()).newline();
  if (!senders.empty()) body.element("p", {{"class", "slow"}}, "Slow as sender: " + fold_names(senders)).newline();
  if (!receivers.empty()) {
    body.element("p", {{"class", "slow"}}, "Slow as receiver: " + fold_names(receivers)).newline();
  }
  const std::string caption = matrix.title() + ": rows send, columns receive, " + threshold_text(matrix);
  body.open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", caption}, {"tabindex", "0"}});
  body.open("table", {{"class", nodes.size() >= kWideNodes   ? "heat many wide"
                                : nodes.size() >= kManyNodes ? "heat many"
                                                             : "heat"}})
      .newline();
  body.element("caption", caption).newline().open("thead").open("tr").element("th", {{"scope", "col"}}, "from");
  for (const std::string& name : nodes) write_heading(body, "col", name, receivers);
  body.close().close().newline().open("tbody").newline();
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    body.open("tr");
    write_heading(body, "row", nodes[row], senders);
    for (std::size_t column = 0; column < nodes.size(); ++column) write_cell(body, matrix, row, column);
    body.close().newline();
  }
  body.close().close().close().newline();
}

}  // namespace

void add_heat_maps(Page& page, const std::vector<Check>& checks) {
  const auto matrices = pair_matrices(checks);
  if (matrices.empty()) return;
  Markup& body = page.section("pairs", "Measurements between nodes");
  body.open("p", {{"class", "key"}}).text("Shades, as part of the threshold, or of the best value without one: ");
  body.element("span", {{"class", "h0"}}, "95 % or more").raw(" ");
  body.element("span", {{"class", "h1"}}, "85 %").raw(" ");
  body.element("span", {{"class", "h2"}}, "70 %").raw(" ");
  body.element("span", {{"class", "h3"}}, "50 %").raw(" ");
  body.element("span", {{"class", "h4"}}, "less").close().newline();
  std::size_t left = 0;
  for (const PairMatrix& matrix : matrices) {
    Markup table;
    const bool may_fit = matrix.nodes().size() * matrix.nodes().size() <= kMostCells;
    if (may_fit) write_matrix(table, matrix);
    if (may_fit && body.size() + table.size() <= kMostBytes) {
      body.append(std::move(table));
    } else {
      ++left;
    }
  }
  if (left > 0) body.element("p", "And " + counted(left, "more table") + ": --json has every value.").newline();
}

}  // namespace sparkplan
