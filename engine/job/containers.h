#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sparkplan::job {

/// The standard output of a program, at most 64 KiB. Nothing: it could not be started, failed, or was killed at the
/// deadline.
std::optional<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds patience);

/// The first process of the running container of each rank, by the rank, as `engine` lists them. Empty if the engine
/// does not answer in time, and for a job without containers.
std::map<int, pid_t> container_processes(const std::string& engine, const std::string& id,
                                         std::chrono::milliseconds patience);

/// Asks `engine` once for the containers of the job, and kills and removes these. "docker" or "podman"; any other does
/// nothing. While clients of the engine run, more may come.
void remove_found_containers(const std::string& engine, const std::string& id, std::chrono::milliseconds patience);

/// As above, until the engine has none, for a job whose clients have ended. A container that docker is still about to
/// make is found, too. Returns those that are left after `patience`, or a reason.
std::vector<std::string> remove_containers(const std::string& engine, const std::string& id,
                                           std::chrono::milliseconds patience);

}  // namespace sparkplan::job
