#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/doctor/check_status.h"
#include "engine/launch/hub_models.h"
#include "engine/launch/image_check.h"
#include "engine/launch/job_output.h"
#include "engine/launch/job_report.h"
#include "engine/launch/job_run.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/plan/report.h"

/// Whether a job can start: what the facts and the plan show, and a few questions that the nodes answer as the login
/// user.
namespace sparkplan {

/// The most ranks of a job on one node.
inline constexpr int kMostRanksPerNode = 64;

/// The answers of one node. Each is the output of a command; see questions().
struct PreflightAnswers {
  bool asked = false;           ///< False: the node did not answer.
  bool has_gpu_tool = false;    ///< nvidia-smi exists.
  std::string gpus;             ///< nvidia-smi -L
  std::string gpu_processes;    ///< nvidia-smi --query-compute-apps=pid,process_name
  std::string listening;        ///< /proc/net/tcp and tcp6
  ImageAnswers images = {};     ///< Of `run --image`.
  std::string hub_models = {};  ///< Of `run --image`; see hub_directories_in().
};

/// A node as the preflight sees it.
struct PreflightNode {
  const NodeSpec* spec = nullptr;
  const Facts* facts = nullptr;      ///< Null: the node is not connected.
  const NodeReport* plan = nullptr;  ///< Null: not planned.
  PreflightAnswers answers;
};

/// The commands that ask a node, as ranks of a job. `image` may be empty; `models` count only with an image.
std::vector<RankSpec> questions(const std::string& image = {}, const std::vector<HubModel>& models = {});
/// A job that asks: it ends within seconds, and other runs do not see it.
StartJob short_question(std::string id, std::vector<RankSpec> ranks);
/// The answers in a job that has asked, by node. `tails` has the output.
std::vector<PreflightAnswers> answers_in(const JobReport& report, const OutputTails& tails);

/// The command that asks for the load of the GPUs.
std::vector<RankSpec> gpu_load_question();
/// The load by node: "96 %, 45.31 W", for several GPUs "96 %, 45.31 W; 3 %, 12.00 W". Empty: not known.
std::vector<std::string> gpu_loads_in(const JobReport& report, const OutputTails& tails);

/// The number of GPUs in the output of nvidia-smi -L.
int count_gpus(const PreflightAnswers& answers);
/// Whether one rank per GPU can start: all nodes must report the same number of GPUs, because WORLD_SIZE is a multiple
/// of it. A failed check names the number of each node, the most frequent one first; nothing without a fault. Both
/// lists have the order of the nodes.
std::optional<PreflightCheck> judge_gpu_counts(const std::vector<std::string>& names,
                                               const std::vector<PreflightAnswers>& answers);
/// True if a process listens on that TCP port on any address. `table` is /proc/net/tcp or tcp6. Source:
/// Documentation/networking/proc_net_tcp.rst.
bool is_listening(std::string_view table, int port);

/// All checks, failures first. Pure. The first node has rank 0.
std::vector<PreflightCheck> judge_preflight(const std::vector<PreflightNode>& nodes, const std::string& profile,
                                            int master_port);

}  // namespace sparkplan
