#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan::job {

/// The standard output of a program, at most 64 KiB. Nothing: it could not be started, failed, or was killed at the
/// deadline.
std::optional<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds patience);

/// Starts a child that asks `engine` for the first processes of the job's containers. Returns a pipe to read without
/// waiting, which ends with the answer: empty if the engine does not answer in time, and for a job without containers.
/// Negative: it could not be started.
int ask_for_processes(const std::string& engine, const std::string& id, std::chrono::milliseconds patience);

/// The first process of each rank's container, by the rank, in the answer of ask_for_processes(). Pure.
std::map<int, pid_t> processes_in(std::string_view answer);

/// Asks `engine` once for the containers of the job, and kills and removes these. "docker" or "podman"; any other does
/// nothing. While clients of the engine run, more may come.
void remove_found_containers(const std::string& engine, const std::string& id, std::chrono::milliseconds patience);

/// As above, until the engine has none, for a job whose clients have ended. A container that docker is still about to
/// make is found, too. Returns those that are left after `patience`, or a reason.
std::vector<std::string> remove_containers(const std::string& engine, const std::string& id,
                                           std::chrono::milliseconds patience);

}  // namespace sparkplan::job
