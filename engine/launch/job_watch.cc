#include "engine/launch/job_watch.h"

#include <algorithm>
#include <utility>

namespace sparkplan {
namespace {

/// Between two questions whether a node is quiet.
constexpr std::chrono::milliseconds kShortestPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};

}  // namespace

JobWatch::JobWatch(const std::vector<bool>& has_ranks, std::chrono::milliseconds quiet, Report report)
    : quiet_(quiet), report_(std::move(report)), unstarted_(has_ranks.size()), answers_(has_ranks.size()) {
  last_view_ = last_view_of_all_ = Clock::now();
  for (const bool has : has_ranks) nodes_.push_back({has, false, last_view_});
  // Last: the thread uses all members.
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void JobWatch::note_start() {
  const std::lock_guard lock(mutex_);
  if (unstarted_ > 0) --unstarted_;
  last_view_ = last_view_of_all_ = Clock::now();
  for (Node& node : nodes_) node.last_output = last_view_;
  changed_.notify_all();
}

void JobWatch::note_output(std::size_t node) {
  const std::lock_guard lock(mutex_);
  nodes_[node].last_output = Clock::now();
  nodes_[node].reported = false;
}

void JobWatch::note_end(std::size_t node) {
  const std::lock_guard lock(mutex_);
  nodes_[node].has_ranks = false;
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

std::set<std::size_t> JobWatch::quiet_since(Clock::time_point then) const {
  std::set<std::size_t> quiet;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].has_ranks && nodes_[node].last_output <= then) quiet.insert(node);
  }
  return quiet;
}

bool JobWatch::are_all(const std::set<std::size_t>& quiet) const {
  const auto with_ranks = std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.has_ranks; });
  return quiet.size() == static_cast<std::size_t>(with_ranks);
}

bool JobWatch::is_due(Clock::time_point now) const {
  const auto quiet = quiet_since(now - quiet_);
  const auto last = are_all(quiet) ? last_view_of_all_ : last_view_;
  return unstarted_ == 0 && !quiet.empty() && now - last >= quiet_;
}

bool JobWatch::judge(JobView& view, Clock::time_point asked) {
  // Without the nodes that have printed meanwhile.
  const auto quiet = quiet_since(asked - quiet_);
  const bool all = are_all(quiet);
  last_view_ = Clock::now();
  if (all) last_view_of_all_ = last_view_;
  if (quiet.empty()) return false;
  auto last_output = nodes_[*quiet.begin()].last_output;
  view.repeats = !all;
  for (const std::size_t node : quiet) {
    last_output = std::max(last_output, nodes_[node].last_output);
    view.repeats = view.repeats && nodes_[node].reported;
    nodes_[node].reported = true;
  }
  view.quiet = std::chrono::duration_cast<std::chrono::milliseconds>(asked - last_output);
  if (!all) view.quiet_nodes = quiet;
  return true;
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
  const auto pause = std::clamp(quiet_ / 4, kShortestPause, kLongestPause);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    if (!is_due(now)) {
      if (!wait_until(lock, now + pause, stop)) return;
      continue;
    }
    JobView view;
    view.first = look(lock, stop);
    const auto first = Clock::now();
    if (!wait_until(lock, first + kBetweenLooks, stop)) return;
    view.between = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - first);
    view.second = look(lock, stop);
    if (stop.stop_requested() || !judge(view, now)) continue;
    lock.unlock();
    report_(view, stop);
    lock.lock();
    last_view_ = Clock::now();
    if (view.quiet_nodes.empty()) last_view_of_all_ = last_view_;
  }
}

}  // namespace sparkplan
