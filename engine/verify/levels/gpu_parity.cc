// Whether the GPUs of the nodes are alike.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/doctor/gpu_bands.h"
#include "engine/verify/levels/gpu_checks.h"
#include "engine/verify/measurements.h"

namespace sparkplan {
namespace {

/// The compared properties of a node. A node with several GPUs is as fast as its slowest one.
struct NodeSpeed {
  std::string name;
  std::string model;
  std::string driver;
  std::map<std::string, double> values;  ///< "SM clock" and the like -> the value.
};

struct Speed {
  const char* name;
  const char* unit;
  std::function<std::optional<double>(const GpuLoad&)> value;
};

const std::vector<Speed>& speeds() {
  static const std::vector<Speed> all{
      {"SM clock", "MHz",
       [](const GpuLoad& load) {
         return load.clock_mhz ? std::optional(static_cast<double>(*load.clock_mhz)) : std::nullopt;
       }},
      {"FP32 rate", "TFLOP/s", [](const GpuLoad& load) { return std::optional(load.teraflops); }},
      {"copy", "GB/s", [](const GpuLoad& load) { return std::optional(load.copy_gigabytes); }},
  };
  return all;
}

const char* unit_of_speed(const std::string& name) {
  for (const Speed& speed : speeds()) {
    if (name == speed.name) return speed.unit;
  }
  return "";
}

NodeSpeed speed_of(const GpuNode& node) {
  const MeasuredGpus& measured = *node.outcome.measured;
  NodeSpeed speed{node.name, "", measured.driver, {}};
  std::vector<std::string> models;
  for (const GpuReport& gpu : measured.gpus) {
    models.push_back(listed_value(gpu.name));
    if (!gpu.load) continue;
    for (const Speed& kind : speeds()) {
      const auto value = kind.value(*gpu.load);
      if (!value || !(*value > 0)) continue;
      const auto [known, is_first] = speed.values.try_emplace(kind.name, *value);
      if (!is_first) known->second = std::min(known->second, *value);
    }
  }
  std::sort(models.begin(), models.end());
  speed.model = join(models, ", ");
  return speed;
}

/// The text that more than half of the nodes have.
std::optional<std::string> majority(const std::vector<NodeSpeed>& nodes, std::string NodeSpeed::*text) {
  std::map<std::string, std::size_t> counts;
  for (const NodeSpeed& node : nodes) ++counts[node.*text];
  for (const auto& [value, count] : counts) {
    if (count * 2 > nodes.size()) return value;
  }
  return std::nullopt;
}

/// For a list beside the values of other nodes.
std::string value_text(const std::string& value) { return value.empty() ? "none" : listed_value(value); }

/// "spark-01 580.95.05, spark-02 580.142"
std::string listed(const std::vector<NodeSpeed>& nodes, std::string NodeSpeed::*text) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> parts;
  for (const NodeSpeed& node : nodes) {
    if (parts.size() == kMost) break;
    parts.push_back(node.name + " " + value_text(node.*text));
  }
  return join(parts, ", ") + (nodes.size() > kMost ? " and others" : "");
}

std::optional<std::string> other_software(const NodeSpeed& node, const std::vector<NodeSpeed>& nodes,
                                          std::string NodeSpeed::*text, const std::string& what) {
  const bool all_equal =
      std::all_of(nodes.begin(), nodes.end(), [&](const NodeSpeed& one) { return one.*text == nodes.front().*text; });
  if (all_equal) return std::nullopt;
  const auto usual = majority(nodes, text);
  if (!usual) return "the " + what + "s differ: " + listed(nodes, text);
  if (node.*text == *usual) return std::nullopt;
  return what + " " + value_text(node.*text) + ", most nodes have " + value_text(*usual);
}

/// Compares equal GPUs only. Empty if the value is as good as theirs.
std::string other_speed(const NodeSpeed& node, const std::string& kind, const std::vector<NodeSpeed>& nodes) {
  const auto own = node.values.find(kind);
  if (own == node.values.end()) return "";
  std::vector<double> values;
  const NodeSpeed* other = nullptr;
  for (const NodeSpeed& one : nodes) {
    const auto value = one.values.find(kind);
    if (one.model != node.model || value == one.values.end()) continue;
    values.push_back(value->second);
    if (one.name != node.name) other = &one;
  }
  if (values.size() < 2 || other == nullptr) return "";
  const auto text = [&](double value) { return number_text(value) + " " + unit_of_speed(kind); };
  if (values.size() == 2) {
    const double theirs = other->values.at(kind);
    if (std::min(own->second, theirs) >= std::max(own->second, theirs) * kParity) return "";
    // Sorted, so that both nodes have the same words.
    const bool own_first = node.name < other->name;
    const auto mine = node.name + " " + text(own->second);
    const auto of_other = other->name + " " + text(theirs);
    return kind + ": " + (own_first ? mine + ", " + of_other : of_other + ", " + mine);
  }
  const double median = median_of(values);
  if (own->second >= median * kParity) return "";
  return kind + " " + text(own->second) + ", the median of " + std::to_string(values.size()) + " nodes is " +
         text(median);
}

Check parity_of(const NodeSpeed& node, const std::vector<NodeSpeed>& nodes) {
  Check check = skipped(Level::kGpu, {node.name}, "parity", "");
  check.pass(node.values.empty() ? "the same model and driver as the others" : "as fast as the others, same driver");
  std::vector<std::string> software;
  if (auto text = other_software(node, nodes, &NodeSpeed::model, "model")) software.push_back(*std::move(text));
  if (auto text = other_software(node, nodes, &NodeSpeed::driver, "driver")) software.push_back(*std::move(text));
  std::vector<std::string> slower;
  for (const Speed& kind : speeds()) {
    auto text = other_speed(node, kind.name, nodes);
    if (!text.empty()) slower.push_back(std::move(text));
  }
  if (software.empty() && slower.empty()) return check;
  check.text = "differs from other nodes";
  const RowId row = slower.empty() ? RowId("gpu-other-software") : RowId("gpu-slower-node");
  software.insert(software.end(), slower.begin(), slower.end());
  diagnose(check, CheckStatus::kWarn, row, join(software, "; "));
  return check;
}

}  // namespace

std::vector<Check> parity_of_gpus(const std::vector<GpuNode>& nodes) {
  std::vector<NodeSpeed> measured;
  for (const GpuNode& node : nodes) {
    if (node.outcome.measured && !node.outcome.measured->gpus.empty()) measured.push_back(speed_of(node));
  }
  std::vector<Check> checks;
  if (measured.size() < 2) return checks;
  for (const NodeSpeed& node : measured) checks.push_back(parity_of(node, measured));
  return checks;
}

}  // namespace sparkplan
