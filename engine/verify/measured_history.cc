#include "engine/verify/measured_history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/ids.h"
#include "engine/core/text.h"
#include "engine/fleet/history/history.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/last_line.h"
#include "engine/verify/check.h"
#include "engine/verify/measurements.h"

namespace sparkplan {
namespace {

/// A node keeps no more values of a check.
constexpr std::size_t kMostValues = 50;
constexpr std::size_t kFewestBefore = 3;
constexpr std::size_t kFewestAfter = 2;
constexpr double kLeastStep = 0.1;
constexpr double kLeastDistances = 4;
constexpr std::size_t kMostBeside = 6;
constexpr std::size_t kFirstBeside = 2;  ///< Of each node. One node can claim hundreds of runs.
constexpr std::size_t kLongestVersion = 100;
/// Above every bandwidth and every latency.
constexpr double kLargestValue = 1e12;

struct FigureRow {
  std::string_view name;
  std::string_view unit;
};
constexpr std::array<FigureRow, 7> kFigureRows{{{"tcp", "Gb/s"},
                                                {"rdma", "Gb/s"},
                                                {"latency", "us"},
                                                {"gpu", "GB/s"},
                                                {"nccl", "GB/s"},
                                                {"storage", "GB/s"},
                                                {"nccl_latency", "us"}}};

bool is_time(Figure figure) { return figure == Figure::kLatency || figure == Figure::kNcclLatency; }

struct NodeQuestion {
  const NodeSpec* spec = nullptr;
  NodeMeasurements answer;
};

Result<void> ask_for_measurements(NodeQuestion& question, const AgentOptions& options) {
  NodeMeasurements& answer = question.answer;
  auto client = open_existing(*question.spec, options);
  if (!client && client.error().code == ErrorCode::kNotFound) {
    answer.applied = false;
    return {};
  }
  if (!client) return failure(client.error());
  answer.applied = client->facts().manifest.has_value();
  return read_measurements(*client, answer);
}

/// The nodes that the id names: "tcp/spark-01/spark-02/A". All of them for "nccl/all/all_reduce".
std::set<std::string> nodes_in(std::string_view id, const Cluster& cluster) {
  const auto parts = split(id, '/');
  const auto is_part = [&](std::size_t at, std::string_view text) { return parts.size() > at && parts[at] == text; };
  std::set<std::string> nodes;
  for (const NodeSpec& node : cluster.nodes) {
    const std::string& name = node.name.str();
    if (is_part(1, "all") || is_part(1, name) || is_part(2, name)) nodes.insert(name);
  }
  return nodes;
}

/// A run as its node describes it.
struct DescribedRun {
  std::string id;  ///< Empty: the node names none.
  std::shared_ptr<const Versions> versions;
};
using RunsByNumber = std::map<std::int64_t, DescribedRun>;

/// Thousands of values share a run: its versions are kept once.
RunsByNumber runs_of(const NodeMeasurements& node) {
  RunsByNumber runs;
  for (const MeasuredRun& run : node.measured.runs) {
    runs.try_emplace(run.number, DescribedRun{is_past_run(run.run) ? run.run : std::string(),
                                              std::make_shared<const Versions>(run.versions)});
  }
  return runs;
}

std::vector<PastValue> values_of(const StoredValues& stored, const RunsByNumber& runs) {
  std::vector<PastValue> values;
  const std::size_t count = stored.values.size();
  for (std::size_t at = count > kMostValues ? count - kMostValues : 0; at < count; ++at) {
    if (!is_measured(stored.values[at])) continue;
    PastValue value{stored.values[at]};
    const auto run = at < stored.runs.size() ? runs.find(stored.runs[at]) : runs.end();
    if (run != runs.end()) {
      value.run = run->second.id;
      value.versions = run->second.versions;
    }
    values.push_back(std::move(value));
  }
  return values;
}

/// The runs of one node with their times, in the order of its journals.
struct TimedRuns {
  struct Run {
    std::string time;
    const JournaledRun* run = nullptr;
  };
  const NodeMeasurements* node = nullptr;
  std::vector<Run> runs = {};
};

/// A node can keep thousands of checks, so that the times are not read again for each of them.
std::vector<TimedRuns> timed_runs(const std::vector<NodeMeasurements>& nodes) {
  std::vector<TimedRuns> all;
  for (const NodeMeasurements& node : nodes) {
    TimedRuns& timed = all.emplace_back();
    timed.node = &node;
    for (const JournaledRun& run : node.runs) {
      std::string time = time_of_run(run.run);
      if (!time.empty()) timed.runs.push_back({std::move(time), &run});
    }
  }
  return all;
}

/// The first lines, and the number of the others. The first node has kFirstBeside lines before all. Then each other
/// node has one, and then a second one. So invented runs of one node take few places from the lines of the others.
class BesideLines {
 public:
  template <class MakeLine>
  void add(MakeLine make_line) {
    const bool before_all = first_node_ && of_node_ < kFirstBeside;
    auto& turn = turns_.at(before_all ? 0 : std::min(of_node_, kFirstBeside));
    if (turn.size() < kMostBeside) turn.push_back(make_line());
    ++of_node_;
    ++count_;
  }
  /// The next lines are those of another node.
  void go_on() {
    first_node_ = false;
    of_node_ = 0;
  }
  std::vector<std::string> lines() && {
    std::vector<std::string> lines;
    for (auto& turn : turns_) {
      for (std::string& line : turn) {
        if (lines.size() < kMostBeside) lines.push_back(std::move(line));
      }
    }
    if (count_ > lines.size()) lines.push_back("and " + std::to_string(count_ - lines.size()) + " more");
    return lines;
  }

 private:
  std::array<std::vector<std::string>, kFirstBeside + 1> turns_;  ///< The last one has all further lines.
  bool first_node_ = true;
  std::size_t of_node_ = 0;
  std::size_t count_ = 0;
};

/// "kernel 6.11 -> 6.14 on spark-01"
void add_versions(const PastValue& before, const PastValue& after, const std::string& node, BesideLines& beside) {
  if (!before.versions || !after.versions) return;
  for (const auto& version : *after.versions) {
    const auto old = before.versions->find(version.first);
    if (old == before.versions->end() || old->second == version.second) continue;
    // Each of thousands of checks has a copy.
    const auto cut = [](const std::string& text) { return cut_text(text, kLongestVersion); };
    beside.add(
        [&] { return cut(version.first) + " " + cut(old->second) + " -> " + cut(version.second) + " on " + node; });
  }
}

/// The node's runs between the two runs of `verify`.
void add_runs(const TimedRuns& timed, const std::string& from, const std::string& to, BesideLines& beside) {
  for (const TimedRuns::Run& one : timed.runs) {
    if (one.time <= from || one.time > to) continue;
    beside.add([&] {
      const JournaledRun& run = *one.run;
      return shown_text(run.operation) + (run.who.empty() ? "" : " by " + shown_text(run.who)) + ", " +
             std::to_string(run.changes) + (run.changes == 1 ? " change, " : " changes, ") + one.time + ", on " +
             timed.node->node;
    });
  }
}

/// `involved`: the nodes that the check's id names.
void explain(ValueChange& change, const CheckHistory& history, const std::set<std::string>& involved,
             const std::vector<TimedRuns>& nodes) {
  const PastValue& before = history.values[change.at - 1];
  const PastValue& after = history.values[change.at];
  BesideLines beside;
  add_versions(before, after, history.node, beside);
  if (!before.run.empty() && !after.run.empty()) {
    const std::string from = time_of_run(before.run);
    const std::string to = time_of_run(after.run);
    const auto keeps = [&](const TimedRuns& timed) { return timed.node->node == history.node; };
    for (const TimedRuns& timed : nodes) {
      if (keeps(timed)) add_runs(timed, from, to, beside);
    }
    for (const TimedRuns& timed : nodes) {
      if (keeps(timed) || !involved.contains(timed.node->node)) continue;
      beside.go_on();
      add_runs(timed, from, to, beside);
    }
  }
  change.beside = std::move(beside).lines();
}

/// The sum of the distances from the median.
double cost_of(const std::vector<double>& values, double median) {
  double cost = 0;
  for (const double value : values) cost += std::fabs(value - median);
  return cost;
}

std::optional<ValueChange> lasting_change(const std::vector<double>& values) {
  std::optional<ValueChange> best;
  double least = 0;
  for (std::size_t at = kFewestBefore; at + kFewestAfter <= values.size(); ++at) {
    const auto border = values.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<double> before(values.begin(), border);
    const std::vector<double> after(border, values.end());
    ValueChange change;
    change.at = at;
    change.before = median_of(before);
    change.after = median_of(after);
    const double cost = cost_of(before, change.before) + cost_of(after, change.after);
    if (best && cost >= least) continue;
    best = std::move(change);
    least = cost;
  }
  if (!best) return std::nullopt;
  const double gap = std::fabs(best->after - best->before);
  const double distance = least / static_cast<double>(values.size());
  const bool clear = gap > kLeastStep * std::fabs(best->before) && gap > kLeastDistances * distance;
  return clear ? best : std::nullopt;
}

/// As the check itself would warn of it, see hold_against().
std::optional<ValueChange> latest_change(const std::vector<double>& values, bool less_is_better) {
  if (values.size() <= kFewestEarlier) return std::nullopt;
  ValueChange change;
  change.at = values.size() - 1;
  change.before = median_of({values.begin(), values.end() - 1});
  change.after = values.back();
  change.lasting = false;
  return is_slower(change.after, change.before, less_is_better) ? std::optional(std::move(change)) : std::nullopt;
}

}  // namespace

bool is_measured(double value) { return std::isfinite(value) && value > 0 && value <= kLargestValue; }

std::string_view to_string(Figure figure) { return kFigureRows.at(static_cast<std::size_t>(figure)).name; }

std::string_view unit_of(Figure figure) { return kFigureRows.at(static_cast<std::size_t>(figure)).unit; }

const std::vector<Figure>& all_figures() {
  static const std::vector<Figure> figures{Figure::kTcp,  Figure::kRdma,        Figure::kLatency, Figure::kGpu,
                                           Figure::kNccl, Figure::kNcclLatency, Figure::kStorage};
  return figures;
}

bool is_past_run(const std::string& run) { return is_run_id(run) && !time_of_run(run).empty(); }

std::optional<Figure> figure_of(std::string_view id) {
  const auto level = level_from(id.substr(0, id.find('/')));
  if (level == Level::kTcp) return Figure::kTcp;
  if (level == Level::kRdma) return id.ends_with("/latency") ? Figure::kLatency : Figure::kRdma;
  if (level == Level::kNccl) return id.ends_with("/latency") ? Figure::kNcclLatency : Figure::kNccl;
  // The copy in the GPU's memory. Its calculation has another unit, and is only compared with earlier runs.
  if (level == Level::kGpu && id.ends_with("/bandwidth")) return Figure::kGpu;
  if (level == Level::kStorage) return Figure::kStorage;
  return std::nullopt;
}

std::vector<NodeMeasurements> read_measurements(const Cluster& cluster, const RunOptions& options) {
  std::vector<NodeQuestion> questions;
  for (const NodeSpec& spec : cluster.nodes) {
    if (!options.selection.includes_node(spec.name.str()) || spec.maintenance) continue;
    NodeQuestion question{&spec, {}};
    question.answer.node = spec.name.str();
    questions.push_back(std::move(question));
  }
  const auto tell = [&](const NodeQuestion& question, std::string_view doing, Activity activity) {
    if (options.progress) options.progress(question.answer.node, doing, activity);
  };
  fan_out(questions, options.workers, [&](NodeQuestion& question) {
    const auto fail = [&](Error error) {
      tell(question, error.describe(), Activity::kFailed);
      question.answer.error = std::move(error);
    };
    tell(question, "reading its measurements", Activity::kWorking);
    last_line(
        [&] {
          auto asked = ask_for_measurements(question, options.agent);
          if (!asked) return fail(std::move(asked).error());
          tell(question, "measurements read", Activity::kWaiting);
        },
        fail);
  });
  std::vector<NodeMeasurements> answers;
  for (NodeQuestion& question : questions) answers.push_back(std::move(question.answer));
  return answers;
}

Result<void> read_measurements(AgentClient& client, NodeMeasurements& answer) {
  SPARK_TRY(answer.measured, client.call(MeasurementHistoryRequest{}));
  // Without its journals, a change is only not explained.
  if (auto history = client.call(HistoryRequest{false})) answer.runs = std::move(history->runs);
  return {};
}

std::optional<ValueChange> change_in(const std::vector<double>& values, bool less_is_better) {
  const auto is_worse = [&](const ValueChange& change) {
    return less_is_better ? change.after > change.before : change.after < change.before;
  };
  auto change = lasting_change(values);
  // An improvement of the past must not hide that the newest value is slow.
  if (!change || !is_worse(*change)) {
    if (auto latest = latest_change(values, less_is_better)) change = std::move(latest);
  }
  if (change) change->worse = is_worse(*change);
  return change;
}

std::vector<CheckHistory> check_histories(const Cluster& cluster, const std::vector<NodeMeasurements>& nodes) {
  const auto timed = timed_runs(nodes);
  std::vector<CheckHistory> histories;
  for (const NodeMeasurements& node : nodes) {
    const RunsByNumber runs = runs_of(node);
    for (const auto& [id, stored] : node.measured.checks) {
      // A node can keep what an earlier file declared, or invent an id.
      const auto figure = figure_of(id);
      if (!figure) continue;
      const auto involved = nodes_in(id, cluster);
      if (!involved.contains(node.node)) continue;
      CheckHistory history{id, node.node, values_of(stored, runs)};
      if (history.values.empty()) continue;
      std::vector<double> values;
      for (const PastValue& one : history.values) values.push_back(one.value);
      history.change = change_in(values, is_time(*figure));
      if (history.change) explain(*history.change, history, involved, timed);
      histories.push_back(std::move(history));
    }
  }
  std::ranges::stable_sort(histories, [](const CheckHistory& a, const CheckHistory& b) { return a.id < b.id; });
  return histories;
}

std::vector<PastRun> past_runs(const std::vector<CheckHistory>& checks) {
  // The ids of runs are in the order of time.
  std::map<std::string, PastRun, std::greater<>> by_id;
  std::map<std::string, std::set<std::string>> nodes;
  for (const CheckHistory& check : checks) {
    const auto figure = figure_of(check.id);
    if (!figure) continue;
    for (const PastValue& value : check.values) {
      if (value.run.empty()) continue;
      nodes[value.run].insert(check.node);
      auto& figures = by_id[value.run].figures;
      const auto [known, is_first] = figures.try_emplace(*figure, RunFigure{value.value, check.id});
      const double worst = known->second.value;
      const bool worse = is_time(*figure) ? value.value > worst : value.value < worst;
      if (!is_first && worse) known->second = {value.value, check.id};
    }
  }
  std::vector<PastRun> runs;
  for (auto& [id, run] : by_id) {
    run.run = id;
    run.nodes.assign(nodes[id].begin(), nodes[id].end());
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace sparkplan
