#include "engine/fleet/history/history.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/last_line.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/plan/reach.h"
#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

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

/// The report of a node about one run.
struct Claim {
  const std::string* node = nullptr;
  JournaledRun* run = nullptr;
};

/// The value that more than half of the claims have.
template <class T, class Field>
std::optional<T> value_of_most(const std::vector<Claim>& claims, const Field& field) {
  std::map<T, std::size_t> votes;
  for (const Claim& claim : claims) {
    const T& value = field(*claim.run);
    if (++votes[value] * 2 > claims.size()) return value;
  }
  return std::nullopt;
}

RunOutcome worst_outcome(const std::vector<Claim>& claims) {
  RunOutcome worst = RunOutcome::kApplied;
  for (const Claim& claim : claims) {
    if (badness(claim.run->outcome) > badness(worst)) worst = claim.run->outcome;
  }
  return worst;
}

std::int64_t bounded_changes(const JournaledRun& run) { return std::clamp<std::int64_t>(run.changes, 0, kMostChanges); }

/// The most changes of one node that are added to the others'. Nodes differ, but not by factors of ten.
std::int64_t most_credible_changes(const std::vector<Claim>& claims) {
  constexpr std::int64_t kFactor = 10;
  if (claims.size() == 1) return kMostChanges;
  std::vector<std::int64_t> numbers;
  for (const Claim& claim : claims) numbers.push_back(bounded_changes(*claim.run));
  // Of two, the lower one.
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return kFactor * (*middle + kFactor);
}

const std::string& saved_plan_of(const JournaledRun& run) { return run.purpose.saved_plan; }
const std::string& undoes_of(const JournaledRun& run) { return run.purpose.undoes; }
const std::string& undone_by_of(const JournaledRun& run) { return run.undone_by; }

/// `claims` has one claim at least, and one of each node. Takes the artifacts of the first one.
ClusterHistoryEntry entry_of(const std::vector<Claim>& claims) {
  auto artifacts = std::exchange(claims.front().run->artifacts, {});
  ClusterHistoryEntry entry{*claims.front().run, {}};
  JournaledRun& whole = entry.run;
  whole.artifacts = std::move(artifacts);
  whole.time = time_of_run(whole.run);
  whole.outcome = value_of_most<RunOutcome>(claims, [](const JournaledRun& run) -> const RunOutcome& {
                    return run.outcome;
                  }).value_or(worst_outcome(claims));
  whole.purpose.saved_plan = value_of_most<std::string>(claims, saved_plan_of).value_or("");
  whole.purpose.undoes = value_of_most<std::string>(claims, undoes_of).value_or("");
  whole.undone_by = value_of_most<std::string>(claims, undone_by_of).value_or("");
  whole.changes = 0;
  const std::int64_t most = most_credible_changes(claims);
  const auto differs = [](const std::string& own, const std::string& of_most) {
    return own == of_most ? std::nullopt : std::optional(own);
  };
  for (const Claim& claim : claims) {
    const JournaledRun& run = *claim.run;
    entry.nodes.push_back(*claim.node);
    OtherClaim other{*claim.node, {}, {}, {}, {}, {}};
    const std::int64_t changes = bounded_changes(run);
    if (changes > most) {
      other.changes = changes;
    } else {
      whole.changes = std::min(whole.changes + changes, kMostChanges);
    }
    if (run.outcome != whole.outcome) other.outcome = run.outcome;
    other.saved_plan = differs(run.purpose.saved_plan, whole.purpose.saved_plan);
    other.undoes = differs(run.purpose.undoes, whole.purpose.undoes);
    other.undone_by = differs(run.undone_by, whole.undone_by);
    if (!other.empty()) entry.other_claims.push_back(std::move(other));
  }
  return entry;
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

std::vector<NodeHistory> read_histories(const Cluster& cluster, const RunOptions& options, bool with_artifacts) {
  std::vector<Question> questions;
  for (const auto& spec : cluster.nodes) {
    if (!options.selection.includes_node(spec.name.str())) continue;
    Question question{&spec, {}};
    question.answer.node = spec.name.str();
    question.answer.address = shown_address(spec);
    questions.push_back(std::move(question));
  }
  fan_out(questions, options.workers, [&](Question& question) {
    last_line([&] { ask(question, options, with_artifacts); },
              [&](Error error) { question.answer.error = std::move(error); });
  });
  std::vector<NodeHistory> histories;
  for (auto& question : questions) histories.push_back(std::move(question.answer));
  return histories;
}

std::vector<ClusterHistoryEntry> merged(std::vector<NodeHistory>& histories, const std::set<RunKey>& recorded) {
  std::map<RunKey, std::vector<Claim>, std::greater<>> runs;
  std::size_t journals = 0;
  for (auto& history : histories) {
    if (!history.error && history.applied) ++journals;
    for (auto& run : history.reply.runs) {
      auto& claims = runs[{run.run, run.who, run.operation}];
      // A node counts once, however often it reports the run.
      if (claims.empty() || claims.back().node != &history.node) claims.push_back({&history.node, &run});
    }
  }
  const auto begins = first_runs(histories);
  std::vector<ClusterHistoryEntry> entries;
  std::map<std::string, std::size_t> taken;
  for (const auto& [key, claims] : runs) {
    ClusterHistoryEntry entry = entry_of(claims);
    entry.journals = journals;
    entry.is_recorded = recorded.contains(key);
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
