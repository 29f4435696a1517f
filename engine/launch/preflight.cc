#include "engine/launch/preflight.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/plan/fields_of_others.h"

namespace sparkplan {
namespace {

enum Question : int { kGpus, kGpuProcesses, kListening, kDockerImage, kPodmanImage, kHubModels };

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr int kListenState = 0x0a;
constexpr std::size_t kMostShown = 5;
constexpr std::size_t kLongestProcess = 200;

PreflightCheck check_of(const char* name, std::vector<std::string> nodes, CheckStatus status, std::string text,
                        std::string fix = {}) {
  return {name, std::move(nodes), status, std::move(text), std::move(fix)};
}

std::vector<std::string> names_of(const std::vector<PreflightNode>& nodes) {
  std::vector<std::string> names;
  for (const PreflightNode& node : nodes) names.push_back(node.spec->name.str());
  return names;
}

/// True for "PID, NAME". A wrapper or another version of nvidia-smi may print anything else.
bool names_process(std::string_view line) {
  long pid = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
  return error == std::errc() && pid > 0 && line.substr(static_cast<std::size_t>(end - line.data())).starts_with(", ");
}

struct PendingChanges {
  std::string text;               ///< Shortened; empty without a change.
  std::set<std::string> sources;  ///< All of them follow from what these nodes report; else empty.
};

/// `names`: of the nodes that could be the cause.
PendingChanges changes_in(const NodePlan& plan, const std::string& own, const std::vector<std::string>& names) {
  PendingChanges found;
  std::vector<std::string> shown;
  std::size_t count = 0;
  bool all_from_others = true;
  for (const Change& change : plan.changes) {
    if (change.is_harmless()) continue;
    if (++count <= kMostShown) shown.push_back(change.id.words());
    for (const FieldChange& field : change.fields) {
      std::string node(node_of_field(field.path));
      all_from_others = all_from_others && node != own && std::find(names.begin(), names.end(), node) != names.end();
      found.sources.insert(std::move(node));
    }
  }
  if (count > kMostShown) shown.push_back(std::to_string(count - kMostShown) + " more");
  found.text = join(shown, ", ");
  if (!all_from_others) found.sources.clear();
  return found;
}

class Judge {
 public:
  Judge(const std::vector<PreflightNode>& nodes, const std::string& profile) : nodes_(nodes), profile_(profile) {}

  std::vector<PreflightCheck> run(int master_port) {
    judge_locks();
    judge_sync();
    judge_gpus();
    judge_same("driver", "GPU driver", [](const Facts& facts) { return facts.host.gpu_driver; });
    judge_same("nccl", "NCCL", [](const Facts& facts) { return facts.nccl_version; });
    judge_memory();
    judge_fabric();
    judge_port(master_port);
    const auto failed_first = [](const PreflightCheck& a, const PreflightCheck& b) {
      return (a.status == CheckStatus::kFail) > (b.status == CheckStatus::kFail);
    };
    std::stable_sort(checks_.begin(), checks_.end(), failed_first);
    return std::move(checks_);
  }

 private:
  void fail(const char* name, const PreflightNode& node, std::string text, std::string fix) {
    checks_.push_back(check_of(name, {node.spec->name.str()}, CheckStatus::kFail, std::move(text), std::move(fix)));
    failed_.insert(name);
  }
  /// Adds a pass, unless a check of that name has failed.
  void pass(const char* name, std::string text) {
    if (!failed_.contains(name))
      checks_.push_back(check_of(name, names_of(nodes_), CheckStatus::kPass, std::move(text)));
  }

  /// A change under way could cut the job's connections.
  void judge_locks() {
    for (const PreflightNode& node : nodes_) {
      if (node.plan == nullptr || node.plan->lock_holder.empty()) continue;
      fail("lock", node, "locked by " + node.plan->lock_holder, "wait for that run");
    }
    pass("lock", "no other run changes a node");
  }

  void judge_sync() {
    std::vector<std::pair<const PreflightNode*, PendingChanges>> pending;
    std::map<std::string, int> nodes_by_source;  // The number of nodes with changes from this source.
    for (const PreflightNode& node : nodes_) {
      if (node.plan == nullptr || node.plan->error || node.plan->status == NodeStatus::kInSync) continue;
      auto changes = changes_in(node.plan->plan, node.spec->name.str(), names_of(nodes_));
      if (changes.text.empty()) continue;
      for (const std::string& source : changes.sources) ++nodes_by_source[source];
      pending.emplace_back(&node, std::move(changes));
    }
    for (const auto& [place, changes] : pending) {
      const PreflightNode& node = *place;
      const bool drifted = node.plan->status == NodeStatus::kDrifted;
      std::string text = (drifted ? "drifted: " : "not applied: ") + changes.text;
      std::string fix = "run `sparkplan apply`";
      // A node that reports other data each time would keep all others from every job. A single plan with such changes
      // proves nothing about their source: this node may report a false state of itself.
      if (!changes.sources.empty()) {
        const std::vector<std::string> names(changes.sources.begin(), changes.sources.end());
        const bool is_clear =
            std::ranges::all_of(names, [&](const std::string& name) { return nodes_by_source.at(name) > 1; });
        text += ", from what " + fold_names(names) + (names.size() == 1 ? " reports" : " report");
        if (!is_clear) text += " or this node has";
        fix += "; if that does not help, leave out " + fold_names(names) +
               (is_clear ? "" : " or " + node.spec->name.str()) + " with --exclude";
      }
      fail("sync", node, std::move(text), std::move(fix));
    }
    pass("sync", "in sync");
  }

  void judge_gpus() {
    std::vector<std::string> with;
    for (const PreflightNode& node : nodes_) {
      if (count_gpus(node.answers) > 0) with.push_back(node.spec->name.str());
      std::vector<std::string> processes;
      for (const auto line : split_lines(node.answers.gpu_processes)) {
        if (names_process(trim(line)) && processes.size() < kMostShown) {
          processes.push_back(printable(trim(line).substr(0, kLongestProcess)));
        }
      }
      if (processes.empty()) continue;
      fail("gpu", node, "the GPU is in use by " + join(processes, "; "), "wait for these processes, or end them");
    }
    for (const PreflightNode& node : nodes_) {
      if (with.empty() || count_gpus(node.answers) > 0) continue;
      // One of them may only claim its GPU: the user has to know whose claim fails this node.
      fail("gpu", node, "it has no GPU, and " + fold_names(with) + (with.size() == 1 ? " reports one" : " report one"),
           "run nvidia-smi there");
    }
    if (with.empty()) {
      checks_.push_back(check_of("gpu", names_of(nodes_), CheckStatus::kSkip, "no node has a GPU"));
    } else {
      pass("gpu", "free");
    }
  }

  template <class Read>
  void judge_same(const char* name, const std::string& what, Read read) {
    std::map<std::string, std::vector<std::string>> by_version;
    for (const PreflightNode& node : nodes_) {
      if (node.facts != nullptr) by_version[read(*node.facts)].push_back(node.spec->name.str());
    }
    if (by_version.size() > 1) {
      std::vector<std::string> parts;
      for (const auto& [version, names] : by_version) {
        parts.push_back((version.empty() ? "none" : listed_value(version)) + " on " + fold_names(names));
      }
      checks_.push_back(check_of(name, names_of(nodes_), CheckStatus::kFail, what + " " + join(parts, ", "),
                                 "install the same version on all nodes"));
    } else if (by_version.empty() || by_version.begin()->first.empty()) {
      checks_.push_back(check_of(name, names_of(nodes_), CheckStatus::kSkip, "no " + what));
    } else {
      pass(name, what + " " + printable(by_version.begin()->first));
    }
  }

  void judge_memory() {
    for (const PreflightNode& node : nodes_) {
      if (node.facts == nullptr || !node.facts->host.memory_available) continue;
      const auto available = *node.facts->host.memory_available;
      const auto total = node.facts->memory_total_bytes;
      if (total <= 0 || available >= total / 10) continue;
      fail(
          "memory", node,
          std::to_string(available / kMebibyte) + " MiB of " + std::to_string(total / kMebibyte) + " MiB are available",
          "end what uses the memory: `ps aux --sort -rss`");
    }
    pass("memory", "over a tenth is available");
  }

  void judge_fabric() {
    bool declared = false;
    for (const PreflightNode& node : nodes_) {
      if (node.facts == nullptr || !node.facts->live) continue;
      for (const ObservedPort& port : observed_ports(*node.spec, *node.facts, profile_)) {
        declared = true;
        if (port.link != nullptr && port.link->up && port.link->carrier) continue;
        const std::string what = port.interface.empty() ? "half " + port.label() : port.interface;
        fail("fabric", node,
             what + (port.link == nullptr ? " is missing"
                     : port.link->up      ? " has no carrier"
                                          : " is down"),
             "run `sparkplan verify --level link`");
      }
    }
    if (declared) pass("fabric", "up");
  }

  void judge_port(int port) {
    const PreflightNode& head = nodes_.front();
    if (is_listening(head.answers.listening, port)) {
      fail("port", head, "port " + std::to_string(port) + " is in use",
           "end the earlier job: `ss -ltnp 'sport = :" + std::to_string(port) + "'`, or pass --master-port");
    }
    pass("port", std::to_string(port) + " is free");
  }

  const std::vector<PreflightNode>& nodes_;
  const std::string& profile_;
  std::vector<PreflightCheck> checks_;
  std::set<std::string> failed_;
};

}  // namespace

std::vector<RankSpec> questions(const std::string& image, const std::vector<HubModel>& models) {
  std::vector<RankSpec> ranks{
      {kGpus, {"nvidia-smi", "-L"}, {}},
      {kGpuProcesses, {"nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader"}, {}},
      {kListening, {"cat", "/proc/net/tcp", "/proc/net/tcp6"}, {}}};
  if (image.empty()) return ranks;
  ranks.push_back({kDockerImage, image_question(ContainerEngine::kDocker, image), {}});
  ranks.push_back({kPodmanImage, image_question(ContainerEngine::kPodman, image), {}});
  if (!models.empty()) ranks.push_back(hub_question(kHubModels, models));
  return ranks;
}

StartJob short_question(std::string id, std::vector<RankSpec> ranks) {
  StartJob start;
  start.id = std::move(id);
  start.ranks = std::move(ranks);
  start.time_limit_ms = 5000;
  start.grace_ms = 500;
  return start;
}

std::vector<PreflightAnswers> answers_in(const JobReport& report, const OutputTails& tails) {
  std::vector<PreflightAnswers> all(report.nodes.size());
  for (std::size_t node = 0; node < report.nodes.size(); ++node) {
    PreflightAnswers& answers = all[node];
    answers.asked = !report.nodes[node].error;
    for (const RankReport& rank : report.nodes[node].ranks) {
      // Without IPv6 there is no tcp6, and cat fails after the first file.
      const bool answered = rank.succeeded() || rank.rank == kListening;
      const std::string text = answered ? tails.tail_of(node, rank.rank).text : "";
      if (rank.rank == kGpus) answers.gpus = text;
      if (rank.rank == kGpus) answers.has_gpu_tool = rank.succeeded();
      if (rank.rank == kGpuProcesses) answers.gpu_processes = text;
      if (rank.rank == kListening) answers.listening = text;
      const std::string printed = tails.tail_of(node, rank.rank).text;
      if (rank.rank == kDockerImage) answers.images[0] = image_answer(rank, printed);
      if (rank.rank == kPodmanImage) answers.images[1] = image_answer(rank, printed);
      if (rank.rank == kHubModels) answers.hub_models = printed;
    }
  }
  return all;
}

std::vector<RankSpec> gpu_load_question() {
  return {{0, {"nvidia-smi", "--query-gpu=utilization.gpu,power.draw", "--format=csv,noheader"}, {}}};
}

std::vector<std::string> gpu_loads_in(const JobReport& report, const OutputTails& tails) {
  constexpr std::size_t kLongestLoad = 80;
  std::vector<std::string> loads(report.nodes.size());
  for (std::size_t node = 0; node < loads.size(); ++node) {
    const auto& ranks = report.nodes[node].ranks;
    if (ranks.empty() || !ranks.front().succeeded()) continue;
    const std::string text = tails.tail_of(node, 0).text;
    std::vector<std::string> lines;
    for (const auto line : split_lines(text)) {
      if (!trim(line).empty()) lines.emplace_back(trim(line));
    }
    loads[node] = shown_text(join(lines, "; "), kLongestLoad);
  }
  return loads;
}

int count_gpus(const PreflightAnswers& answers) {
  if (!answers.has_gpu_tool) return 0;
  const auto lines = split_lines(answers.gpus);
  return static_cast<int>(std::ranges::count_if(lines, [](std::string_view line) { return line.starts_with("GPU "); }));
}

std::optional<PreflightCheck> judge_gpu_counts(const std::vector<std::string>& names,
                                               const std::vector<PreflightAnswers>& answers) {
  std::map<int, std::vector<std::string>> by_number;
  for (std::size_t i = 0; i < names.size(); ++i) by_number[count_gpus(answers[i])].push_back(names[i]);
  if (by_number.size() == 1 && by_number.begin()->first > 0) {
    const int number = by_number.begin()->first;
    if (number <= kMostRanksPerNode) return std::nullopt;
    return check_of("gpus", names, CheckStatus::kFail,
                    "the nodes report " + std::to_string(number) + " GPUs each; at most " +
                        std::to_string(kMostRanksPerNode) + " ranks run on a node",
                    "give --ranks-per-node a number");
  }
  // One node may only claim its number: the user has to see whose claim fails the run.
  std::vector<std::pair<int, std::vector<std::string>>> groups(by_number.begin(), by_number.end());
  std::ranges::stable_sort(groups, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::string> parts;
  for (const auto& [number, nodes] : groups) {
    parts.push_back(fold_names(nodes) + (nodes.size() == 1 ? " reports " : " report ") +
                    (number == 0 ? "none" : std::to_string(number)));
  }
  return check_of("gpus", names, CheckStatus::kFail,
                  "the nodes have no or not the same number of GPUs: " + join(parts, ", "),
                  "run nvidia-smi where the number is wrong, or give --ranks-per-node a number");
}

bool is_listening(std::string_view table, int port) {
  for (const auto line : split_lines(table)) {
    std::vector<std::string_view> words;
    for (const auto word : split(trim(line), ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    // "0: 0100007F:7344 00000000:0000 0A ...": slot, local address, remote address, state.
    if (words.size() < 4) continue;
    const auto colon = words[1].rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto number = [](std::string_view text) {
      int value = -1;
      std::from_chars(text.data(), text.data() + text.size(), value, 16);
      return value;
    };
    if (number(words[1].substr(colon + 1)) == port && number(words[3]) == kListenState) return true;
  }
  return false;
}

std::vector<PreflightCheck> judge_preflight(const std::vector<PreflightNode>& nodes, const std::string& profile,
                                            int master_port) {
  return nodes.empty() ? std::vector<PreflightCheck>() : Judge(nodes, profile).run(master_port);
}

}  // namespace sparkplan
