#include <cmath>

#include "engine/core/text_list.h"
#include "engine/plan/report.h"
#include "engine/verify/verify_run.h"

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
  if (!check.cause.empty()) value.set("cause", check.cause);
  if (!check.fix.empty()) value.set("fix", check.fix);
  return value;
}

Value value_of(const NodeReport& node) {
  const bool in_trouble = node.status == NodeStatus::kUnreachable || node.status == NodeStatus::kFailed ||
                          node.status == NodeStatus::kRefused || node.status == NodeStatus::kSkipped;
  Value value = Value::map(
      {{"name", node.name}, {"address", node.address}, {"status", in_trouble ? to_string(node.status) : "verified"}});
  if (!node.error) return value;
  return value.set("error", Value::map({{"code", to_string(node.error->code)},
                                        {"message", node.error->describe()},
                                        {"hint", node.error->hint}}));
}

}  // namespace

Value to_json_value(const VerifyReport& report) {
  // Findings, and what is said of every run, read as they do everywhere.
  const Value whole = to_json_value(report.run);
  Value checks{Value::List{}};
  for (const Check& check : report.checks) checks.push_back(value_of(check));
  Value nodes{Value::List{}};
  std::int64_t unreachable = 0;
  for (const NodeReport& node : report.run.nodes) {
    nodes.push_back(value_of(node));
    if (node.status == NodeStatus::kUnreachable) ++unreachable;
  }
  const CheckCounts counts = count(report.checks);
  const auto number = [](std::size_t one) { return static_cast<std::int64_t>(one); };
  return Value::map({{"format_version", "1.0"},
                     {"command", "verify"},
                     {"cluster", report.run.cluster},
                     {"file", report.run.file},
                     {"config_digest", report.run.config_digest},
                     {"partial", report.run.partial},
                     {"interrupted", report.run.interrupted},
                     {"nodes", std::move(nodes)},
                     {"checks", std::move(checks)},
                     {"summary", Value::map({{"pass", number(counts.pass)},
                                             {"warn", number(counts.warn)},
                                             {"fail", number(counts.fail)},
                                             {"skip", number(counts.skip)},
                                             {"nodes", number(report.run.nodes.size())},
                                             {"nodes_unreachable", unreachable}})},
                     {"diagnostics", *whole.find("diagnostics")},
                     {"duration_s", report.run.duration.count()}});
}

}  // namespace sparkplan
