#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace sparkplan::job {

/// The label of all containers of a job, with its id as the value.
inline constexpr const char* kContainerLabel = "sparkplan.job";

/// The standard output of a program, at most 64 KiB. Nothing: it could not be started, failed, or was killed at the
/// deadline.
std::optional<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds patience);

/// Asks `engine` once for the containers of the job, and kills and removes these. "docker" or "podman"; any other does
/// nothing. While clients of the engine run, more may come.
void remove_found_containers(const std::string& engine, const std::string& id, std::chrono::milliseconds patience);

/// As above, until the engine has none, for a job whose clients have ended. A container that docker is still about to
/// make is found, too. Returns those that are left after `patience`, or a reason.
std::vector<std::string> remove_containers(const std::string& engine, const std::string& id,
                                           std::chrono::milliseconds patience);

}  // namespace sparkplan::job
