#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/markup/markup.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// The known state of a wire. Each state has its own line style and word, so that no colour is needed.
enum class WireState : std::uint8_t { kDeclared, kGood, kWarned, kBad, kUnknown };

/// "declared", "pass", "warn", "FAIL", "not checked".
std::string_view word_of(WireState state);

/// An end of a wire.
struct DrawnEnd {
  std::size_t node = 0;  ///< The place in DrawnCabling::nodes.
  std::string label;     ///< "A", "B"
  std::string port;      ///< "enp1s0f1np1", "port 1 half A"
  std::string address;   ///< "192.168.100.11/24"
};

struct DrawnWire {
  DrawnEnd from;
  std::optional<DrawnEnd> to;  ///< Nothing: the switch.
  WireState state = WireState::kDeclared;
  std::string detail;  ///< Why the state is what it is; may be empty.
};

/// A drawing of cables: nodes beside a switch, two nodes beside each other, or more on a circle.
struct DrawnCabling {
  std::string title;  ///< "lab: switch, 8 nodes"
  bool through_switch = false;
  std::vector<std::string> nodes;
  std::vector<DrawnWire> wires;
};

/// Pure. The cables as cluster.yaml declares them.
DrawnCabling drawn_cabling(const Cluster& cluster);

/// Pure. Writes an element svg. Its ids begin with `id`. A drawing inside a page takes the page's style.
void draw(Markup& markup, const DrawnCabling& cabling, const std::string& id);

/// Pure. The drawing as a file.
std::string svg_file(const DrawnCabling& cabling);

/// The style of drawings and charts, for light and dark pages.
Constant drawing_style();

}  // namespace sparkplan
