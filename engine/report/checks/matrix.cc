#include "engine/report/checks/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

struct Matrix {
  std::string title;
  std::vector<std::string> nodes;  ///< In the order of their first appearance.
  std::map<std::pair<std::string, std::string>, std::string> cells;

  void put(const std::string& from, const std::string& to, const std::string& text) {
    for (const auto& name : {from, to}) {
      if (std::find(nodes.begin(), nodes.end(), name) == nodes.end()) nodes.push_back(name);
    }
    cells[{from, to}] = text;
  }

  std::string text() const {
    std::size_t first = 0;
    std::size_t width = 6;
    for (const auto& name : nodes) {
      first = std::max(first, name.size());
      width = std::max(width, name.size());
    }
    for (const auto& [place, cell] : cells) width = std::max(width, cell.size());
    std::string result = title + "\n" + fmt::format("  {:<{}}", "", first);
    for (const auto& name : nodes) result += fmt::format("  {:>{}}", name, width);
    result += "\n";
    for (const auto& row : nodes) {
      result += fmt::format("  {:<{}}", row, first);
      for (const auto& column : nodes) {
        const auto cell = cells.find({row, column});
        result += fmt::format("  {:>{}}", cell == cells.end() ? (row == column ? "." : "") : cell->second, width);
      }
      result += "\n";
    }
    return result;
  }
};

bool is_between_nodes(const Check& check) {
  return check.nodes.size() == 2 && check.nodes[0] != check.nodes[1] && check.level != Level::kMtu &&
         check.level != Level::kSsh;
}

std::string cell_of(const Check& check) {
  if (!check.value || check.unit.empty()) return check.status == CheckStatus::kFail ? "x" : "-";
  const std::string mark = check.status == CheckStatus::kFail ? "!" : check.status == CheckStatus::kWarn ? "~" : "";
  return number_text(*check.value) + mark;
}

}  // namespace

std::string matrices(const std::vector<Check>& checks) {
  // A kind of check is shown if at least one of its checks has a value; that value has the unit.
  std::map<std::string, std::string> units;
  for (const Check& check : checks) {
    // Percentages are judged, and not compared.
    if (is_between_nodes(check) && check.value && check.unit != "%")
      units[std::string(to_string(check.level)) + " " + check.what] = check.unit;
  }
  std::vector<std::string> order;
  std::map<std::string, Matrix> tables;
  for (const Check& check : checks) {
    const std::string key = std::string(to_string(check.level)) + " " + check.what;
    const auto unit = units.find(key);
    if (!is_between_nodes(check) || unit == units.end()) continue;
    if (!tables.contains(key)) order.push_back(key);
    Matrix& table = tables[key];
    table.title = printable(std::string(trim(key)) + ", " + unit->second);
    const auto from = printable(check.nodes[0]);
    const auto to = printable(check.nodes[1]);
    table.put(from, to, cell_of(check));
    if (!table.cells.contains({to, from})) table.put(to, from, cell_of(check));
  }
  std::string text;
  for (const auto& key : order) text += tables.at(key).text();
  return text;
}

}  // namespace sparkplan
