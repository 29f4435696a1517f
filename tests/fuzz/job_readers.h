#pragma once

#include <string_view>

/// Readers of what `run` asks nodes before a job, and of the controller's log of runs.
namespace sparkplan::fuzz {

/// The output of nvidia-smi and of container engines, and /proc/net/tcp: the same text as the answer to each question.
void read_job_answers(std::string_view text);

/// Lines of runs.jsonl.
void read_run_log(std::string_view text);

}  // namespace sparkplan::fuzz
