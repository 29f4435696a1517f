#include "engine/report/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/text.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/text/error_json.h"
#include "engine/report/text/shared_errors.h"

namespace sparkplan {
namespace {

Value to_value(RankReport& rank) {
  Value value = Value::map({{"rank", rank.rank}, {"pid", rank.pid > 0 ? Value(rank.pid) : Value()}});
  const RankEnded ended = rank.ended.value_or(RankEnded());
  value.set("exit_code", ended.exit_code ? Value(*ended.exit_code) : Value());
  value.set("signal", ended.signal ? Value(*ended.signal) : Value());
  value.set("duration_s", rank.ended ? Value(static_cast<double>(ended.duration_ms) / 1000) : Value());
  if (rank.ended) value.set("ending", names_of(ended.ending)[static_cast<std::size_t>(ended.ending)]);
  if (rank.ended && !rank.succeeded()) value.set("reason", ending_text(rank));
  if (!rank.output.empty()) value.set("output", std::move(rank.output));
  if (rank.output_is_cut) value.set("output_is_cut", true);
  return value;
}

Value to_value(JobNodeReport& node) {
  Value value = Value::map({{"name", node.name}});
  if (node.error) value.set("error", to_json_value(*node.error));
  Value ranks{Value::List{}};
  for (RankReport& rank : node.ranks) ranks.push_back(to_value(rank));
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

constexpr std::size_t kMostSocketsShown = 4;

std::string state_text(const StuckRank& rank) {
  if (rank.processes == 0) return "no process";
  std::string text = rank.state.empty() ? "in changing states" : "state " + printable(rank.state);
  if (rank.is_stopped()) text = "stopped";
  if (rank.is_in_kernel()) text = "in the kernel, not interruptible";
  if (rank.state == "S") text = "sleeping";
  if (rank.state == "R") text = "running";
  if (!rank.waits_in.empty()) text += " in " + printable(rank.waits_in);
  text += fmt::format(", CPU {} %", rank.cpu_percent);
  if (!rank.gpu.empty()) text += ", GPU " + printable(rank.gpu);
  return text + ", " + (rank.processes == 1 ? "process " : std::to_string(rank.processes) + " processes, process ") +
         std::to_string(rank.pid);
}

std::string socket_text(const StuckSocket& one) {
  const char* what = one.socket.state == SeenSocketState::kNoAnswer         ? "no answer"
                     : one.socket.state == SeenSocketState::kUnacknowledged ? "data is not acknowledged"
                                                                            : "closed by the peer";
  return printable(one.socket.local) + " -> " + printable(one.socket.remote) +
         (one.peer.empty() ? "" : " (" + one.peer + ")") + ": " + what;
}

std::string text_of(const StuckRank& rank) {
  std::string text = "  " + rank.name() + ": " + state_text(rank) + "\n";
  for (std::size_t i = 0; i < rank.sockets.size(); ++i) {
    if (i == kMostSocketsShown) {
      text += fmt::format("    {} more connections without a peer\n", rank.sockets.size() - i);
      break;
    }
    text += "    " + socket_text(rank.sockets[i]) + "\n";
  }
  if (!rank.lines.any.empty()) text += "    last line: " + printable(rank.lines.any) + "\n";
  const bool other = !rank.lines.nccl.empty() && rank.lines.nccl != rank.lines.any;
  return other ? text + "    last line of NCCL: " + printable(rank.lines.nccl) + "\n" : text;
}

}  // namespace

Value to_json_value(JobReport report) {
  Value nodes{Value::List{}};
  for (JobNodeReport& node : report.nodes) nodes.push_back(to_value(node));
  Value argv{Value::List{}};
  for (const std::string& word : report.argv) argv.push_back(word);
  Value preflight{Value::List{}};
  for (const PreflightCheck& check : report.preflight) preflight.push_back(to_value(check));
  Value value = Value::map({{"format_version", "1.0"}, {"command", report.command}, {"argv", std::move(argv)}});
  // Value::map() would copy the outputs of all ranks.
  value.set("nodes", std::move(nodes));
  value.set("interrupted", report.interrupted);
  value.set("duration_s", std::round(report.seconds * 1000) / 1000);
  if (report.command == "run") value.set("preflight", std::move(preflight));
  return value;
}

std::string to_text(const JobReport& report, const TextStyle& style) {
  std::string text = lines_of_preflight(report.preflight);
  text += lines_of_nodes(report, style);
  if (report.output_error) text += "! output: " + printable(report.output_error->describe()) + "\n";
  const auto failed = std::ranges::count_if(report.nodes, [](const JobNodeReport& node) { return !succeeded(node); });
  if (style.quiet && text.empty()) return text;
  const std::string nodes = counted(report.nodes.size(), "node");
  const bool refused = failed_preflight(report);
  const std::string outcome = refused       ? "nothing was started, the preflight failed"
                              : failed == 0 ? "succeeded on " + nodes
                                            : fmt::format("failed on {} of {}", failed, nodes);
  return text + fmt::format("{}: {}{}. {:.2f} s\n", report.command, report.interrupted ? "stopped, " : "", outcome,
                            report.seconds);
}

std::string to_text(const StuckJob& job) {
  std::string text = fmt::format("run: no output for {} s", job.quiet.count() / 1000);
  if (!job.quiet_nodes.empty()) text += " from " + fold_names(job.quiet_nodes) + "; other nodes print";
  text += "\n";
  for (const StuckRank& rank : job.ranks) text += text_of(rank);
  for (const std::string& name : job.silent) text += "  " + name + ": no answer\n";
  for (const StuckNccl& one : job.nccl) {
    for (const std::string& fault : one.faults) text += "  NCCL on " + one.node + ": " + printable(fault) + "\n";
  }
  for (const StuckCause& cause : job.causes) {
    text += "! likely: " + printable(cause.what) + ": " + printable(cause.cause) + "\n  fix: " + printable(cause.fix) +
            "\n";
  }
  if (job.causes.empty()) text += "  nothing points to a cause\n";
  return text;
}

}  // namespace sparkplan
