#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/facts.h"
#include "engine/report/text/text_style.h"

/// The text of `facts`. All content of nodes passes printable().
namespace sparkplan {

/// The facts of one node. `facts` outlives the call.
struct NodeFacts {
  std::string name;
  const Facts* facts = nullptr;
};

/// A fact for people: "Memory", "119.7 GiB, 101.2 GiB available".
struct FactLine {
  std::string label;
  std::string text;
  bool differs_always = false;  ///< Each node has its own: it is left out of a comparison.
};

/// Pure. The facts that fit a line, with units; without absent ones.
std::vector<FactLine> facts_overview(const Facts& facts);

/// Pure. Everything read from one node: the overview, then a table for each kind of device, link or setting that is
/// there, then what could not be read.
std::string facts_text(const NodeFacts& node, const TextStyle& style);

/// Pure. The overviews of several nodes: each fact once for all nodes that have the same value.
std::string facts_comparison(const std::vector<NodeFacts>& nodes, const TextStyle& style);

/// Pure. "119.7 GiB", "512 bytes".
std::string bytes_text(std::int64_t bytes);

}  // namespace sparkplan
