#include "engine/markup/cabling_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "engine/domain/fabric/cabling.h"

namespace sparkplan {
namespace {

constexpr double kMargin = 12;
constexpr double kBoxWidth = 170;
constexpr double kBoxHeight = 36;
constexpr double kWireGap = 24;  // Between the wires of one node.
constexpr double kWay = 190;     // From a node to the switch, or to the other node.
constexpr double kSwitchWidth = 80;
constexpr double kLetter = 7.3;  // The usual width of a letter of a label.
constexpr std::size_t kLongestName = 20;
constexpr std::size_t kMostLabelledOnACircle = 24;

struct Point {
  double x = 0;
  double y = 0;
};

struct StateRow {
  std::string_view word;
  std::string_view sign;
  std::string_view css;
};
const StateRow& row_of(WireState state) {
  static constexpr std::array<StateRow, 5> kRows{{{"declared", "", "wd"},
                                                  {"pass", "\u2713", "wp"},
                                                  {"warn", "\u25b3", "ww"},
                                                  {"FAIL", "\u2717", "wf"},
                                                  {"not checked", "?", "wu"}}};
  return kRows.at(static_cast<std::size_t>(state));
}

std::string label_of(const DrawnWire& wire) {
  std::string text = wire.from.label;
  if (wire.to && wire.to->label != wire.from.label) text += "-" + wire.to->label;
  if (wire.state == WireState::kDeclared) return text;
  return text + " " + std::string(row_of(wire.state).sign) + " " + std::string(word_of(wire.state));
}

std::string spoken(const DrawnCabling& cabling, const DrawnEnd& end) {
  return cabling.nodes[end.node] + " " + end.port + (end.address.empty() ? "" : " (" + end.address + ")");
}

std::string spoken(const DrawnCabling& cabling, const DrawnWire& wire) {
  std::string text =
      spoken(cabling, wire.from) + " to " + (wire.to ? spoken(cabling, *wire.to) : std::string("the switch"));
  if (wire.state != WireState::kDeclared) text += ": " + std::string(word_of(wire.state));
  return text + (wire.detail.empty() ? "" : ", " + wire.detail);
}

/// The beginning of a name that is too long for its box. The title has all of it.
std::string fitting(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 3) + "...";
}

std::size_t letters_in(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class Drawing {
 public:
  Drawing(Markup& markup, const DrawnCabling& cabling, std::string id)
      : markup_(markup), cabling_(cabling), id_(std::move(id)) {}

  void draw(bool is_file) {
    if (cabling_.through_switch) {
      place_beside_switch();
    } else if (cabling_.nodes.size() == 2) {
      place_side_by_side();
    } else {
      place_on_circle();
    }
    begin(is_file);
    lines();
    if (cabling_.through_switch) switch_box();
    boxes();
    labels();
    markup_.close();
  }

 private:
  struct Line {
    const DrawnWire* wire = nullptr;
    Point from;
    Point to;
    Point label;
    bool labelled = true;
  };

  std::size_t most_wires() const {
    std::map<std::size_t, std::size_t> counts;
    std::size_t most = 1;
    for (const DrawnWire& wire : cabling_.wires) most = std::max(most, ++counts[wire.from.node]);
    return most;
  }

  void begin(bool is_file) {
    Attributes attributes{{"class", "drawing"},
                          {"role", "img"},
                          {"aria-labelledby", id_ + "-title " + id_ + "-desc"},
                          {"viewBox", "0 0 " + coordinate(width_) + " " + coordinate(height_)},
                          {"width", coordinate(width_)},
                          {"height", coordinate(height_)}};
    if (is_file) attributes.insert(attributes.begin(), {"xmlns", "http://www.w3.org/2000/svg"});
    markup_.open("svg", attributes);
    markup_.element("title", {{"id", id_ + "-title"}}, cabling_.title);
    std::map<WireState, std::size_t> counts;
    for (const DrawnWire& wire : cabling_.wires) ++counts[wire.state];
    std::string sum;
    for (const auto& [state, count] : counts) {
      sum += (sum.empty() ? "Wires: " : ", ") + std::to_string(count) + " " + std::string(word_of(state));
    }
    markup_.element("desc", {{"id", id_ + "-desc"}}, sum.empty() ? "No wires are declared." : sum + ".");
    if (is_file) markup_.open("style").raw(drawing_style()).close().newline();
  }

  void place_beside_switch() {
    const double row = std::max(kBoxHeight, static_cast<double>(most_wires()) * kWireGap) + 16;
    const std::size_t rows = (cabling_.nodes.size() + 1) / 2;
    width_ = 2 * (kMargin + kBoxWidth + kWay) + kSwitchWidth;
    height_ = 2 * kMargin + static_cast<double>(rows) * row;
    box_height_ = row - 16;
    for (std::size_t at = 0; at < cabling_.nodes.size(); ++at) {
      const bool left = at < rows;
      places_.push_back({left ? kMargin : width_ - kMargin - kBoxWidth,
                         kMargin + static_cast<double>(left ? at : at - rows) * row + 8});
    }
    std::map<std::size_t, std::size_t> used;
    for (const DrawnWire& wire : cabling_.wires) {
      const Point box = places_[wire.from.node];
      const bool left = box.x < width_ / 2;
      const double y = box.y + wire_offset(used[wire.from.node]++, count_at(wire.from.node));
      const Point from{left ? box.x + kBoxWidth : box.x, y};
      const Point to{left ? from.x + kWay : from.x - kWay, y};
      lines_.push_back({&wire, from, to, {(from.x + to.x) / 2, y + 4}});
    }
  }

  std::size_t count_at(std::size_t node) const {
    return static_cast<std::size_t>(std::count_if(cabling_.wires.begin(), cabling_.wires.end(),
                                                  [&](const DrawnWire& wire) { return wire.from.node == node; }));
  }

  double wire_offset(std::size_t at, std::size_t count) const {
    return box_height_ * (static_cast<double>(at) + 0.5) / static_cast<double>(count);
  }

  void place_side_by_side() {
    const std::size_t count = std::max<std::size_t>(cabling_.wires.size(), 1);
    constexpr double kWide = 2 * kWay;
    box_height_ = std::max(kBoxHeight, static_cast<double>(count) * kWireGap + 12);
    width_ = 2 * (kMargin + kBoxWidth) + kWide;
    height_ = 2 * kMargin + box_height_;
    places_ = {{kMargin, kMargin}, {width_ - kMargin - kBoxWidth, kMargin}};
    for (std::size_t at = 0; at < cabling_.wires.size(); ++at) {
      const double y = kMargin + wire_offset(at, count);
      const bool forward = cabling_.wires[at].from.node == 0;
      const Point left{kMargin + kBoxWidth, y};
      const Point right{width_ - kMargin - kBoxWidth, y};
      lines_.push_back({&cabling_.wires[at], forward ? left : right, forward ? right : left, {width_ / 2, y + 4}});
    }
  }

  void place_on_circle() {
    const std::size_t count = std::max<std::size_t>(cabling_.nodes.size(), 1);
    const double radius = std::max(150.0, static_cast<double>(count) * (kBoxWidth + 40) / (2 * std::numbers::pi));
    box_height_ = kBoxHeight;
    width_ = 2 * (kMargin + radius) + kBoxWidth;
    height_ = 2 * (kMargin + radius) + kBoxHeight;
    for (std::size_t at = 0; at < cabling_.nodes.size(); ++at) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(at) / static_cast<double>(count) - std::numbers::pi / 2;
      places_.push_back({kMargin + radius + radius * std::cos(angle), kMargin + radius + radius * std::sin(angle)});
    }
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> used;
    for (const DrawnWire& wire : cabling_.wires) {
      if (wire.to) lines_.push_back(line_on_circle(wire, used[std::minmax(wire.from.node, wire.to->node)]++));
    }
  }

  /// Wires between the same two nodes run side by side, each with its label on it.
  Line line_on_circle(const DrawnWire& wire, std::size_t place) const {
    const Point a = middle_of(wire.from.node);
    const Point b = middle_of(wire.to->node);
    const double width = b.x - a.x;
    const double height = b.y - a.y;
    const double length = std::max(1.0, std::sqrt(width * width + height * height));  // hypot() needs glibc 2.35.
    const bool turned = wire.from.node > wire.to->node;
    const double shift = (static_cast<double>(place) * 12 - 6) * (turned ? -1 : 1);
    const Point side{-height / length * shift, width / length * shift};
    const double along = place % 2 == 0 ? 0.36 : 0.64;
    const Point from{a.x + side.x, a.y + side.y};
    const Point to{b.x + side.x, b.y + side.y};
    const Point label{from.x + (to.x - from.x) * along, from.y + (to.y - from.y) * along + 4};
    return {&wire, from, to, label, cabling_.wires.size() <= kMostLabelledOnACircle};
  }

  Point middle_of(std::size_t node) const {
    return {places_[node].x + kBoxWidth / 2, places_[node].y + box_height_ / 2};
  }

  void lines() {
    for (const Line& line : lines_) {
      markup_.open("g", {{"class", "wire " + std::string(row_of(line.wire->state).css)}});
      markup_.element("title", spoken(cabling_, *line.wire));
      markup_.empty("line", {{"x1", coordinate(line.from.x)},
                             {"y1", coordinate(line.from.y)},
                             {"x2", coordinate(line.to.x)},
                             {"y2", coordinate(line.to.y)}});
      markup_.close();
    }
  }

  void labels() {
    for (const Line& line : lines_) {
      if (!line.labelled) continue;
      // The line ends at the label, so that both can be read.
      const double half = kLetter * static_cast<double>(letters_in(label_of(*line.wire))) / 2 + 4;
      markup_.empty("path", {{"class", "wb"},
                             {"d", "M" + coordinate(line.label.x - half) + " " + coordinate(line.label.y - 12) + "h" +
                                       coordinate(2 * half) + "v16h" + coordinate(-2 * half) + "z"}});
      markup_.element("text", {{"class", "wl"}, {"x", coordinate(line.label.x)}, {"y", coordinate(line.label.y)}},
                      label_of(*line.wire));
    }
  }

  void box(Point at, double width, double height, const std::string& name) {
    markup_.open("g", {{"class", "box"}});
    if (fitting(name) != name) markup_.element("title", name);
    markup_.empty("rect", {{"x", coordinate(at.x)},
                           {"y", coordinate(at.y)},
                           {"width", coordinate(width)},
                           {"height", coordinate(height)},
                           {"rx", "5"}});
    markup_.element("text", {{"x", coordinate(at.x + width / 2)}, {"y", coordinate(at.y + height / 2 + 5)}},
                    fitting(name));
    markup_.close();
  }

  void boxes() {
    for (std::size_t at = 0; at < places_.size(); ++at) box(places_[at], kBoxWidth, box_height_, cabling_.nodes[at]);
  }

  void switch_box() { box({width_ / 2 - kSwitchWidth / 2, kMargin}, kSwitchWidth, height_ - 2 * kMargin, "switch"); }

  Markup& markup_;
  const DrawnCabling& cabling_;
  std::string id_;
  double width_ = 0;
  double height_ = 0;
  double box_height_ = kBoxHeight;
  std::vector<Point> places_;
  std::vector<Line> lines_;
};

DrawnEnd end_of(const Cluster& cluster, const WireEnd& end) {
  const NodeSpec& node = cluster.nodes[end.node];
  const FabricPort& port = node.fabric[end.half];
  return {end.node, port.label(), half_name(node, port), address_or_kind(port)};
}

}  // namespace

std::string_view word_of(WireState state) { return row_of(state).word; }

DrawnCabling drawn_cabling(const Cluster& cluster) {
  DrawnCabling drawn;
  const std::string topology = topology_of(cluster);
  const std::size_t count = cluster.nodes.size();
  drawn.title = cluster.name + ": " + (topology.empty() ? "no fabric" : topology) + ", " + std::to_string(count) +
                (count == 1 ? " node" : " nodes");
  drawn.through_switch = topology == "switch";
  for (const NodeSpec& node : cluster.nodes) drawn.nodes.push_back(node.name.str());
  for (const Wire& wire : declared_wires(cluster)) {
    DrawnWire one{end_of(cluster, wire.from), std::nullopt, WireState::kDeclared, ""};
    if (wire.to) one.to = end_of(cluster, *wire.to);
    drawn.wires.push_back(std::move(one));
  }
  return drawn;
}

void draw(Markup& markup, const DrawnCabling& cabling, const std::string& id) {
  Drawing(markup, cabling, id).draw(false);
}

std::string svg_file(const DrawnCabling& cabling) {
  Markup markup;
  Drawing(markup, cabling, "cabling").draw(true);
  markup.newline();
  return std::move(markup).str();
}

}  // namespace sparkplan
