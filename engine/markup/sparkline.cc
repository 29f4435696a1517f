#include "engine/markup/sparkline.h"

#include <algorithm>
#include <cmath>

namespace sparkplan {
namespace {

constexpr double kSparkWidth = 120;
constexpr double kSparkHeight = 26;
constexpr double kSparkMargin = 4;
constexpr double kLeastSpan = 0.2;  ///< Of the middle value.
constexpr double kLargestSpark = 1e12;

bool can_be_drawn(double value) { return std::isfinite(value) && std::fabs(value) <= kLargestSpark; }

/// A whole number, because thousands of points are on a page.
std::string whole(double number) { return coordinate(std::round(number)); }

class Scale {
 public:
  explicit Scale(const std::vector<double>& values) : count_(values.size()) {
    for (const double value : values) {
      if (!can_be_drawn(value)) continue;
      least_ = any_ ? std::min(least_, value) : value;
      most_ = any_ ? std::max(most_, value) : value;
      any_ = true;
    }
    const double middle = (least_ + most_) / 2;
    const double half = std::max((most_ - least_) / 2, std::fabs(middle) * kLeastSpan / 2);
    bottom_ = middle - half;
    span_ = half > 0 ? 2 * half : 1;
  }

  bool any() const { return any_; }
  double x(double place) const {
    if (count_ < 2) return kSparkWidth / 2;
    return kSparkMargin + place / static_cast<double>(count_ - 1) * (kSparkWidth - 2 * kSparkMargin);
  }
  double y(double value) const {
    return kSparkHeight - kSparkMargin - (value - bottom_) / span_ * (kSparkHeight - 2 * kSparkMargin);
  }

 private:
  std::size_t count_;
  bool any_ = false;
  double least_ = 0;
  double most_ = 0;
  double bottom_ = 0;
  double span_ = 1;
};

}  // namespace

void draw(Markup& markup, const Sparkline& line) {
  const Scale scale(line.values);
  if (!scale.any()) return;
  std::string path;
  std::string last_x;
  std::string last_y;
  for (std::size_t at = 0; at < line.values.size(); ++at) {
    if (!can_be_drawn(line.values[at])) continue;
    last_x = whole(scale.x(static_cast<double>(at)));
    last_y = whole(scale.y(line.values[at]));
    path += (path.empty() ? "M" : "L") + last_x + " " + last_y;
  }
  markup.open("svg", {{"class", "spark"},
                      {"role", "img"},
                      {"aria-label", line.name},
                      {"viewBox", "0 0 " + whole(kSparkWidth) + " " + whole(kSparkHeight)},
                      {"width", whole(kSparkWidth)},
                      {"height", whole(kSparkHeight)}});
  if (line.change && *line.change > 0 && *line.change < line.values.size()) {
    markup.empty("path",
                 {{"class", "step"},
                  {"d", "M" + whole(scale.x(static_cast<double>(*line.change) - 0.5)) + " 0V" + whole(kSparkHeight)}});
  }
  markup.empty("path", {{"d", path}});
  markup.empty("circle", {{"cx", last_x}, {"cy", last_y}, {"r", "3"}});
  markup.close();
}

}  // namespace sparkplan
