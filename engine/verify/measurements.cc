#include "engine/verify/measurements.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/session/fan_out.h"

namespace sparkplan {
namespace {

bool is_time(const Check& check) { return check.unit == "us"; }

/// The versions that often explain another value.
std::map<std::string, std::string> versions_in(const Facts& facts) {
  std::map<std::string, std::string> versions{{"kernel", facts.kernel},
                                              {"gpu_driver", facts.host.gpu_driver},
                                              {"nccl", facts.nccl_version},
                                              {"firmware", facts.host.bios_version}};
  std::erase_if(versions, [](const auto& version) { return version.second.empty(); });
  return versions;
}

/// The checks measured from one node, and the warnings from comparing them.
struct Keeper {
  VerifyNode* node = nullptr;
  std::vector<Check*> checks;
  std::optional<VerifySummary> summary;
  std::string run;
  std::vector<Diagnostic> warnings = {};

  void warn(const std::string& code, std::string message) {
    warnings.push_back(finding(Severity::kWarning, code, std::move(message)));
    warnings.back().node = node->name();
  }

  void compare() {
    MeasurementsRequest request;
    request.summary = summary;
    request.run = run;
    if (node->facts != nullptr) request.versions = versions_in(*node->facts);
    for (const Check* check : checks) {
      // A failed value must not become the usual value.
      if (check->status != CheckStatus::kFail) request.values.emplace(check->id, *check->value);
    }
    const auto reply = node->client->call(request);
    if (!reply) {
      if (!note_if_lost(*node, reply.error())) {
        warn("verify.history",
             "the measurements of " + node->name() + " could not be stored: " + reply.error().describe());
      }
      return;
    }
    if (!reply->set_aside.empty()) {
      warn("verify.history-damaged", "earlier measurements of " + node->name() + " cannot be read; they are now in " +
                                         printable(reply->set_aside));
    }
    for (Check* check : checks) {
      const auto earlier = reply->earlier.find(check->id);
      if (earlier != reply->earlier.end()) hold_against(earlier->second, *check);
    }
  }
};

}  // namespace

double slow_limit(double usual, bool less_is_better) { return less_is_better ? usual / kAsGood : usual * kAsGood; }

bool is_slower(double value, double usual, bool less_is_better) {
  const double limit = slow_limit(usual, less_is_better);
  return less_is_better ? value > limit : value < limit;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool is_measurement(const Check& check) {
  return !check.one_off && !check.reduced && check.value && std::isfinite(*check.value) && *check.value > 0 &&
         (check.unit == "Gb/s" || check.unit == "GB/s" || check.unit == "TFLOP/s" || is_time(check));
}

void hold_against(std::vector<double> earlier, Check& check) {
  std::erase_if(earlier, [](double value) { return !is_measured(value); });
  if (earlier.size() < kFewestEarlier || check.status != CheckStatus::kPass || !is_measurement(check)) return;
  const double usual = median_of(earlier);
  if (!is_slower(*check.value, usual, is_time(check))) return;
  if (!check.threshold) check.threshold = slow_limit(usual, is_time(check));
  // Only this node has kept the values: of a check of several nodes, its record alone decides.
  const std::string of_whom = check.nodes.empty() ? "" : " in the record of " + check.nodes.front();
  diagnose(check, CheckStatus::kWarn, "slower-than-before",
           number_text(*check.value) + " " + check.unit + ", but the median of " + std::to_string(earlier.size()) +
               " earlier runs" + of_whom + " is " + number_text(usual) + " " + check.unit);
}

VerifySummary summary_for(const std::string& node, const VerifyContext& context) {
  VerifySummary summary;
  summary.level = context.options.required ? std::string(to_string(*context.options.required)) : "all";
  for (const Check& check : context.checks) {
    if (std::find(check.nodes.begin(), check.nodes.end(), node) == check.nodes.end()) continue;
    if (check.status == CheckStatus::kPass) ++summary.passed;
    if (check.status == CheckStatus::kWarn) ++summary.warned;
    if (check.status == CheckStatus::kFail) ++summary.failed;
  }
  return summary;
}

std::vector<NodeMeasurements> stored_measurements(VerifyContext& context) {
  struct Question {
    VerifyNode* node = nullptr;
    NodeMeasurements answer = {};
  };
  std::vector<Question> questions;
  for (VerifyNode& node : context.nodes) {
    if (!node.can_be_asked() || context.stop.stop_requested()) continue;
    questions.push_back({&node});
    questions.back().answer.node = node.name();
  }
  fan_out(questions, context.options.workers, [](Question& question) {
    auto read = read_measurements(*question.node->client, question.answer);
    if (!read) question.answer.error = std::move(read).error();
  });
  std::vector<NodeMeasurements> answers;
  for (Question& question : questions) answers.push_back(std::move(question.answer));
  return answers;
}

std::vector<Diagnostic> compare_with_earlier(VerifyContext& context) {
  std::vector<Keeper> keepers;
  for (VerifyNode& node : context.nodes) {
    if (!node.can_be_asked()) continue;
    Keeper keeper{&node, {}, {}, context.run};
    if (!context.stop.stop_requested()) keeper.summary = summary_for(node.name(), context);
    for (Check& check : context.checks) {
      if (is_measurement(check) && !check.nodes.empty() && check.nodes.front() == node.name()) {
        keeper.checks.push_back(&check);
      }
    }
    if (keeper.summary || !keeper.checks.empty()) keepers.push_back(std::move(keeper));
  }
  fan_out(keepers, context.options.workers, [](Keeper& keeper) { keeper.compare(); });
  std::vector<Diagnostic> warnings;
  for (const Keeper& keeper : keepers) {
    warnings.insert(warnings.end(), keeper.warnings.begin(), keeper.warnings.end());
  }
  return warnings;
}

}  // namespace sparkplan
