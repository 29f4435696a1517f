#include "engine/report/checks/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr double kAsGoodAsOthers = 0.9;
/// The least part of the expected value of each shade but the last.
constexpr std::array<double, kShades - 1> kLeastParts{0.95, 0.85, 0.7, 0.5};

constexpr std::array<Colour, kShades> kShadeColours{Colour::kShade0, Colour::kShade1, Colour::kShade2, Colour::kShade3,
                                                    Colour::kShade4};

/// A sweep of two nodes is a table over its sizes; its last value says nothing about the pair.
bool is_sweep(const Check& check) { return check.one_off && !check.series.empty(); }

bool is_between_nodes(const Check& check) {
  return !is_sweep(check) && check.nodes.size() == 2 && check.nodes[0] != check.nodes[1] &&
         check.level != Level::kMtu && check.level != Level::kSsh;
}

std::string key_of(const Check& check) { return std::string(to_string(check.level)) + " " + check.what; }

std::string cell_text(const PairCell& cell) {
  if (!cell.value) return cell.status == CheckStatus::kFail ? "x" : "-";
  const std::string mark = cell.status == CheckStatus::kFail ? "!" : cell.status == CheckStatus::kWarn ? "~" : "";
  return number_text(*cell.value) + mark;
}

std::string text_of(const PairMatrix& matrix, const TextStyle& style) {
  const auto& nodes = matrix.nodes();
  const auto text_at = [&](std::size_t row, std::size_t column) -> std::string {
    const PairCell* cell = matrix.at(row, column);
    if (cell == nullptr) return row == column ? "." : "";
    return cell_text(*cell);
  };
  std::size_t first = 0;
  std::size_t width = 6;
  for (const auto& name : nodes) {
    first = std::max(first, name.size());
    width = std::max(width, name.size());
  }
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    for (std::size_t column = 0; column < nodes.size(); ++column) width = std::max(width, text_at(row, column).size());
  }
  std::string result = matrix.title() + "\n" + fmt::format("  {:<{}}", "", first);
  for (const auto& name : nodes) result += fmt::format("  {:>{}}", name, width);
  result += "\n";
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    result += fmt::format("  {:<{}}", nodes[row], first);
    for (std::size_t column = 0; column < nodes.size(); ++column) {
      const PairCell* cell = matrix.at(row, column);
      const std::string text = fmt::format("{:>{}}", text_at(row, column), width);
      const bool shaded = cell != nullptr && cell->value;
      result +=
          "  " + (shaded ? paint(text, kShadeColours.at(static_cast<std::size_t>(matrix.shade(*cell))), style) : text);
    }
    result += "\n";
  }
  return result;
}

}  // namespace

PairMatrix::PairMatrix(Level level, std::string what, std::string unit)
    : level_(level), what_(std::move(what)), unit_(std::move(unit)) {}

std::string PairMatrix::title() const {
  return printable(std::string(to_string(level_)) + (what_.empty() ? "" : " " + what_) + ", " + unit_);
}

std::size_t PairMatrix::place_of(const std::string& name) {
  const std::string shown = printable(name);
  const auto found = std::find(nodes_.begin(), nodes_.end(), shown);
  if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
  nodes_.push_back(shown);
  return nodes_.size() - 1;
}

void PairMatrix::set(std::size_t from, std::size_t to, const PairCell& cell, bool only_if_empty) {
  if (rows_.size() <= from) rows_.resize(from + 1);
  auto& row = rows_[from];
  if (row.size() <= to) row.resize(to + 1);
  if (!only_if_empty || !row[to]) row[to] = cell;
}

void PairMatrix::put(const Check& check) {
  const std::size_t from = place_of(check.nodes[0]);
  const std::size_t to = place_of(check.nodes[1]);
  const auto value = check.unit.empty() ? std::nullopt : check.value;
  const PairCell cell{value, check.threshold, check.status, from, value ? check.of_slowest.value_or(*value) : value};
  set(from, to, cell, false);
  set(to, from, cell, true);
  if (cell.assured && (!best_ || is_better(*cell.assured, *best_))) best_ = cell.assured;
}

const PairCell* PairMatrix::at(std::size_t from, std::size_t to) const {
  if (from >= rows_.size() || to >= rows_[from].size() || !rows_[from][to]) return nullptr;
  return &*rows_[from][to];
}

int PairMatrix::shade(const PairCell& cell) const {
  const double expected = cell.threshold.value_or(best_.value_or(0));
  const double value = cell.value.value_or(0);
  if (value <= 0 || expected <= 0) return kShades - 1;
  const double part = is_time() ? expected / value : value / expected;
  int shade = 0;
  for (const double least : kLeastParts) shade += part < least ? 1 : 0;
  return shade;
}

/// Of two values in the middle, the worse one.
double PairMatrix::median_of(std::vector<double> values) const {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end(), [this](double a, double b) { return is_better(b, a); });
  return *middle;
}

bool PairMatrix::is_slow(std::size_t node, bool as_receiver) const {
  std::map<std::size_t, std::vector<double>> others;  // By reporter.
  std::set<std::size_t> neighbours;
  std::optional<double> best;
  for (std::size_t from = 0; from < nodes_.size(); ++from) {
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
      const PairCell* cell = at(from, to);
      if (cell == nullptr || !cell->assured) continue;
      if (from != node && to != node) {
        others[cell->reporter].push_back(*cell->assured);
      } else if ((as_receiver ? to : from) == node) {
        neighbours.insert(as_receiver ? from : to);
        if (!best || is_better(*cell->assured, *best)) best = cell->assured;
      }
    }
  }
  const std::size_t reporters = level_ == Level::kNccl ? 1 : 2;
  if (neighbours.size() < 2 || others.size() < reporters) return false;
  std::vector<double> usual;
  for (auto& [reporter, values] : others) usual.push_back(median_of(std::move(values)));
  const double expected = median_of(std::move(usual));
  return is_time() ? *best * kAsGoodAsOthers > expected : *best < expected * kAsGoodAsOthers;
}

std::vector<PairMatrix> pair_matrices(const std::vector<Check>& checks) {
  // A kind of check is shown if at least one of its checks has a value; that value has the unit.
  std::map<std::string, std::string> units;
  for (const Check& check : checks) {
    // Percentages are judged, and not compared.
    if (is_between_nodes(check) && check.value && check.unit != "%") units[key_of(check)] = check.unit;
  }
  std::vector<PairMatrix> matrices;
  std::map<std::string, std::size_t> places;
  for (const Check& check : checks) {
    const auto unit = units.find(key_of(check));
    if (!is_between_nodes(check) || unit == units.end()) continue;
    const auto [place, is_first] = places.emplace(unit->first, matrices.size());
    if (is_first) matrices.emplace_back(check.level, check.what, unit->second);
    matrices[place->second].put(check);
  }
  return matrices;
}

std::string matrices(const std::vector<Check>& checks, const TextStyle& style) {
  std::string text;
  for (const PairMatrix& matrix : pair_matrices(checks)) text += text_of(matrix, style);
  return text;
}

}  // namespace sparkplan
