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

/// An agent of this very build, without bringing one to a machine that has none.
/// Errors: kNotFound when there is none.
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
  question.answer.applied = client->facts().manifest.has_value();
  question.answer.reply = std::move(*reply);
  tell("journals read", Activity::kWaiting);
}

/// A sum of what nodes claim has an end.
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
  // Nodes that do not agree on who has run it are shown apart.
  std::map<std::tuple<std::string, std::string, std::string>, ClusterHistoryEntry, std::greater<>> runs;
  for (const auto& history : histories) {
    for (const auto& run : history.reply.runs) {
      auto [entry, first] = runs.try_emplace({run.run, run.who, run.operation}, ClusterHistoryEntry{run, {}});
      entry->second.nodes.push_back(history.node);
      if (first) entry->second.run.changes = std::clamp<std::int64_t>(run.changes, 0, kMostChanges);
      if (first) continue;
      auto& whole = entry->second.run;
      whole.changes = std::min(whole.changes + std::clamp<std::int64_t>(run.changes, 0, kMostChanges), kMostChanges);
      whole.time = std::min(whole.time, run.time);
      if (badness(run.outcome) > badness(whole.outcome)) whole.outcome = run.outcome;
    }
  }
  std::vector<ClusterHistoryEntry> entries;
  for (auto& [id, entry] : runs) entries.push_back(std::move(entry));
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
