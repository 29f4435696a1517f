#include "engine/launch/stuck_job.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/doctor/doctor_table.h"

namespace sparkplan {
namespace {

/// One of them may be one node's words alone that are not true.
constexpr std::size_t kMostCauses = 4;
constexpr std::size_t kMostCausesOfKind = 2;
/// A rank with less waits for something.
constexpr std::int64_t kBusyPercent = 20;

/// The state that says most: stopped, waiting in the kernel, running, anything else.
int weight(const SeenProcess& process) {
  if (process.state == "T" || process.state == "t") return 3;
  if (process.state == "D") return 2;
  return process.state == "R" ? 1 : 0;
}

/// The address of "192.168.100.11:29500" or "[fe80::1]:29500".
std::string address_of(const std::string& endpoint) {
  auto address = endpoint.substr(0, endpoint.rfind(':'));
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  return address;
}

std::int64_t cpu_of(const std::vector<SeenProcess>& processes, std::int64_t pid) {
  const auto found = std::ranges::find_if(processes, [&](const SeenProcess& one) { return one.pid == pid; });
  return found == processes.end() ? 0 : found->cpu_ms;
}

std::int64_t cpu_percent(const SeenRank& first, const SeenRank& second, std::chrono::milliseconds between) {
  std::int64_t used = 0;
  if (first.processes.empty()) return used;
  for (const SeenProcess& process : second.processes) {
    // A node may report any number.
    const std::int64_t before = cpu_of(first.processes, process.pid);
    if (process.cpu_ms > before) used += std::min<std::int64_t>(process.cpu_ms - before, between.count() * 1024);
  }
  return between.count() > 0 ? used * 100 / between.count() : 0;
}

const SeenRank* find_rank(const std::optional<JobSeen>& seen, int rank) {
  if (!seen) return nullptr;
  const auto found = std::ranges::find_if(seen->ranks, [&](const SeenRank& one) { return one.rank == rank; });
  return found == seen->ranks.end() ? nullptr : &*found;
}

/// A stay in the kernel is telling only if it lasts.
bool lasts(const SeenProcess& process, const SeenRank& first) {
  if (weight(process) != 2) return true;
  return std::any_of(first.processes.begin(), first.processes.end(), [&](const SeenProcess& before) {
    return before.pid == process.pid && before.state == process.state;
  });
}

StuckRank rank_of(const SeenRank& second, const SeenRank& first, const JobView& view) {
  StuckRank rank;
  rank.rank = second.rank;
  rank.processes = second.processes.size();
  rank.cpu_percent = cpu_percent(first, second, view.between);
  const SeenProcess* telling = nullptr;
  for (const SeenProcess& process : second.processes) {
    if (lasts(process, first) && (telling == nullptr || weight(process) > weight(*telling))) telling = &process;
  }
  if (telling == nullptr && !second.processes.empty()) rank.pid = second.processes.front().pid;
  if (telling == nullptr) return rank;
  rank.pid = telling->pid;
  rank.state = telling->state;
  rank.waits_in = telling->waits_in;
  return rank;
}

std::string names(const std::vector<const StuckRank*>& ranks) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> all;
  for (const StuckRank* rank : ranks) {
    if (all.size() < kMostNamed) all.push_back(rank->name());
  }
  if (ranks.size() > kMostNamed) all.push_back(std::to_string(ranks.size() - kMostNamed) + " more");
  return join(all, ", ");
}

using Nodes = std::set<std::string>;

Nodes nodes_of(const std::vector<const StuckRank*>& ranks) {
  Nodes nodes;
  for (const StuckRank* rank : ranks) nodes.insert(rank->node);
  return nodes;
}

/// A node that prints says nothing about the quiet ones.
bool is_concerned(const JobView& view, std::size_t node) {
  return view.quiet_nodes.empty() || view.quiet_nodes.contains(node);
}

std::vector<StuckNccl> nccl_of(const JobView& view, const std::vector<NodeJob>& jobs, const StuckContext& context) {
  std::vector<StuckNccl> found;
  for (std::size_t node = 0; node < std::min(jobs.size(), context.nccl_faults.size()); ++node) {
    if (!is_concerned(view, node)) continue;
    const auto& faults = context.nccl_faults[node];
    const auto known = std::ranges::find_if(found, [&](const auto& one) { return one.faults == faults; });
    if (known != found.end()) {
      known->is_shared = true;
    } else if (!faults.empty()) {
      found.push_back({jobs[node].node->name.str(), faults});
    }
  }
  return found;
}

/// Finds causes, the likeliest first.
class Detective {
 public:
  explicit Detective(const StuckJob& job) : job_(job) {}

  std::vector<StuckCause> causes() {
    look_for_stopped();
    look_for_silent();
    look_for_kernel();
    look_for_sockets(SeenSocketState::kNoAnswer, "gets no answer from", RowId("tcp-dropped"));
    look_for_sockets(SeenSocketState::kUnacknowledged, "sends the same data again to", RowId("mtu-narrow"));
    look_for_sockets(SeenSocketState::kClosedByPeer, "has lost its connection to", RowId("nccl-peer-gone"));
    look_at_status();
    // While others print, these two fit a job that goes on. What one node alone reports may be false.
    const bool all_quiet = job_.quiet_nodes.empty();
    if (all_quiet && !several_agree()) look_for_the_busy();
    if (all_quiet && !several_agree()) look_at_nccl();
    if (found_.size() > kMostCauses) found_.resize(kMostCauses);
    return std::move(found_);
  }

 private:
  template <class Matches>
  std::vector<const StuckRank*> ranks_that(Matches matches) const {
    std::vector<const StuckRank*> found;
    for (const StuckRank& rank : job_.ranks) {
      if (matches(rank)) found.push_back(&rank);
    }
    return found;
  }
  /// `words_of`: the nodes that report it; none: all of them, or this machine. A node has one cause that it alone
  /// reports, so that it cannot push the other nodes' causes out.
  void add(const Nodes& words_of, std::string what, std::string_view cause, std::string_view fix) {
    if (words_of.size() == 1 && !alone_.insert(*words_of.begin()).second) return;
    found_.push_back({std::move(what), std::string(cause), std::string(fix)});
  }

  /// True if there is a cause that is not the word of one node.
  bool several_agree() const { return found_.size() > alone_.size(); }

  void look_for_stopped() {
    const auto stopped = ranks_that([](const StuckRank& rank) { return rank.is_stopped(); });
    if (stopped.empty()) return;
    add(nodes_of(stopped), names(stopped) + (stopped.size() == 1 ? " is stopped" : " are stopped"),
        "a signal such as SIGSTOP, or a debugger, holds the process",
        "kill -CONT " + std::to_string(stopped.front()->pid) + " on " + stopped.front()->node);
  }
  void look_for_silent() {
    if (job_.silent.empty()) return;
    add(Nodes(job_.silent.begin(), job_.silent.end()), "no answer from " + fold_names(job_.silent),
        "the node is down, overloaded or cut off", "the run ends by itself if it stays silent for 20 s");
  }
  void look_for_kernel() {
    const auto held = ranks_that([](const StuckRank& rank) { return rank.is_in_kernel(); });
    if (held.empty()) return;
    const std::string& function = held.front()->waits_in;
    // The function is what this node says, and not the others.
    const std::string where = held.size() > 1 ? ", on " + held.front()->node + " in " : ", in ";
    add(nodes_of(held), names(held) + " cannot be interrupted" + (function.empty() ? "" : where + function),
        "the kernel waits for a device: storage, a network file system or the GPU's driver",
        "read `dmesg` on " + held.front()->node + ", and run `sparkplan verify --level storage`");
  }
  /// One cause for each peer, because a false claim about one peer must not hide a true one about another. Those that
  /// several nodes report come first.
  void look_for_sockets(SeenSocketState state, const std::string& verb, RowId row) {
    std::vector<Troubled> all = troubled_by(state);
    std::ranges::stable_sort(all, std::greater<>(), [](const Troubled& one) { return nodes_of(one.ranks).size(); });
    const std::size_t most = found_.size() + kMostCausesOfKind;
    for (const Troubled& one : all) {
      if (found_.size() >= most) return;
      std::string what = one.ranks.front()->name() + " " + verb + " " + one.first->socket.remote +
                         (one.first->peer.empty() ? "" : " (" + one.first->peer + ")");
      if (one.ranks.size() > 1) {
        const std::vector<const StuckRank*> others(one.ranks.begin() + 1, one.ranks.end());
        what += (others.size() == 1 ? "; so does " : "; so do ") + names(others);
      }
      add(nodes_of(one.ranks), std::move(what), row->cause, row->fix);
    }
  }
  /// The ranks with a socket in a state to one peer.
  struct Troubled {
    std::string peer;
    const StuckSocket* first;
    std::vector<const StuckRank*> ranks;
  };
  std::vector<Troubled> troubled_by(SeenSocketState state) const {
    std::vector<Troubled> all;
    for (const StuckRank& rank : job_.ranks) {
      for (const StuckSocket& one : rank.sockets) {
        if (one.socket.state != state) continue;
        const std::string peer = one.peer.empty() ? address_of(one.socket.remote) : one.peer;
        const auto known = std::ranges::find(all, peer, &Troubled::peer);
        if (known == all.end()) {
          all.push_back({peer, &one, {&rank}});
        } else if (known->ranks.back() != &rank) {
          known->ranks.push_back(&rank);
        }
      }
    }
    return all;
  }
  void look_at_status() {
    for (const StuckNccl& one : job_.nccl) {
      const std::string& fault = one.faults.front();
      // Ranks with different numbers of operations are all alive.
      const RowId row = fault.find("MISMATCH") != std::string::npos ? RowId("nccl-run-hangs") : RowId("nccl-peer-gone");
      add(one.is_shared ? Nodes() : Nodes{one.node}, "NCCL on " + one.node + " reports " + fault, row->cause, row->fix);
    }
  }
  void look_for_the_busy() {
    const auto busy = ranks_that([](const StuckRank& rank) { return rank.cpu_percent >= kBusyPercent; });
    const auto idle = ranks_that([](const StuckRank& rank) { return rank.cpu_percent < kBusyPercent; });
    if (busy.empty() || idle.empty()) return;
    // A rank that waits for NCCL keeps its processor busy, so if most are busy, the others are the exception.
    const bool most_are_busy = busy.size() > idle.size();
    const auto& named = most_are_busy ? idle : busy;
    const bool is_one = named.size() == 1;
    const std::string what = most_are_busy ? (is_one ? " does nothing, the others compute or wait in a loop"
                                                     : " do nothing, the others compute or wait in a loop")
                                           : (is_one ? " computes, the others wait" : " compute, the others wait");
    add(nodes_of(named), names(named) + what,
        most_are_busy ? "a wait for a file, a lock or another process, while the others wait in an operation of NCCL"
                      : "slow work before a collective operation, such as compiling or loading, or an endless loop",
        "py-spy dump --pid " + std::to_string(named.front()->pid) + " on " + named.front()->node);
  }
  void look_at_nccl() {
    const auto with = ranks_that([](const StuckRank& rank) { return !rank.lines.nccl.empty(); });
    if (with.empty()) return;
    const bool joined = std::all_of(with.begin(), with.end(), [](const StuckRank* rank) {
      const std::string& line = rank->lines.nccl;
      return line.find("Init COMPLETE") != std::string::npos || line.find("Connected all") != std::string::npos;
    });
    const RowId row = joined ? RowId("nccl-run-hangs") : RowId("nccl-join-hangs");
    add({},
        joined ? "NCCL has connected the ranks, and an operation does not finish" : "NCCL has not connected all ranks",
        row->cause, row->fix);
  }

  const StuckJob& job_;
  std::vector<StuckCause> found_;
  Nodes alone_;  ///< The nodes with a cause that no other node reports.
};

}  // namespace

std::string StuckRank::name() const {
  return node + (rank < 0 ? " (other processes of the job)" : " rank " + std::to_string(rank));
}

StuckJob stuck_job(const JobView& view, const std::vector<NodeJob>& jobs, const StuckContext& context) {
  StuckJob job;
  job.quiet = view.quiet;
  job.repeats = view.repeats;
  static const SeenRank kNothing{};
  for (std::size_t node = 0; node < jobs.size(); ++node) {
    const std::string& name = jobs[node].node->name.str();
    if (!is_concerned(view, node)) continue;
    if (!view.quiet_nodes.empty()) job.quiet_nodes.push_back(name);
    if (node >= view.second.size() || !view.second[node]) {
      job.silent.push_back(name);
      continue;
    }
    for (const SeenRank& seen : view.second[node]->ranks) {
      const SeenRank* first = node < view.first.size() ? find_rank(view.first[node], seen.rank) : nullptr;
      StuckRank rank = rank_of(seen, first == nullptr ? kNothing : *first, view);
      rank.node = name;
      if (node < context.gpus.size()) rank.gpu = context.gpus[node];
      if (context.lines) rank.lines = context.lines(node, seen.rank);
      for (const SeenSocket& socket : seen.sockets) {
        const auto peer = context.nodes_by_address.find(address_of(socket.remote));
        rank.sockets.push_back({socket, peer == context.nodes_by_address.end() ? "" : peer->second});
      }
      job.ranks.push_back(std::move(rank));
    }
  }
  job.nccl = nccl_of(view, jobs, context);
  job.causes = Detective(job).causes();
  return job;
}

bool is_news(const StuckJob& job, const std::vector<StuckCause>& known) {
  return job.quiet_nodes.empty() || !job.repeats || std::ranges::any_of(job.causes, [&](const StuckCause& cause) {
           return std::ranges::none_of(known, [&](const StuckCause& one) { return one.what == cause.what; });
         });
}

}  // namespace sparkplan
