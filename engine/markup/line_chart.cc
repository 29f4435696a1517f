#include "engine/markup/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

constexpr double kWidth = 760;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 34;
constexpr double kPlotHeight = 260;
constexpr double kLegendRow = 20;
constexpr double kLabelMargin = 40;
constexpr std::size_t kLongestSeriesName = 60;  // Wider ones would leave the drawing.
constexpr std::size_t kStyles = 4;
constexpr int kMostSteps = 6;
constexpr double kHighest = 1e9;  // coordinate() writes no larger number, and steps towards infinity never end.

bool is_drawable(const ChartPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x > 0 && point.y >= 0 && point.y <= kHighest;
}

/// 1, 2 or 5 times a power of ten: the distance of the grid's lines.
double step_for(double most) {
  double step = std::pow(10, std::floor(std::log10(most / kMostSteps)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (most / (step * factor) <= kMostSteps) return step * factor;
  }
  return step * 10;
}

class Chart {
 public:
  Chart(Markup& markup, const LineChart& chart, const std::string& id) : markup_(markup), chart_(chart), id_(id) {
    for (const ChartLine& line : chart.lines) {
      for (const ChartPoint& point : line.points) {
        if (!is_drawable(point)) continue;
        least_ = least_ == 0 ? point.x : std::min(least_, point.x);
        most_ = std::max(most_, point.x);
        highest_ = std::max(highest_, point.y);
      }
    }
    if (has_threshold()) highest_ = std::max(highest_, *chart.threshold);
    if (highest_ <= 0) return;
    step_ = step_for(highest_);
    top_ = std::ceil(highest_ / step_ + 0.1) * step_;
  }

  void draw() {
    if (least_ <= 0 || highest_ <= 0) return;
    const std::size_t rows = chart_.lines.size() + (has_threshold() ? 1 : 0) + (has_band() ? 1 : 0);
    const double height = kTop + kPlotHeight + 56 + kLegendRow * static_cast<double>(rows);
    markup_.open("svg", {{"class", "drawing"},
                         {"role", "img"},
                         {"aria-labelledby", id_ + "-title " + id_ + "-desc"},
                         {"viewBox", "0 0 " + coordinate(kWidth) + " " + coordinate(height)},
                         {"width", coordinate(kWidth)},
                         {"height", coordinate(height)}});
    markup_.element("title", {{"id", id_ + "-title"}}, chart_.title);
    markup_.element("desc", {{"id", id_ + "-desc"}}, "The table after this chart has the same numbers.");
    if (has_band()) band(threshold_left(), y_of(*chart_.threshold), kWidth - kRight, y_of(*chart_.warning_from));
    axes();
    if (has_threshold()) {
      markup_.empty("path", {{"class", "limit"}, {"d", horizontal(y_of(*chart_.threshold), threshold_left())}});
    }
    for (std::size_t at = 0; at < chart_.lines.size(); ++at) line(at);
    legend();
    markup_.close();
  }

 private:
  bool has_threshold() const { return chart_.threshold && *chart_.threshold >= 0 && *chart_.threshold <= kHighest; }
  bool has_band() const {
    return has_threshold() && chart_.warning_from && *chart_.warning_from >= 0 &&
           *chart_.warning_from < *chart_.threshold;
  }
  /// A little before the least x: that may be the last point.
  double threshold_left() const {
    if (!chart_.threshold_from || chart_.threshold_from->x <= least_) return kLeft;
    return std::max(kLeft, x_of(std::min(chart_.threshold_from->x, most_)) - kLabelMargin);
  }
  double x_of(double x) const {
    const double span = std::log2(most_) - std::log2(least_);
    const double part = span > 0 ? (std::log2(x) - std::log2(least_)) / span : 0.5;
    return kLeft + part * (kWidth - kLeft - kRight);
  }
  double y_of(double y) const { return kTop + kPlotHeight * (1 - y / top_); }

  static std::string horizontal(double y, double left = kLeft) {
    return "M" + coordinate(left) + " " + coordinate(y) + "H" + coordinate(kWidth - kRight);
  }

  void band(double left, double top, double right, double bottom) {
    markup_.empty("rect", {{"class", "band"},
                           {"x", coordinate(left)},
                           {"y", coordinate(top)},
                           {"width", coordinate(right - left)},
                           {"height", coordinate(bottom - top)}});
  }

  void label(Constant css, double x, double y, const std::string& text) {
    markup_.element("text", {{"class", std::string(css.text())}, {"x", coordinate(x)}, {"y", coordinate(y)}}, text);
  }

  void axes() {
    for (double y = 0; y <= top_ + step_ / 2; y += step_) {
      markup_.empty("path", {{"class", y == 0 ? "axis" : "grid"}, {"d", horizontal(y_of(y))}});
      label("tick end", kLeft - 8, y_of(y) + 4, coordinate(y));
    }
    for (const ChartTick& tick : chart_.ticks) {
      if (tick.x < least_ || tick.x > most_) continue;
      const double x = x_of(tick.x);
      markup_.empty("path",
                    {{"class", "grid"},
                     {"d", "M" + coordinate(x) + " " + coordinate(kTop) + "V" + coordinate(kTop + kPlotHeight)}});
      label("tick mid", x, kTop + kPlotHeight + 18, tick.label);
    }
    label("tick", 4, 18, chart_.y_title);
    label("tick mid", kLeft + (kWidth - kLeft - kRight) / 2, kTop + kPlotHeight + 38, chart_.x_title);
  }

  static std::string style_of(std::size_t at) { return "s" + std::to_string(at % kStyles); }

  /// A circle, a square, a triangle or a diamond.
  void mark(std::size_t style, double x, double y) {
    static constexpr std::array<std::array<std::array<double, 2>, 4>, kStyles - 1> kPolygons{{
        {{{-4, -4}, {4, -4}, {4, 4}, {-4, 4}}},
        {{{0, -5}, {5, 4}, {-5, 4}, {0, -5}}},
        {{{0, -5}, {5, 0}, {0, 5}, {-5, 0}}},
    }};
    if (style % kStyles == 0) {
      markup_.empty("circle", {{"class", "mark"}, {"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", "4"}});
      return;
    }
    std::string points;
    for (const auto& corner : kPolygons.at(style % kStyles - 1)) {
      points += (points.empty() ? "" : " ") + coordinate(x + corner[0]) + "," + coordinate(y + corner[1]);
    }
    markup_.empty("polygon", {{"class", "mark"}, {"points", points}});
  }

  void line(std::size_t at) {
    markup_.open("g", {{"class", style_of(at)}});
    std::string path;
    for (const ChartPoint& point : chart_.lines[at].points) {
      if (is_drawable(point))
        path += (path.empty() ? "M" : "L") + coordinate(x_of(point.x)) + " " + coordinate(y_of(point.y));
    }
    markup_.empty("path", {{"class", "curve"}, {"d", path}});
    for (const ChartPoint& point : chart_.lines[at].points) {
      if (is_drawable(point)) mark(at, x_of(point.x), y_of(point.y));
    }
    markup_.close();
  }

  void legend() {
    double y = kTop + kPlotHeight + 60;
    const auto row = [&](const std::string& css, Constant curve, const std::string& name) {
      markup_.open("g", {{"class", css}});
      markup_.empty("path", {{"class", std::string(curve.text())},
                             {"d", "M" + coordinate(kLeft) + " " + coordinate(y) + "H" + coordinate(kLeft + 44)}});
      markup_.element("text", {{"x", coordinate(kLeft + 54)}, {"y", coordinate(y + 4)}}, name);
      markup_.close();
      y += kLegendRow;
    };
    for (std::size_t at = 0; at < chart_.lines.size(); ++at) {
      const double here = y;
      row(style_of(at), "curve", shown_text(chart_.lines[at].name, kLongestSeriesName));
      markup_.open("g", {{"class", style_of(at)}});
      mark(at, kLeft + 22, here);
      markup_.close();
    }
    const std::string from = chart_.threshold_from ? ", from " + chart_.threshold_from->label + " on" : "";
    if (has_threshold()) row("", "limit", "threshold " + coordinate(*chart_.threshold) + from);
    if (!has_band()) return;
    band(kLeft, y - 7, kLeft + 44, y + 7);
    label("", kLeft + 54, y + 4, "warning from " + coordinate(*chart_.warning_from) + " to the threshold" + from);
  }

  Markup& markup_;
  const LineChart& chart_;
  const std::string& id_;
  double least_ = 0;
  double most_ = 0;
  double highest_ = 0;
  double step_ = 1;
  double top_ = 1;
};

}  // namespace

void draw(Markup& markup, const LineChart& chart, const std::string& id) { Chart(markup, chart, id).draw(); }

}  // namespace sparkplan
