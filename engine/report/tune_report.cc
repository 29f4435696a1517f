#include "engine/report/tune_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/error_json.h"
#include "engine/report/text/text_table.h"
#include "engine/verify/check.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {
namespace {

constexpr double kMicro = 1e6;

/// "2 nodes (spark-[01-02]), 2 GPUs, NCCL 2.28.9, Socket"
std::string ground_text(const TuneReport& report) {
  std::string text = counted(report.nodes.size(), "node") + " (" + fold_names(report.nodes) + ")";
  if (report.ranks > 0) text += ", " + counted(static_cast<std::size_t>(report.ranks), "GPU");
  if (!report.nccl.empty()) text += ", NCCL " + report.nccl;
  if (!report.network.empty()) text += ", " + report.network;
  return text;
}

/// The gain of the proposal: of all settings together, or of the only one. Null if it was not measured.
const TuneComparison* whole_gain(const TuneReport& report) {
  if (report.search.together) return &*report.search.together;
  const TuneComparison* only = nullptr;
  for (const TriedSetting& tried : report.search.tried) {
    if (tried.verdict != TuneVerdict::kAccepted) continue;
    if (only != nullptr) return nullptr;
    only = &tried.comparison;
  }
  return only;
}

std::string gain_with_interval(const TuneComparison& comparison) {
  const std::string interval = interval_text(comparison);
  return gain_text(comparison.gain) + (interval.empty() ? "" : " (95 %: " + interval + ")");
}

Colour colour_of(TuneVerdict verdict) {
  switch (verdict) {
    case TuneVerdict::kAccepted:
      return Colour::kGreen;
    case TuneVerdict::kFailed:
      return Colour::kYellow;
    case TuneVerdict::kRefused:
    case TuneVerdict::kNotMeasured:
      break;
  }
  return Colour::kNone;
}

std::string settings_table(const TuneReport& report, const TextStyle& style) {
  TextTable table{{"SETTING", "GAIN", "95 %", "PAIRS", "CHANCE", "RESULT"}, {}};
  for (const TriedSetting& tried : report.search.tried) {
    const TuneComparison& measured = tried.comparison;
    const bool any = measured.pairs > 0;
    table.rows.push_back({{{variables_text(tried.variables), Colour::kNone},
                           {any ? gain_text(measured.gain) : "-", Colour::kNone},
                           {any ? interval_text(measured) : "", Colour::kNone},
                           {any ? std::to_string(measured.pairs) : "-", Colour::kNone},
                           {tried.confirmed ? number_text(measured.chance * 100) + " %" : "-", Colour::kNone},
                           {printable(result_text(tried)), colour_of(tried.verdict)}},
                          {}});
  }
  return table_text(table, 0, style);
}

/// "all_reduce of 8 KiB: 31.4 % slower, all_reduce of 16 MiB: +253.4 %"
std::string points_text(const TuneComparison& comparison) {
  std::vector<std::string> points;
  for (const PointGain& point : comparison.points) {
    points.push_back(std::string(to_string(point.collective)) + " of " + size_text(point.bytes) + ": " +
                     point_gain_text(point));
  }
  return join(points, ", ");
}

/// Refused settings that make some sizes faster and others slower: the user can still choose one.
std::string lines_of_trade_offs(const TuneReport& report, const TextStyle& style) {
  std::string text;
  for (const TriedSetting& tried : report.search.tried) {
    if (!is_trade_off(tried)) continue;
    if (text.empty()) {
      text = wrapped(
          "Refused, but faster at some sizes. You can set them by hand if those sizes count for your jobs:", 0, style);
    }
    text += continued("  " + variables_text(tried.variables) + " (" + counted(tried.comparison.pairs, "pair") + ")", 4,
                      style);
    text += continued("    " + points_text(tried.comparison), 6, style);
  }
  return text;
}

std::string lines_of_trouble(const TuneReport& report, const TextStyle& style) {
  std::string text = node_errors_text(report.run, style);
  if (report.trouble && report.trouble->code != ErrorCode::kInterrupted) {
    text += continued("! " + shown_text(report.trouble->describe()), 2, style);
    if (!report.trouble->hint.empty()) text += continued("    hint: " + printable(report.trouble->hint), 4, style);
  }
  return text;
}

Value variables_value(const NcclVariables& variables) {
  Value value = Value::map();
  for (const auto& [name, text] : variables) value.set(name, text);
  return value;
}

Value value_of(const TuneComparison& comparison) {
  Value points{Value::List{}};
  for (const PointGain& point : comparison.points) {
    points.push_back(
        Value::map({{"collective", to_string(point.collective)}, {"bytes", point.bytes}, {"gain", point.gain}}));
  }
  return Value::map({{"pairs", static_cast<std::int64_t>(comparison.pairs)},
                     {"gain", comparison.gain},
                     {"low", comparison.low > 0 ? Value(comparison.low) : Value()},
                     {"high", std::isfinite(comparison.high) && comparison.high > 0 ? Value(comparison.high) : Value()},
                     {"chance", comparison.chance},
                     {"points", std::move(points)}});
}

Value value_of(const TriedSetting& tried) {
  return Value::map({{"knob", tried.knob},
                     {"variables", variables_value(tried.variables)},
                     {"verdict", to_string(tried.verdict)},
                     {"reason", tried.reason},
                     {"confirmed", tried.confirmed},
                     {"comparison", tried.comparison.pairs > 0 ? value_of(tried.comparison) : Value()}});
}

Value value_of(const TunePoints& points) {
  Value list{Value::List{}};
  for (const TunePoint& point : points) {
    list.push_back(Value::map(
        {{"collective", to_string(point.collective)}, {"bytes", point.bytes}, {"time_us", point.seconds * kMicro}}));
  }
  return list;
}

Value value_of(const PastPair& past) {
  return Value::map({{"phase", to_string(past.phase)},
                     {"after_first", past.after_first},
                     {"before", variables_value(past.before)},
                     {"after", variables_value(past.after)},
                     {"before_points", value_of(past.pair.before)},
                     {"after_points", value_of(past.pair.after)}});
}

Value value_of(const NodeReport& node) {
  const bool in_trouble = node.status == NodeStatus::kUnreachable || node.status == NodeStatus::kFailed ||
                          node.status == NodeStatus::kRefused || node.status == NodeStatus::kSkipped;
  Value value = Value::map({{"name", node.name},
                            {"address", node.address},
                            {"status", in_trouble ? to_string(node.status) : std::string_view("measured")}});
  if (node.error) value.set("error", to_json_value(*node.error));
  return value;
}

}  // namespace

std::string gain_text(double gain) { return fmt::format("{:+.1f} %", (gain - 1) * 100); }

std::string interval_text(const TuneComparison& comparison) {
  if (comparison.low <= 0 || !std::isfinite(comparison.high)) return "";
  return fmt::format("{:+.1f} to {:+.1f} %", (comparison.low - 1) * 100, (comparison.high - 1) * 100);
}

std::string result_text(const TriedSetting& tried) {
  if (tried.verdict == TuneVerdict::kAccepted) return "accepted";
  const std::string verdict =
      tried.verdict == TuneVerdict::kNotMeasured ? "not measured" : std::string(to_string(tried.verdict));
  return verdict + ": " + tried.reason;
}

bool is_trade_off(const TriedSetting& tried) {
  const TuneComparison& measured = tried.comparison;
  if (tried.verdict != TuneVerdict::kRefused || measured.pairs < kPairsOfClearLoss) return false;
  if (measured.gain < kLeastTuneGain) return false;
  return std::ranges::any_of(measured.points, [](const PointGain& point) { return point.gain < kLeastPointGain; });
}

std::string point_gain_text(const PointGain& point) {
  return point.gain < kLeastPointGain ? slower_text(point.gain) : gain_text(point.gain);
}

std::string verdict_of(const TuneReport& report) {
  if (report.run.interrupted) return "Tune: interrupted, nothing is proposed";
  if (report.trouble) return "Tune: not finished, nothing is proposed";
  if (report.search.tried.empty()) return "Tune: nothing was measured";
  std::string text = "Tune: ";
  const auto accepted = static_cast<std::size_t>(std::ranges::count_if(
      report.search.tried, [](const TriedSetting& tried) { return tried.verdict == TuneVerdict::kAccepted; }));
  if (!report.search.together_refusal.empty()) {
    text += "nothing is proposed: together, the accepted settings are refused, " + report.search.together_refusal;
  } else if (accepted == 0) {
    text += "no setting is better for certain";
  } else {
    text += counted(accepted, "setting") + (accepted == 1 ? " is better" : " are better");
    if (const TuneComparison* gain = whole_gain(report)) text += ", " + gain_with_interval(*gain);
  }
  if (report.search.out_of_time) text += "; the budget ended before the search";
  return text;
}

std::string yaml_fragment(const TuneReport& report) {
  std::string text = "# sparkplan tune: " + printable(ground_text(report)) + "\n";
  const NcclVariables proposed = report.proposed();
  if (proposed.empty()) return text + "# No setting is better for certain.\n";
  if (const TuneComparison* gain = whole_gain(report)) {
    text += "# Gain over the settings of cluster.yaml: " + gain_with_interval(*gain) + "\n";
  }
  if (!report.limit.empty()) text += "# It was not measured with large messages: " + printable(report.limit) + "\n";
  text += "# It holds for these nodes and this release of NCCL.\nnccl:\n  env:\n";
  // The names and values are those of the candidates, which need no escaping.
  for (const auto& [name, value] : proposed) text += "    " + name + ": \"" + value + "\"\n";
  return text;
}

std::string to_text(const TuneReport& report, const TextStyle& style) {
  std::string text;
  if (!style.quiet && !report.nodes.empty()) text += continued(printable(ground_text(report)), 2, style);
  if (!style.quiet) text += settings_table(report, style);
  if (!style.quiet && !report.candidates.declared.empty()) {
    text += wrapped("Not tried, because cluster.yaml sets it: " + join(report.candidates.declared, ", "), 0, style);
  }
  if (!style.quiet) text += lines_of_trade_offs(report, style);
  text += lines_of_trouble(report, style);
  if (!report.proposed().empty()) text += "\n" + yaml_fragment(report) + "\n";
  return text + wrapped(verdict_of(report) + fmt::format(". {:.0f} s", report.run.duration.count()), 0, style);
}

Value to_json_value(const TuneReport& report) {
  Value nodes{Value::List{}};
  for (const NodeReport& node : report.run.nodes) nodes.push_back(value_of(node));
  Value tried{Value::List{}};
  for (const TriedSetting& one : report.search.tried) tried.push_back(value_of(one));
  Value history{Value::List{}};
  for (const PastPair& past : report.search.history) history.push_back(value_of(past));
  return Value::map({{"format_version", "1.0"},
                     {"command", "tune"},
                     {"cluster", report.run.cluster},
                     {"file", report.run.file},
                     {"config_digest", report.run.config_digest},
                     {"interrupted", report.run.interrupted},
                     {"nodes", std::move(nodes)},
                     {"ranks", report.ranks},
                     {"nccl", report.nccl.empty() ? Value() : Value(report.nccl)},
                     {"network", report.network.empty() ? Value() : Value(report.network)},
                     {"budget_s", std::chrono::duration<double>(report.budget).count()},
                     {"measured_s", report.search.seconds},
                     {"out_of_time", report.search.out_of_time},
                     {"decisions", static_cast<std::int64_t>(report.search.decisions)},
                     {"pairs_to_decide", static_cast<std::int64_t>(report.search.pairs_to_decide)},
                     {"settings", std::move(tried)},
                     {"declared", list_of_texts(report.candidates.declared)},
                     {"together", report.search.together ? value_of(*report.search.together) : Value()},
                     {"proposed", variables_value(report.proposed())},
                     {"fragment", yaml_fragment(report)},
                     {"history", std::move(history)},
                     {"error", report.trouble ? to_json_value(*report.trouble) : Value()},
                     {"diagnostics", *to_json_value(report.run).find("diagnostics")},
                     {"duration_s", report.run.duration.count()}});
}

}  // namespace sparkplan
