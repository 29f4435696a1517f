#include "engine/cli/commands/job_commands.h"

#include <utility>

#include "engine/report/job_text.h"

namespace sparkplan {
namespace {

/// "rank 3" where a node has several ranks, else nothing.
std::string rank_in(const NodeJob& job, int rank) {
  return job.start.ranks.size() > 1 ? "rank " + std::to_string(rank) : "";
}

std::string prefix_of(const NodeJob& job, int rank) {
  const std::string& name = job.node->name.str();
  const std::string which = rank_in(job, rank);
  return which.empty() ? name + ": " : "[" + name + " " + which + "] ";
}

/// "spark-01.out", "spark-01.rank-3.err"
std::string file_name(const NodeJob& job, const OutputSource& source) {
  const std::string which = rank_in(job, source.rank).empty() ? "" : ".rank-" + std::to_string(source.rank);
  return job.node->name.str() + which + (source.error ? ".err" : ".out");
}

}  // namespace

std::vector<std::string> launcher_names() { return {"none", "torchrun", "mpirun"}; }

Result<std::vector<const NodeSpec*>> job_members(const Cluster& cluster, const Selection& selection) {
  std::vector<const NodeSpec*> nodes;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.maintenance || !selection.includes_node(node.name.str())) continue;
    if (node.transport == TransportKind::kLocal) {
      return failure(ErrorCode::kInvalidInput, node.name.str() + " is a directory tree and not a machine",
                     "select the other nodes with --only");
    }
    nodes.push_back(&node);
  }
  if (nodes.empty())
    return failure(ErrorCode::kInvalidInput, "no node is selected, or all are in maintenance",
                   "select another node with --only, or remove `maintenance: true` from the file");
  return nodes;
}

Result<JobOutputs> JobOutputs::open(const std::string& folder, bool json, const std::vector<NodeJob>& jobs,
                                    const Console& console) {
  JobOutputs outputs;
  if (!folder.empty()) {
    SPARK_TRY(auto files, OutputFiles::in(folder, [&jobs](const OutputSource& source) {
                return file_name(jobs[source.node], source);
              }));
    // Also for ranks that print nothing.
    for (std::size_t node = 0; node < jobs.size(); ++node) {
      for (const RankSpec& rank : jobs[node].start.ranks) {
        SPARK_CHECK(files.make({node, rank.rank, false}));
        SPARK_CHECK(files.make({node, rank.rank, true}));
      }
    }
    outputs.files_.emplace(std::move(files));
  } else if (json) {
    outputs.tails_.emplace();
  } else {
    outputs.lines_.emplace(
        [&jobs](const OutputSource& source) { return prefix_of(jobs[source.node], source.rank); },
        [&console](std::string_view lines, bool error) { error ? console.question(lines) : console.result(lines); });
  }
  return outputs;
}

JobOutput& JobOutputs::output() {
  if (files_) return *files_;
  if (tails_) return *tails_;
  return *lines_;
}

void JobOutputs::add_to(JobReport& report) {
  if (!tails_) return;
  for (std::size_t node = 0; node < report.nodes.size(); ++node) {
    for (RankReport& rank : report.nodes[node].ranks) {
      auto tail = tails_->move_tail_of(node, rank.rank);
      rank.output = std::move(tail.text);
      rank.output_is_cut = tail.is_cut;
    }
  }
}

ExitCode finish_job(JobReport report, bool json, const Console& console) {
  const auto text = to_text(report, console.question_style());
  const ExitCode code = exit_code(report);
  // The outputs of all ranks are moved: a copy would double their memory.
  if (json) console.result_json(to_json_value(std::move(report)));
  if (!text.empty()) console.question(text);
  return code;
}

}  // namespace sparkplan
