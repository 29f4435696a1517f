// verify --image: whether all nodes have the same image.
#include "engine/cli/commands/verify_image.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/cli/commands/job_commands.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/launch/image_check.h"
#include "engine/launch/preflight.h"

namespace sparkplan {
namespace {

Check check_of_image(PreflightCheck found) {
  const bool one = found.nodes.size() == 1;
  Check check = skipped(Level::kNccl, one ? found.nodes : std::vector<std::string>(), one ? "image" : "all/image",
                        std::move(found.text), std::move(found.fix));
  check.nodes = std::move(found.nodes);
  check.status = CheckStatus::kFail;
  check.text = "nothing was measured";
  return check;
}

}  // namespace

Result<void> find_image(const Cluster& cluster, const RunOptions& run, VerifyOptions& options) {
  NcclImage& image = *options.nccl.image;
  // Without a node, the run has nothing to measure either.
  const auto members = job_members(cluster, run.selection);
  if (!members) return {};
  SPARK_TRY(const auto id, new_run_id());
  std::vector<NodeJob> jobs;
  for (const NodeSpec* node : *members) jobs.push_back({node, short_question(id + "-image", questions(image.name))});
  JobRunOptions asking;
  asking.command = "verify";
  asking.agent = run.agent;
  asking.stop = run.stop;
  OutputTails tails;
  const auto answers = answers_in(run_job(jobs, tails, asking), tails);
  std::vector<const NodeSpec*> nodes;
  std::vector<ImageAnswers> images;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].asked) continue;
    nodes.push_back(jobs[i].node);
    images.push_back(answers[i].images);
    if (count_gpus(answers[i]) > 0) image.gpu_nodes.insert(jobs[i].node->name.str());
  }
  if (nodes.empty()) return {};
  const auto engine = choose_engine(cluster, image.name, images);
  image.engine = engine.value_or(image.engine);
  for (auto& check : judge_image(image.name, engine, nodes, images)) {
    if (check.status == CheckStatus::kFail) options.refused.push_back(check_of_image(std::move(check)));
  }
  return {};
}

}  // namespace sparkplan
