// The output of `tune`.
#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/report/tune_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/report/page_samples.h"
#include "tests/unit/report/schema.h"

namespace sparkplan {
namespace {

using test::has;

TuneComparison comparison_of(double gain, std::size_t pairs) {
  TuneComparison comparison;
  comparison.pairs = pairs;
  comparison.gain = gain;
  if (pairs >= 6) {
    comparison.low = gain - 0.01;
    comparison.high = gain + 0.02;
  }
  comparison.chance = 0.0005;
  comparison.points = {{Collective::kAllReduce, 8192, gain}};
  return comparison;
}

TuneReport tune_sample() {
  TuneReport report;
  report.run.command = "tune";
  report.run.cluster = "lab";
  report.run.file = "cluster.yaml";
  report.run.config_digest = std::string(64, '0');
  report.run.duration = std::chrono::seconds(600);
  report.budget = std::chrono::minutes(20);
  report.nodes = {"spark-01", "spark-02"};
  report.ranks = 2;
  report.nccl = "2.28.9";
  report.network = "Socket";
  TriedSetting good{"sockets", {{"NCCL_SOCKET_NTHREADS", "4"}}, TuneVerdict::kAccepted, "", true, {}};
  good.comparison = comparison_of(1.12, 13);
  TriedSetting bad{"protocol", {{"NCCL_PROTO", "LL"}}, TuneVerdict::kFailed, "spark-02: \x1b[31m<b>broken</b>", false,
                   {}};
  TriedSetting weak{"buffers", {{"NCCL_BUFFSIZE", "1"}}, TuneVerdict::kRefused, "no gain in the first pairs", false,
                    {}};
  weak.comparison = comparison_of(0.998, 2);
  report.search.tried = {good, bad, weak};
  report.search.accepted = good.variables;
  PastPair past;
  past.after = good.variables;
  past.after_first = true;
  past.pair.before = {{Collective::kAllReduce, 8192, 40e-6}};
  past.pair.after = {{Collective::kAllReduce, 8192, 36e-6}};
  report.search.history.push_back(past);
  report.candidates.declared = {"NCCL_PROTO"};
  return report;
}

}  // namespace

TEST_CASE("tune text: a row per setting with its confidence, the lines for cluster.yaml, and the verdict at the end") {
  TextStyle style;
  style.width = 160;
  const std::string text = to_text(tune_sample(), style);
  CHECK(has(text, "2 nodes (spark-[01-02]), 2 GPUs, NCCL 2.28.9, Socket"));
  CHECK(has(text, "NCCL_SOCKET_NTHREADS=4"));
  CHECK(has(text, "+11.0 to +14.0 %"));
  CHECK(has(text, "accepted"));
  CHECK(has(text, "refused: no gain in the first pairs"));
  CHECK(has(text, "\nnccl:\n  env:\n    NCCL_SOCKET_NTHREADS: \"4\"\n"));
  CHECK(has(text, "cluster.yaml sets it: NCCL_PROTO"));
  CHECK(has(text, "Tune: 1 setting is better, +12.0 % (95 %: +11.0 to +14.0 %). 600 s\n"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("tune: without a proof nothing is proposed") {
  TuneReport report = tune_sample();
  report.search.tried.erase(report.search.tried.begin());
  report.search.accepted.clear();
  CHECK(verdict_of(report) == "Tune: no setting is better for certain");
  CHECK_FALSE(has(yaml_fragment(report), "nccl:"));
  TuneReport broken = tune_sample();
  broken.trouble = make_error(ErrorCode::kVerifyFailed, "spark-02: a signal ended the program");
  CHECK(broken.proposed().empty());
  CHECK_FALSE(has(to_text(broken, TextStyle{}), "NCCL_SOCKET_NTHREADS: "));
  CHECK(has(to_text(broken, TextStyle{}), "a signal ended the program"));
  TuneReport together = tune_sample();
  together.search.together = comparison_of(1, 13);
  together.search.together_refusal = "within the noise";
  together.search.accepted.clear();
  CHECK(has(verdict_of(together), "nothing is proposed"));
}

TEST_CASE("tune: a proposal that holds for small messages alone says so, and who is the reason") {
  TuneReport report = tune_sample();
  CHECK_FALSE(has(yaml_fragment(report), "large messages"));
  report.limit = "spark-02 reports memory for 1 MiB at most, of 256 MiB";
  CHECK(has(yaml_fragment(report), "# It was not measured with large messages: " + report.limit + "\n"));
}

TEST_CASE("tune: a refused setting that is faster at some sizes shows them all: the user can decide") {
  // Measured on two H200 hosts over TCP.
  TuneReport report = tune_sample();
  TriedSetting mixed{
      "sockets", {{"NCCL_NSOCKS_PERTHREAD", "4"}}, TuneVerdict::kRefused, "all_reduce of 8 KiB is slower", true, {}};
  mixed.comparison = comparison_of(2.19, 13);
  mixed.comparison.points = {{Collective::kAllReduce, 8192, 0.761},
                             {Collective::kAllReduce, 1 << 19, 1.0},
                             {Collective::kAllReduce, 1 << 28, 3.671},
                             {Collective::kAllGather, 1 << 24, 3.076}};
  report.search.tried.push_back(mixed);
  TextStyle style;
  style.width = 160;
  const std::string text = to_text(report, style);
  CHECK(has(text,
            "  NCCL_NSOCKS_PERTHREAD=4 (13 pairs)\n"
            "    all_reduce of 8 KiB: 31.4 % slower, all_reduce of 512 KiB: +0.0 %, "
            "all_reduce of 256 MiB: +267.1 %, all_gather of 16 MiB: +207.6 %\n"));
  const Cluster cluster = testing::sample_cluster(8);
  const std::string page = testing::checked_page("tune-mixed", to_html(report, {cluster, "1.2.3"}));
  CHECK(has(page, "Refused, but faster at some sizes"));
  CHECK(has(page, "+267.1 %"));
  CHECK(has(page, "31.4 % slower"));
  CHECK_FALSE(has(to_text(tune_sample(), style), "faster at some sizes"));
  // Numbers of a pair or two are noise, and without a gain there is nothing to decide.
  report.search.tried.back().comparison.pairs = 2;
  CHECK_FALSE(has(to_text(report, style), "faster at some sizes"));
  report.search.tried.back().comparison.pairs = 13;
  report.search.tried.back().comparison.gain = 0.9;
  CHECK_FALSE(has(to_text(report, style), "faster at some sizes"));
}

TEST_CASE("tune JSON: it fits its schema, with and without measurements") {
  const auto json = nlohmann::json::parse(public_json(to_json_value(tune_sample())));
  CHECK(testing::schema_faults(json, "tune") == "");
  CHECK(json.at("settings").at(0).at("comparison").at("gain").get<double>() == Approx(1.12));
  CHECK(json.at("settings").at(1).at("comparison").is_null());
  CHECK(json.at("settings").at(2).at("comparison").at("low").is_null());
  CHECK(json.at("proposed").at("NCCL_SOCKET_NTHREADS") == "4");
  CHECK(json.at("history").at(0).at("before_points").at(0).at("bytes") == 8192);
  TuneReport empty;
  empty.run.command = "tune";
  empty.run.config_digest = std::string(64, '0');
  empty.budget = std::chrono::seconds(30);
  empty.trouble = make_error(ErrorCode::kVerifyFailed, "no GPU");
  CHECK(testing::schema_faults(nlohmann::json::parse(public_json(to_json_value(empty))), "tune") == "");
  auto wrong = json;
  wrong["settings"][0]["verdict"] = "perhaps";
  CHECK_FALSE(testing::schema_faults(wrong, "tune") == "");
}

TEST_CASE("tune page: it keeps the rules of pages, and no text of a node becomes markup") {
  const Cluster cluster = testing::sample_cluster(8);
  const std::string page = testing::checked_page("tune", to_html(tune_sample(), {cluster, "1.2.3"}));
  CHECK(has(page, "NCCL_SOCKET_NTHREADS: "));
  CHECK(has(page, "&lt;b&gt;broken&lt;/b&gt;"));
  // The history: the candidate ran first, and was 11.1 % faster than NCCL's own choice.
  CHECK(has(page, "1 pair in the order of time"));
  CHECK(has(page, "+11.1 %"));
  TuneReport broken = tune_sample();
  broken.trouble = make_error(ErrorCode::kVerifyFailed, "spark-02: <i>gone</i>");
  const std::string failed = testing::checked_page("tune-failed", to_html(broken, {cluster, "1.2.3"}));
  CHECK(has(failed, "&lt;i&gt;gone&lt;/i&gt;"));
  TuneReport longest = tune_sample();
  longest.search.history.resize(502, longest.search.history.front());
  CHECK(has(testing::checked_page("tune-long", to_html(longest, {cluster, "1.2.3"})), "And 2 more pairs: --json"));
}

}  // namespace sparkplan
