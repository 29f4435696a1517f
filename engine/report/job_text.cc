#include "engine/report/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/core/text.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/text/error_json.h"
#include "engine/report/text/shared_errors.h"

namespace sparkplan {
namespace {

Value to_value(const RankReport& rank) {
  Value value = Value::map({{"rank", rank.rank}, {"pid", rank.pid > 0 ? Value(rank.pid) : Value()}});
  const RankEnded ended = rank.ended.value_or(RankEnded());
  value.set("exit_code", ended.exit_code ? Value(*ended.exit_code) : Value());
  value.set("signal", ended.signal ? Value(*ended.signal) : Value());
  value.set("duration_s", rank.ended ? Value(static_cast<double>(ended.duration_ms) / 1000) : Value());
  if (rank.ended) value.set("ending", names_of(ended.ending)[static_cast<std::size_t>(ended.ending)]);
  if (rank.ended && !rank.succeeded()) value.set("reason", ending_text(rank));
  if (!rank.output.empty()) value.set("output", rank.output);
  if (rank.output_is_cut) value.set("output_is_cut", true);
  return value;
}

Value to_value(const JobNodeReport& node) {
  Value value = Value::map({{"name", node.name}});
  if (node.error) value.set("error", to_json_value(*node.error));
  Value ranks{Value::List{}};
  for (const RankReport& rank : node.ranks) ranks.push_back(to_value(rank));
  value.set("ranks", std::move(ranks));
  if (!node.left.empty()) {
    Value left{Value::List{}};
    for (const auto pid : node.left) left.push_back(pid);
    value.set("left", std::move(left));
  }
  if (!node.containers_left.empty()) {
    Value left{Value::List{}};
    for (const std::string& one : node.containers_left) left.push_back(one);
    value.set("containers_left", std::move(left));
  }
  return value;
}

bool succeeded(const JobNodeReport& node) {
  return !node.error && node.left.empty() && node.containers_left.empty() &&
         std::all_of(node.ranks.begin(), node.ranks.end(), [](const RankReport& rank) { return rank.succeeded(); });
}

Value to_value(const PreflightCheck& check) {
  Value nodes{Value::List{}};
  for (const std::string& name : check.nodes) nodes.push_back(name);
  Value value = Value::map(
      {{"name", check.name}, {"nodes", std::move(nodes)}, {"status", to_string(check.status)}, {"text", check.text}});
  if (!check.fix.empty()) value.set("fix", check.fix);
  return value;
}

/// Failures and warnings, each with its fix.
std::string lines_of_preflight(const std::vector<PreflightCheck>& checks) {
  std::string text;
  for (const PreflightCheck& check : checks) {
    if (!is_problem(check.status)) continue;
    text += "! " + fold_names(check.nodes) + ": " + check.name + ": " + printable(check.text) + "\n";
    if (!check.fix.empty()) text += "  fix: " + printable(check.fix) + "\n";
  }
  return text;
}

/// The first rank that failed explains why the others were stopped.
bool is_consequence(const RankEnded& ended, const JobReport& report) {
  return report.command == "run" && !report.interrupted && ended.ending == RankEnding::kStopped;
}

/// The program that was not started is not the user's command.
bool is_missing_launcher(const RankReport& rank, const JobReport& report) {
  const bool own = report.argv.empty() || rank.program == report.argv.front();
  return report.command == "run" && rank.ended->ending == RankEnding::kNotStarted && !rank.program.empty() && !own;
}

/// All that went wrong on a node.
void add_troubles(const JobNodeReport& node, const JobReport& report, std::vector<NodeTrouble>& troubles) {
  const auto add = [&](const std::string& where, const std::string& words, const std::string& hint = {}) {
    troubles.push_back({printable(where), {}, printable(words), printable(hint)});
  };
  if (node.error) troubles.push_back(trouble_of(node.name, node.address, *node.error));
  for (const RankReport& rank : node.ranks) {
    if (!rank.ended || rank.succeeded() || is_consequence(*rank.ended, report)) continue;
    const std::string which = node.ranks.size() > 1 ? " rank " + std::to_string(rank.rank) : "";
    const bool is_launcher = is_missing_launcher(rank, report);
    add(node.name + which, ending_text(rank),
        is_launcher ? rank.program + " starts your command: install it there" : std::string());
  }
  if (!node.left.empty()) {
    std::vector<std::string> pids;
    for (const auto pid : node.left) pids.push_back(std::to_string(pid));
    add(node.name, "still running, because no signal ends it: pid " + join(pids, ", "));
  }
  if (!node.containers_left.empty()) {
    add(node.name, "containers of the job are left: " + join(node.containers_left, ", "));
  }
}

/// A line for each trouble, with all nodes that share it.
std::string lines_of_nodes(const JobReport& report, const TextStyle& style) {
  std::vector<NodeTrouble> troubles;
  for (const JobNodeReport& node : report.nodes) add_troubles(node, report, troubles);
  std::string text;
  for (const SharedTrouble& one : shared_troubles(troubles)) {
    text += continued("! " + fold_names(one.nodes) + ": " + one.words, 2, style);
    if (!one.hint.empty()) text += continued("  hint: " + one.hint, 4, style);
  }
  return text;
}

}  // namespace

Value to_json_value(const JobReport& report) {
  Value nodes{Value::List{}};
  for (const JobNodeReport& node : report.nodes) nodes.push_back(to_value(node));
  Value argv{Value::List{}};
  for (const std::string& word : report.argv) argv.push_back(word);
  Value preflight{Value::List{}};
  for (const PreflightCheck& check : report.preflight) preflight.push_back(to_value(check));
  Value value = Value::map({{"format_version", "1.0"},
                            {"command", report.command},
                            {"argv", std::move(argv)},
                            {"nodes", std::move(nodes)},
                            {"interrupted", report.interrupted},
                            {"duration_s", std::round(report.seconds * 1000) / 1000}});
  if (report.command == "run") value.set("preflight", std::move(preflight));
  return value;
}

std::string to_text(const JobReport& report, const TextStyle& style) {
  std::string text = lines_of_preflight(report.preflight);
  text += lines_of_nodes(report, style);
  if (report.output_error) text += "! output: " + printable(report.output_error->describe()) + "\n";
  const auto failed = std::count_if(report.nodes.begin(), report.nodes.end(),
                                    [](const JobNodeReport& node) { return !succeeded(node); });
  if (style.quiet && text.empty()) return text;
  const std::string nodes = counted(report.nodes.size(), "node");
  const bool refused = failed_preflight(report);
  const std::string outcome = refused       ? "nothing was started, the preflight failed"
                              : failed == 0 ? "succeeded on " + nodes
                                            : fmt::format("failed on {} of {}", failed, nodes);
  return text + fmt::format("{}: {}{}. {:.2f} s\n", report.command, report.interrupted ? "stopped, " : "", outcome,
                            report.seconds);
}

}  // namespace sparkplan
