#include "engine/fleet/history.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "engine/fleet/fan_out.h"
#include "engine/fleet/last_line.h"
#include "engine/fleet/run_identity.h"
#include "engine/remote/agent_image.h"

namespace sparkplan {
namespace {

/// An agent of this build. Installs none on a machine without an agent.
/// Errors: kNotFound without an agent.
Result<AgentClient> open_existing(const NodeSpec& node, AgentOptions options) {
  options.install = InstallPolicy::kNever;
  auto client = AgentClient::open(node, options, {});
  if (client) {
    const auto image = agent_image(client->hello().architecture);
    if (image && image->build == client->hello().build) return client;
  } else if (client.error().code != ErrorCode::kUnsupported) {
    return client;
  }
  options.install = InstallPolicy::kExactBuild;
  return AgentClient::open(node, options, {});
}

struct Question {
  const NodeSpec* spec = nullptr;
  NodeHistory answer;
};

void ask(Question& question, const RunOptions& options, bool with_artifacts) {
  const auto tell = [&](std::string_view doing, Activity activity) {
    if (options.progress) options.progress(question.answer.node, doing, activity);
  };
  tell("reading its journals", Activity::kWorking);
  auto client = open_existing(*question.spec, options.agent);
  if (!client && client.error().code == ErrorCode::kNotFound) {
    question.answer.applied = false;
    return tell("never applied", Activity::kWaiting);
  }
  auto reply = client ? client->call(HistoryRequest{with_artifacts}) : tl::unexpected<Error>(client.error());
  if (!reply) {
    tell(reply.error().describe(), Activity::kFailed);
    question.answer.error = std::move(reply).error();
    return;
  }
  const auto& manifest = client->facts().manifest;
  question.answer.applied = manifest.has_value();
  if (manifest) question.answer.cluster_id = manifest->roster.uuid;
  question.answer.reply = std::move(*reply);
  tell("journals read", Activity::kWaiting);
}

/// Bounds the sum of the nodes' claims.
constexpr std::int64_t kMostChanges = 1'000'000'000;

/// From best to worst.
int badness(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kApplied:
      return 0;
    case RunOutcome::kRolledBack:
      return 1;
    case RunOutcome::kFailed:
      return 2;
    case RunOutcome::kBrokenOff:
      return 3;
  }
  return 3;
}

/// The oldest run of each node that has one: it could not report an earlier one. Run ids are in the order of time.
std::vector<std::string> first_runs(const std::vector<NodeHistory>& histories) {
  std::vector<std::string> firsts;
  for (const auto& history : histories) {
    const auto& runs = history.reply.runs;
    const auto first = std::min_element(runs.begin(), runs.end(),
                                        [](const JournaledRun& a, const JournaledRun& b) { return a.run < b.run; });
    if (first != runs.end()) firsts.push_back(first->run);
  }
  return firsts;
}

}  // namespace

std::vector<NodeHistory> read_histories(const Cluster& cluster, const RunOptions& options, bool with_artifacts) {
  std::vector<Question> questions;
  for (const auto& spec : cluster.nodes) {
    if (!options.selection.includes_node(spec.name.str())) continue;
    Question question{&spec, {}};
    question.answer.node = spec.name.str();
    questions.push_back(std::move(question));
  }
  fan_out(
      questions, options.workers,
      [&](Question& question) {
        last_line([&] { ask(question, options, with_artifacts); },
                  [&](Error error) { question.answer.error = std::move(error); });
      },
      [](Question&) {});
  std::vector<NodeHistory> histories;
  for (auto& question : questions) histories.push_back(std::move(question.answer));
  return histories;
}

std::vector<ClusterHistoryEntry> merged(const std::vector<NodeHistory>& histories) {
  // Nodes with different users for a run are shown separately.
  std::map<std::tuple<std::string, std::string, std::string>, ClusterHistoryEntry, std::greater<>> runs;
  for (const auto& history : histories) {
    for (const auto& run : history.reply.runs) {
      auto [entry, first] =
          runs.try_emplace({run.run, run.who, run.operation}, ClusterHistoryEntry{run, {}, 0, {}, {}});
      auto& whole = entry->second.run;
      auto& nodes = entry->second.nodes;
      // A node counts once, however often it reports the run.
      if (!nodes.empty() && nodes.back() == history.node) continue;
      nodes.push_back(history.node);
      if (first) whole.changes = std::clamp<std::int64_t>(run.changes, 0, kMostChanges);
      if (first) continue;
      whole.changes = std::min(whole.changes + std::clamp<std::int64_t>(run.changes, 0, kMostChanges), kMostChanges);
      whole.time = std::min(whole.time, run.time);
      if (badness(run.outcome) > badness(whole.outcome)) whole.outcome = run.outcome;
    }
  }
  const auto begins = first_runs(histories);
  std::vector<ClusterHistoryEntry> entries;
  std::map<std::string, std::size_t> taken;
  for (auto& [id, entry] : runs) {
    entry.could_report = static_cast<std::size_t>(
        std::count_if(begins.begin(), begins.end(), [&](const std::string& begin) { return begin <= entry.run.run; }));
    bool room = !entry.reported_by_few();
    if (!room) {
      for (const auto& node : entry.nodes) room = ++taken[node] <= kMostRunsReportedByFew || room;
    }
    if (room) entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::optional<LockHolder>> holder_of_lock(const NodeSpec& node, const AgentOptions& options) {
  SPARK_TRY(const auto client, open_existing(node, options));
  return client.facts().lock_holder;
}

Result<void> break_lock(const NodeSpec& node, const AgentOptions& options, const LockHolder& holder,
                        const std::string& cluster) {
  SPARK_TRY(auto client, open_existing(node, options));
  return client.call(BreakLockRequest{holder.describe(), "unlock cluster=" + cluster + " node=" + node.name.str() +
                                                             " by=" + this_controller("unlock").who +
                                                             " broken=" + holder.who + "/" + holder.operation});
}

}  // namespace sparkplan
