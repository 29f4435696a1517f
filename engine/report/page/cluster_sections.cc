#include "engine/report/page/cluster_sections.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

// A node words both, and they are in the drawing and in its table.
constexpr std::size_t kLongestPort = 64;
constexpr std::size_t kLongestDownReason = 200;

const HalfSnapshot* half_of(const std::vector<NodeSnapshot>& snapshots, const std::string& node,
                            const std::string& label) {
  for (const NodeSnapshot& one : snapshots) {
    if (one.node != node) continue;
    for (const HalfSnapshot& half : one.halves) {
      if (half.label == label) return &half;
    }
  }
  return nullptr;
}

/// Takes the interface and the state of one end into the wire.
void take_end(const DrawnCabling& cabling, const std::vector<NodeSnapshot>& snapshots, DrawnEnd& end, DrawnWire& wire) {
  const std::string& node = cabling.nodes[end.node];
  const HalfSnapshot* half = half_of(snapshots, node, end.label);
  if (half == nullptr || half->state == HalfState::kUnknown) {
    if (wire.state == WireState::kGood) wire.state = WireState::kUnknown;
    return;
  }
  if (!half->interface.empty()) end.port = shown_text(half->interface, kLongestPort);
  if (half->state == HalfState::kUp) return;
  wire.state = WireState::kBad;
  wire.detail += (wire.detail.empty() ? "" : "; ") + node + ": " + shown_text(half->reason, kLongestDownReason);
}

/// The label of the half that a check between nodes, or of one node, is about: "A" of "A/bandwidth".
std::string label_of(const Check& check) { return check.what.substr(0, check.what.find('/')); }

struct WireCounts {
  StatusCounts own;    ///< Checks of one end alone.
  StatusCounts pairs;  ///< Checks between nodes.
  std::string first_problem;

  void add(const Check& check) {
    (check.nodes.size() == 1 ? own : pairs).add(check.status);
    if (is_problem(check.status) && first_problem.empty()) first_problem = check.id;
  }

  bool empty() const { return own.pass + own.warn + own.fail + pairs.pass + pairs.warn + pairs.fail == 0; }

  WireState state(bool through_switch) const {
    const bool no_pair_works = pairs.fail > 0 && pairs.pass + pairs.warn == 0;
    if (own.fail > 0 || no_pair_works || (pairs.fail > 0 && !through_switch)) return WireState::kBad;
    if (own.warn + pairs.warn + pairs.fail > 0) return WireState::kWarned;
    return own.pass + pairs.pass > 0 ? WireState::kGood : WireState::kUnknown;
  }
};

/// Checks of a half: by node and label.
using HalfKey = std::pair<std::string, std::string>;

class WireJudge {
 public:
  explicit WireJudge(const std::vector<Check>& checks) {
    for (const Check& check : checks) {
      if (!measures_a_half(check.level) || check.nodes.empty() || check.nodes.size() > 2) continue;
      by_half_[{check.nodes[0], label_of(check)}].push_back(&check);
      // Behind a switch, both ends have the same label.
      if (check.nodes.size() == 2) received_[{check.nodes[1], label_of(check)}].push_back(&check);
    }
  }

  WireCounts counts_of(const DrawnCabling& cabling, const DrawnWire& wire) const {
    WireCounts counts;
    const std::string& from = cabling.nodes[wire.from.node];
    const std::string other = wire.to ? cabling.nodes[wire.to->node] : std::string();
    add(by_half_, {from, wire.from.label}, other, counts);
    if (wire.to) {
      add(by_half_, {other, wire.to->label}, from, counts);
    } else {
      add(received_, {from, wire.from.label}, "", counts);
    }
    return counts;
  }

 private:
  using ByHalf = std::map<HalfKey, std::vector<const Check*>>;

  static void add(const ByHalf& checks, const HalfKey& key, const std::string& peer, WireCounts& counts) {
    const auto found = checks.find(key);
    if (found == checks.end()) return;
    for (const Check* check : found->second) {
      const bool ours = check->nodes.size() == 1 || peer.empty() || check->nodes[1] == peer;
      if (ours) counts.add(*check);
    }
  }

  ByHalf by_half_;
  ByHalf received_;
};

std::string end_text(const DrawnCabling& cabling, const DrawnEnd& end) {
  return cabling.nodes[end.node] + " " + end.port + (end.address.empty() ? "" : ", " + end.address);
}

/// The version of more than half of the nodes. Nothing without one: of two nodes, none has the right one.
std::optional<std::string> usual_version(const std::vector<NodeSnapshot>& snapshots, std::size_t column) {
  std::map<std::string, std::size_t> counts;
  for (const NodeSnapshot& one : snapshots) {
    const std::string& text = one.versions[column].text;
    if (++counts[text] * 2 > snapshots.size()) return text;
  }
  return std::nullopt;
}

bool has_text(const std::vector<NodeSnapshot>& snapshots, std::size_t column) {
  return std::ranges::any_of(snapshots, [&](const NodeSnapshot& one) { return !one.versions[column].text.empty(); });
}

}  // namespace

DrawnCabling cabling_with(const Cluster& cluster, const std::vector<NodeSnapshot>& snapshots) {
  DrawnCabling cabling = drawn_cabling(cluster);
  for (DrawnWire& wire : cabling.wires) {
    wire.state = WireState::kGood;
    take_end(cabling, snapshots, wire.from, wire);
    if (wire.to) take_end(cabling, snapshots, *wire.to, wire);
  }
  return cabling;
}

DrawnCabling cabling_with(const Cluster& cluster, const std::vector<NodeSnapshot>& snapshots,
                          const std::vector<Check>& checks) {
  DrawnCabling cabling = cabling_with(cluster, snapshots);
  const WireJudge judge(checks);
  for (DrawnWire& wire : cabling.wires) {
    const WireCounts counts = judge.counts_of(cabling, wire);
    // Without checks, nothing but the state of the interfaces is known.
    if (counts.empty() && wire.state == WireState::kBad) continue;
    wire.state = counts.state(cabling.through_switch);
    wire.detail = counts.first_problem;
  }
  return cabling;
}

void add_cabling(Page& page, const DrawnCabling& cabling) {
  if (cabling.wires.empty()) return;
  Markup& body = page.section("cabling", "Cabling");
  body.open("div",
            {{"class", "scroll"}, {"role", "region"}, {"aria-label", "Drawing of the cabling"}, {"tabindex", "0"}});
  draw(body, cabling, "drawing");
  body.close().newline();
  body.open("p", {{"class", "meta"}});
  body.text(
      "A solid line has passed, a dashed one has warnings, a thick dotted one has failed, a thin dotted one was not "
      "checked.");
  body.close().newline();
  body.open("details").element("summary", "The wires as a table").newline();
  open_table(body, "plain", "Wires of " + cabling.title, {"from", "to", "half", "state", "reason"});
  for (const DrawnWire& wire : cabling.wires) {
    write_row(body, {end_text(cabling, wire.from), wire.to ? end_text(cabling, *wire.to) : "switch", wire.from.label,
                     std::string(word_of(wire.state)), shown_text(wire.detail)});
  }
  close_table(body);
  body.close().newline();
}

void add_versions(Page& page, const std::vector<NodeSnapshot>& snapshots) {
  if (snapshots.empty()) return;
  Markup& body = page.section("versions", "Versions");
  std::vector<std::string> columns{"node"};
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < snapshots.front().versions.size(); ++column) {
    if (!has_text(snapshots, column)) continue;
    shown.push_back(column);
    columns.push_back(snapshots.front().versions[column].label);
  }
  std::vector<std::optional<std::string>> usual;
  for (const std::size_t column : shown) usual.push_back(usual_version(snapshots, column));
  bool differs = false;
  std::size_t written = 0;
  Markup rows;
  for (const NodeSnapshot& one : snapshots) {
    if (rows.size() > kMostSectionBytes) break;
    ++written;
    rows.open("tr").element("th", {{"scope", "row"}}, one.node);
    for (std::size_t at = 0; at < shown.size(); ++at) {
      const std::string& text = one.versions[shown[at]].text;
      const std::string words = text.empty() ? "none" : shown_text(text);
      if (text == usual[at]) {
        rows.element("td", words);
      } else {
        rows.element("td", {{"class", "differs"}}, "\u2260 " + words);
        differs = true;
      }
    }
    rows.close().newline();
  }
  body.element("p", differs ? "\u2260 marks what most nodes do not have." : "All nodes have the same versions.");
  body.newline();
  open_table(body, "plain", "Versions per node", columns);
  body.append(std::move(rows));
  close_table(body);
  if (written < snapshots.size()) {
    body.element("p", "And " + counted(snapshots.size() - written, "more node") + ".").newline();
  }
}

}  // namespace sparkplan
