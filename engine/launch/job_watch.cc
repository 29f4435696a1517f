#include "engine/launch/job_watch.h"

#include <algorithm>
#include <utility>

namespace sparkplan {

JobWatch::JobWatch(std::size_t nodes, std::chrono::milliseconds quiet, Report report)
    : quiet_(quiet),
      report_(std::move(report)),
      unstarted_(nodes),
      answers_(nodes),
      last_output_(Clock::now()),
      last_report_(last_output_),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void JobWatch::note_start() {
  const std::lock_guard lock(mutex_);
  if (unstarted_ > 0) --unstarted_;
  last_output_ = last_report_ = Clock::now();
  changed_.notify_all();
}

void JobWatch::note_output() {
  const std::lock_guard lock(mutex_);
  last_output_ = Clock::now();
}

int JobWatch::looks() const {
  const std::lock_guard lock(mutex_);
  return looks_;
}

void JobWatch::put(std::size_t node, JobSeen seen) {
  const std::lock_guard lock(mutex_);
  answers_[node] = std::move(seen);
  changed_.notify_all();
}

bool JobWatch::is_due(Clock::time_point now) const {
  return unstarted_ == 0 && now - last_output_ >= quiet_ && now - last_report_ >= quiet_;
}

bool JobWatch::wait_until(std::unique_lock<std::mutex>& lock, Clock::time_point end, const std::stop_token& stop) {
  changed_.wait_until(lock, stop, end, [] { return false; });
  return !stop.stop_requested();
}

std::vector<std::optional<JobSeen>> JobWatch::look(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  std::fill(answers_.begin(), answers_.end(), std::nullopt);
  ++looks_;
  changed_.wait_until(lock, stop, Clock::now() + kPatience, [&] {
    return std::all_of(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.has_value(); });
  });
  return answers_;
}

void JobWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    if (!is_due(now)) {
      const auto next = std::max(last_output_, last_report_) + quiet_;
      // Before all nodes have started, note_start() sets the time.
      if (!wait_until(lock, std::max(next, now + std::chrono::milliseconds(20)), stop)) return;
      continue;
    }
    JobView view;
    view.quiet = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_output_);
    view.first = look(lock, stop);
    const auto first = Clock::now();
    if (!wait_until(lock, Clock::now() + kBetweenLooks, stop)) return;
    view.between = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - first);
    view.second = look(lock, stop);
    last_report_ = Clock::now();
    // Not if the job goes on meanwhile.
    if (stop.stop_requested() || last_output_ > now) continue;
    lock.unlock();
    report_(view, stop);
    lock.lock();
    last_report_ = Clock::now();
  }
}

}  // namespace sparkplan
