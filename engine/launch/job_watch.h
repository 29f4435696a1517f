#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/wire/job_messages.h"

namespace sparkplan {

/// The answers of a job's nodes to two looks.
struct JobView {
  /// One item per node. Nothing: the node did not answer in time.
  std::vector<std::optional<JobSeen>> first;
  std::vector<std::optional<JobSeen>> second;
  std::chrono::milliseconds quiet{0};    ///< Without output, until the first look: the shortest time of a quiet node.
  std::chrono::milliseconds between{0};  ///< The two looks.
  std::set<std::size_t> quiet_nodes;     ///< Empty: no node prints. Else only these do not.
  bool repeats = false;                  ///< None of these has printed since an earlier view. Only with `quiet_nodes`.
};

/// Watches the output of a job in a separate thread. When no rank of a node has printed for a time, it asks all nodes
/// twice what the ranks do, and reports once. The next report comes no sooner than that time later, except that one on
/// all nodes does not wait for one on some of them. So no node can prevent a report on the others by its own output.
class JobWatch {
 public:
  /// `stop`: the job has ended.
  using Report = std::function<void(const JobView& view, const std::stop_token& stop)>;
  static constexpr std::chrono::milliseconds kPatience{3000};
  static constexpr std::chrono::milliseconds kBetweenLooks{1000};

  /// `has_ranks`: one item per node. A node without ranks never prints, and does not count.
  JobWatch(const std::vector<bool>& has_ranks, std::chrono::milliseconds quiet, Report report);
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;
  /// Ends a look under way, and waits for a report.
  ~JobWatch() = default;

  /// The functions below are for the threads of the nodes.
  void note_start();
  void note_output(std::size_t node);
  /// The node's ranks have ended: it is not quiet any more.
  void note_end(std::size_t node);
  /// The number of looks that nodes are to answer, from 1 on.
  int looks() const;
  void put(std::size_t node, JobSeen seen);

 private:
  using Clock = std::chrono::steady_clock;
  void watch(const std::stop_token& stop);
  /// The nodes with ranks that have printed nothing since then.
  std::set<std::size_t> quiet_since(Clock::time_point then) const;
  /// No node prints.
  bool are_all(const std::set<std::size_t>& quiet) const;
  bool is_due(Clock::time_point now) const;
  /// Completes `view` after its looks, which began at `asked`. False: nothing is to be reported.
  bool judge(JobView& view, Clock::time_point asked);
  /// Waits with the lock. False: the job has ended.
  bool wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point end, const std::stop_token& stop);
  std::vector<std::optional<JobSeen>> look(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);

  const std::chrono::milliseconds quiet_;
  const Report report_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t unstarted_;
  int looks_ = 0;
  std::vector<std::optional<JobSeen>> answers_;
  struct Node {
    bool has_ranks = false;  ///< Some rank has not ended.
    bool reported = false;   ///< A report has named it as quiet since its last output.
    Clock::time_point last_output;
  };
  std::vector<Node> nodes_;
  Clock::time_point last_view_;         ///< Of any nodes.
  Clock::time_point last_view_of_all_;  ///< When no node printed.
  std::jthread thread_;
};

}  // namespace sparkplan
