#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/launch/job_output.h"
#include "engine/launch/job_report.h"
#include "engine/launch/job_watch.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/wire/job_messages.h"

namespace sparkplan {

/// The part of one node in a job.
struct NodeJob {
  const NodeSpec* node = nullptr;
  StartJob start;
};

struct JobRunOptions {
  std::string command;  ///< For the report: "exec".
  AgentOptions agent;
  std::stop_token stop;
  /// One job: nothing starts unless all nodes are connected, and the failure of one rank ends all.
  bool together = false;
  /// With `together`: the time that a connected node has for the greeting of its process starter. The others wait.
  std::chrono::milliseconds greeting{15'000};
  /// A node that sends nothing for that long is lost.
  std::chrono::milliseconds silence{kLongestJobSilence};
  /// Called from several threads: a rank has ended, or a node is lost.
  std::function<void(std::size_t node, const RankEnded& ended)> rank_ended;
  std::function<void(std::size_t node, const Error& error)> node_failed;
  /// Not 0: `watch_report` is called when no rank of a node has printed for that long: see JobWatch.
  std::chrono::milliseconds watch{0};
  JobWatch::Report watch_report;
};

/// Starts the job on all nodes, passes on its output and waits for its end. Nothing of it is left on a node afterwards,
/// unless the report lists it.
JobReport run_job(const std::vector<NodeJob>& jobs, JobOutput& output, const JobRunOptions& options);

}  // namespace sparkplan
