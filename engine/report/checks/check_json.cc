#include <cmath>
#include <utility>

#include "engine/core/tree.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/error_json.h"

namespace sparkplan {
namespace {

Value number_or_null(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? Value(*number) : Value();
}

Value value_of(const Check& check) {
  Value value = Value::map({{"id", check.id},
                            {"level", to_string(check.level)},
                            {"nodes", list_of_texts(check.nodes)},
                            {"status", to_string(check.status)},
                            {"text", check.text},
                            {"value", number_or_null(check.value)},
                            {"unit", check.unit.empty() ? Value() : Value(check.unit)},
                            {"threshold", number_or_null(check.threshold)}});
  if (!check.series.empty()) {
    Value series{Value::List{}};
    for (const SizePoint& point : check.series) {
      series.push_back(Value::map({{"bytes", point.bytes},
                                   {"time_us", number_or_null(point.time_us)},
                                   {"algbw", number_or_null(point.algbw)},
                                   {"busbw", number_or_null(point.busbw)},
                                   {"placement", point.in_place ? "in_place" : "out_of_place"}}));
    }
    value.set("series", std::move(series));
  }
  if (!check.cause.empty()) value.set("cause", check.cause);
  if (!check.fix.empty()) value.set("fix", check.fix);
  if (!check.blocked_by.empty()) value.set("blocked_by", check.blocked_by);
  return value;
}

Value value_of(const Finding& finding) {
  const bool problem = is_problem(finding.status);
  const std::string node = finding.between_nodes ? "all" : finding.nodes.front();
  Value value = Value::map({{"id", "doctor/" + node + "/" + std::string(finding.row->id)},
                            {"level", "doctor"},
                            {"row", finding.row->id},
                            {"nodes", list_of_texts(finding.nodes)},
                            {"status", to_string(finding.status)},
                            {"text", problem ? std::string(finding.row->symptom) : ""},
                            {"seen", finding.seen},
                            {"read", finding.row->read},
                            {"value", Value()},
                            {"unit", Value()},
                            {"threshold", Value()}});
  if (problem) {
    value.set("cause", finding.row->cause);
    value.set("fix", finding.row->fix);
  } else if (finding.status == CheckStatus::kSkip) {
    value.set("cause", finding.seen);
  }
  return value;
}

Value value_of(const NodeReport& node, std::string_view done) {
  const bool in_trouble = node.status == NodeStatus::kUnreachable || node.status == NodeStatus::kFailed ||
                          node.status == NodeStatus::kRefused || node.status == NodeStatus::kSkipped;
  Value value = Value::map(
      {{"name", node.name}, {"address", node.address}, {"status", in_trouble ? to_string(node.status) : done}});
  if (!node.error) return value;
  return value.set("error", to_json_value(*node.error));
}

/// The JSON of either command. `done` is the status of an examined node.
template <class Checks>
Value whole(const char* command, std::string_view done, const Report& run, const Checks& all) {
  Value checks{Value::List{}};
  for (const auto& check : all) checks.push_back(value_of(check));
  Value nodes{Value::List{}};
  std::int64_t unreachable = 0;
  for (const NodeReport& node : run.nodes) {
    nodes.push_back(value_of(node, done));
    if (node.status == NodeStatus::kUnreachable) ++unreachable;
  }
  const StatusCounts counts = count_by_status(all);
  const auto number = [](std::size_t one) { return static_cast<std::int64_t>(one); };
  return Value::map({{"format_version", "1.0"},
                     {"command", command},
                     {"cluster", run.cluster},
                     {"file", run.file},
                     {"config_digest", run.config_digest},
                     {"partial", run.partial},
                     {"interrupted", run.interrupted},
                     {"nodes", std::move(nodes)},
                     {"checks", std::move(checks)},
                     {"summary", Value::map({{"pass", number(counts.pass)},
                                             {"warn", number(counts.warn)},
                                             {"fail", number(counts.fail)},
                                             {"skip", number(counts.skip)},
                                             {"nodes", number(run.nodes.size())},
                                             {"nodes_unreachable", unreachable}})},
                     {"diagnostics", *to_json_value(run).find("diagnostics")},
                     {"duration_s", run.duration.count()}});
}

}  // namespace

Value to_json_value(const VerifyReport& report) { return whole("verify", "verified", report.run, report.checks); }

Value to_json_value(const DoctorReport& report) { return whole("doctor", "examined", report.run, report.findings); }

}  // namespace sparkplan
