#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
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
  std::chrono::milliseconds quiet{0};    ///< Without output, until the first look.
  std::chrono::milliseconds between{0};  ///< The two looks.
};

/// Watches the output of a job in a separate thread. When no rank has printed for a time, it asks all nodes twice
/// what the ranks do, and reports once. The next report comes no sooner than that time later.
class JobWatch {
 public:
  /// `stop`: the job has ended.
  using Report = std::function<void(const JobView& view, const std::stop_token& stop)>;
  static constexpr std::chrono::milliseconds kPatience{3000};
  static constexpr std::chrono::milliseconds kBetweenLooks{1000};

  JobWatch(std::size_t nodes, std::chrono::milliseconds quiet, Report report);
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;
  /// Ends a look under way, and waits for a report.
  ~JobWatch() = default;

  /// The functions below are for the threads of the nodes.
  void note_start();
  void note_output();
  /// The number of looks that nodes are to answer, from 1 on.
  int looks() const;
  void put(std::size_t node, JobSeen seen);

 private:
  using Clock = std::chrono::steady_clock;
  void watch(const std::stop_token& stop);
  bool is_due(Clock::time_point now) const;
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
  Clock::time_point last_output_;
  Clock::time_point last_report_;
  std::jthread thread_;
};

}  // namespace sparkplan
