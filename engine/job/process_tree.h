#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sparkplan::job {

/// A process, as /proc shows it.
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';           ///< proc_pid_stat(5): 'R', 'S', 'D', 'Z' ...
  std::uint64_t started = 0;  ///< In clock ticks since the start of the machine. Two processes of one number differ.
};

/// All processes of the machine. Source: proc_pid_stat(5).
std::vector<ProcessEntry> all_processes();

/// The processes below `root`, without `root` and without those that have ended.
std::vector<pid_t> descendants_of(pid_t root, const std::vector<ProcessEntry>& all);

/// The processes whose environment had SPARKPLAN_JOB=`id` when they were executed. It finds those that a service
/// manager has adopted. Others' processes are not found: the kernel does not show them to a user, and root does not
/// take a mark from another user. At most `most` bytes of environments are read.
constexpr std::size_t kMostEnvironments = std::size_t{64} << 20;
std::vector<pid_t> marked_with(const std::string& id, const std::vector<ProcessEntry>& all,
                               std::size_t most = kMostEnvironments);

/// Sends `signal` to exactly this process: to none if another one has its number now.
void signal_process(const ProcessEntry& entry, int signal);

/// Sends `signal` to all processes of the job: those below this process and those with its mark, except `spared`.
/// Returns the processes that were found. `id` may be empty: no mark is searched.
std::vector<pid_t> signal_job(const std::string& id, int signal, pid_t spared);

/// Kills and reaps all processes of the job until none is left or `patience` is over. Returns those that are left.
std::vector<pid_t> end_job(const std::string& id, pid_t spared, std::chrono::milliseconds patience);

}  // namespace sparkplan::job
