#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/launch/job_run.h"
#include "engine/launch/job_watch.h"
#include "engine/launch/last_lines.h"

/// A job without output: what its ranks do, and what is probably wrong. Everything here is pure.
namespace sparkplan {

/// A connection without a working peer.
struct StuckSocket {
  SeenSocket socket;
  std::string peer;  ///< The node that has the remote address; empty: none of the job.
};

/// One rank, or the other processes of the job on its node.
struct StuckRank {
  std::string node;
  int rank = 0;          ///< -1: other processes of the job.
  std::int64_t pid = 0;  ///< Of the process in `state`.
  std::string state;     ///< One letter of proc_pid_stat(5): the most telling one of its processes.
  std::string waits_in;  ///< The kernel's function; empty: none.
  std::size_t processes = 0;
  std::int64_t cpu_percent = 0;  ///< Between the two looks; 100 is one processor.
  std::string gpu;               ///< "96 %, 45.31 W"; empty: not known.
  std::vector<StuckSocket> sockets;
  LastLines lines;

  bool is_stopped() const { return state == "T" || state == "t"; }
  bool is_in_kernel() const { return state == "D"; }
  /// "spark-03 rank 2"
  std::string name() const;
};

/// A probable fault.
struct StuckCause {
  std::string what;  ///< The observation and its place.
  std::string cause;
  std::string fix;
};

/// The faults that NCCL reports at its status port on a node.
struct StuckNccl {
  std::string node;
  std::vector<std::string> faults;  ///< See nccl_faults_in().
  bool is_shared = false;           ///< Another node reports the same.
};

struct StuckJob {
  std::chrono::milliseconds quiet{0};
  std::vector<std::string> quiet_nodes;  ///< Empty: no node prints. Else the rest is about these nodes only.
  bool repeats = false;                  ///< See JobView.
  std::vector<StuckRank> ranks;
  std::vector<std::string> silent;  ///< Nodes that did not answer.
  std::vector<StuckNccl> nccl;      ///< Each list once: the ranks share what they know.
  std::vector<StuckCause> causes;   ///< The likeliest first, at most four; one of each node that alone reports it.
};

/// Further facts, beside the view.
struct StuckContext {
  std::map<std::string, std::string> nodes_by_address;
  std::vector<std::string> gpus;  ///< By node, as StuckRank::gpu; may be shorter than the list of nodes.
  std::vector<std::vector<std::string>> nccl_faults;  ///< By node, as StuckNccl::faults; may be shorter, too.
  std::function<LastLines(std::size_t node, int rank)> lines;
};

/// All ranks with their states, and the causes: those of the doctor's table where one fits. If some nodes print, only
/// the ranks of the quiet ones, and only causes that no working rank shows.
StuckJob stuck_job(const JobView& view, const std::vector<NodeJob>& jobs, const StuckContext& context);

/// False if other nodes print, and the job has neither a newly quiet node nor a cause that is not in `known`. In many
/// jobs only one rank prints.
bool is_news(const StuckJob& job, const std::vector<StuckCause>& known);

}  // namespace sparkplan
