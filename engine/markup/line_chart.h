#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/markup/markup.h"

namespace sparkplan {

struct ChartPoint {
  double x = 0;  ///< Above 0: the axis is logarithmic.
  double y = 0;
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;  ///< By x.
};

struct ChartTick {
  double x = 0;
  std::string label;
};

/// Lines over a logarithmic axis. Lines differ in colour, dashes and marks.
struct LineChart {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::vector<ChartLine> lines;
  std::vector<ChartTick> ticks;
  std::optional<double> threshold;  ///< A horizontal line.
  /// The threshold is for no smaller x: the line begins there, and the legend names it by this label.
  std::optional<ChartTick> threshold_from = {};
  std::optional<double> warning_from = {};  ///< Below the threshold: a band from here to the threshold.
};

/// Pure. Writes an element svg, whose ids begin with `id`. Left out are points and limits that are not finite,
/// negative or above 1e9, and points whose x is 0. Writes nothing if no point is left.
void draw(Markup& markup, const LineChart& chart, const std::string& id);

}  // namespace sparkplan
