#include "tests/fuzz/job_readers.h"

#include <cstddef>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "engine/fleet/history/run_record.h"
#include "engine/launch/hub_models.h"
#include "engine/launch/image_check.h"
#include "engine/launch/job_output.h"
#include "engine/launch/job_report.h"
#include "engine/launch/preflight.h"
#include "engine/model/cluster.h"
#include "engine/wire/job_messages.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

constexpr const char* kImage = "local/vllm:1";
constexpr const char* kNode = "spark-01";
constexpr int kPort = 29500;

/// A report in which the node has answered all questions with this text.
JobReport report_of(const std::vector<RankSpec>& questions, std::string_view text, OutputTails& tails) {
  JobReport report;
  report.nodes.resize(1);
  report.nodes[0].name = kNode;
  for (const RankSpec& question : questions) {
    RankReport rank;
    rank.rank = question.rank;
    rank.ended.emplace();
    rank.ended->exit_code = 0;
    report.nodes[0].ranks.push_back(rank);
    require(tails.take({0, question.rank}, text).has_value(), "output cannot be kept");
  }
  return report;
}

void require_printable_checks(const std::vector<PreflightCheck>& checks) {
  for (const PreflightCheck& check : checks) {
    require_printable(check.text, "the text of a check");
    require_printable(check.fix, "the fix of a check");
  }
}

}  // namespace

void read_job_answers(std::string_view text) {
  OutputTails tails;
  const auto report = report_of(questions(kImage), text, tails);
  const auto answers = answers_in(report, tails);
  require(answers.size() == 1, "one node has not one answer");
  require(count_gpus(answers[0]) >= 0, "there are fewer GPUs than none");
  Cluster cluster;
  cluster.nodes.push_back({*NodeName::parse(kNode), 1, kNode, {}, TransportKind::kSsh, {}, false, {}, {}, {}});
  const NodeSpec* node = &cluster.nodes.front();
  require_printable_checks(judge_preflight({{node, nullptr, nullptr, answers[0]}}, "", kPort));
  const std::vector<ImageAnswers> images{answers[0].images};
  require_printable_checks(judge_image(kImage, choose_engine(cluster, kImage, images), {node}, images));

  const std::vector<HubModel> models{{"org/one", "", "~/.cache/huggingface/hub/models--org--one"},
                                     {"org/two", "anna", "/srv/hub/models--org--two"}};
  for (const auto& directory : hub_directories_in(models, text)) {
    require_printable(directory, "the directory of a model", 4096);
    require(directory.empty() || directory.starts_with('/'), "a model is in no directory", directory);
  }

  constexpr std::size_t kLongestLoad = 80;
  OutputTails load_tails;
  const auto loads = report_of(gpu_load_question(), text, load_tails);
  for (const auto& load : gpu_loads_in(loads, load_tails)) require_printable(load, "the load of a GPU", kLongestLoad);
}

void read_run_log(std::string_view text) {
  std::vector<RecordedRun> runs;
  for (const auto line : split_lines(text)) {
    auto run = parse_record(line);
    if (!run) continue;
    const std::string written = line_of(*run);
    const auto again = parse_record(trim(written));
    require(again.has_value() && line_of(*again) == written, "a record changes when it is written", written);
    runs.push_back(*std::move(run));
  }
  if (runs.empty()) return;
  HistoryScope scope;
  scope.cluster = runs.front().cluster;
  scope.nodes = {kNode};
  const auto listed = with_records({}, runs, scope);
  require(listed.size() <= kMostRecordedRuns && listed.size() <= runs_of(runs, scope).size(),
          "there are too many runs");
  for (const ClusterHistoryEntry& entry : listed) {
    for (const auto& names : {entry.recorded_nodes, entry.left_nodes, entry.forgotten_nodes}) {
      for (const auto& name : names) require(NodeName::parse(name).has_value(), "a node has no name", name);
    }
  }
}

}  // namespace sparkplan::fuzz
