#pragma once

#include <mutex>
#include <set>
#include <string>

namespace sparkplan {

/// The host keys that a run itself has recorded (`host_keys: accept-new`). known_hosts has them for the next connection
/// of the run, though no person has compared them. Used from several threads.
class RecordedHostKeys {
 public:
  /// `line` as known_hosts has it: the host's name and the key. To be called before the file has it.
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.insert(line);
  }
  bool contains(const std::string& line) const {
    const std::lock_guard lock(mutex_);
    return lines_.contains(line);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> lines_;
};

}  // namespace sparkplan
