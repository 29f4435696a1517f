// The level gpu in the text, the JSON and the page of `verify`.
#include <nlohmann/json.hpp>

#include "engine/core/json.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/page/html_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/report/page_samples.h"
#include "tests/unit/report/schema.h"
#include "tests/unit/verify/gpu_samples.h"

namespace sparkplan {
namespace {

using test::has;

/// A good node, a stuck one, and one whose GPU a job uses.
VerifyReport gpu_sample() {
  auto stuck = testing::good_gpu();
  stuck.load->clock_mhz = 513;
  stuck.load->power_watts = 14;
  stuck.load->teraflops = 6.1;
  auto used = testing::good_gpu();
  used.load.reset();
  used.processes = {{7, "python3"}};
  const std::vector<GpuNode> nodes{testing::gpu_node("spark-01"), testing::gpu_node("spark-02", {stuck}),
                                   testing::gpu_node("spark-03", {used})};
  VerifyReport report;
  report.run.command = "verify";
  report.run.cluster = "lab";
  report.run.config_digest = std::string(64, '0');
  report.run.duration = std::chrono::milliseconds(9500);
  for (const GpuNode& node : nodes) append(report.checks, checks_of_gpus(node));
  append(report.checks, parity_of_gpus(nodes));
  report.run.verification_failed = true;
  return report;
}

}  // namespace

TEST_CASE("gpu text: equal nodes share a line, the stuck one is last, the job is named") {
  TextStyle wide;
  wide.width = 1000;
  const auto text = to_text(gpu_sample(), wide);
  INFO(text);
  CHECK(
      text.starts_with("pass  gpu      spark-[01-03]  NVIDIA GB10, driver 580.159.03, CUDA 13.0\n"
                       "pass  gpu      spark-01  clock  SM clock under load: 2400 MHz\n"
                       "pass  gpu      spark-[01-02]  power  power under load: 14 to 85 W\n"
                       "pass  gpu      spark-[01-02]  temperature  temperature under load: 70 C\n"
                       "pass  gpu      spark-[01-02]  compute  FP32 multiply-adds: 6.10 to 28.5 TFLOP/s\n"
                       "pass  gpu      spark-[01-02]  bandwidth  copy of 256 MiB in the GPU's memory: 218 GB/s\n"
                       "pass  gpu      spark-[01-03]  errors  ECC is not reported; no Xid since the boot\n"
                       "pass  gpu      spark-03  parity  the same model and driver as the others\n"
                       "skip  gpu      spark-03  use  the GPU is in use by python3 (pid 7)\n"
                       "        fix: end the job, or measure beside it with --force\n"
                       "warn  gpu      spark-[01-02]  parity  differs from other nodes\n"));
  CHECK(has(text,
            "cause: SM clock: spark-01 2400 MHz, spark-02 513 MHz; FP32 rate: spark-01 28.5 TFLOP/s, "
            "spark-02 6.10 TFLOP/s: "));
  CHECK(has(text,
            "FAIL  gpu      spark-02  clock  SM clock under load: 513 MHz\n"
            "        cause: 513 MHz, 14 W, 70 C, P0: the power supply and the machine have agreed"));
  CHECK(has(text, "hold the power button for 30 s"));
  CHECK(has(text, "0 nodes, 1 check failed"));
}

TEST_CASE("gpu text: the JSON has every value and follows its schema") {
  const auto json = nlohmann::json::parse(public_json(to_json_value(gpu_sample())));
  CHECK(testing::schema_faults(json, "verify") == "");
  bool found = false;
  for (const auto& check : json.at("checks")) {
    if (check.at("id") != "gpu/spark-02/clock") continue;
    found = true;
    CHECK(check.at("level") == "gpu");
    CHECK(check.at("status") == "fail");
    CHECK(check.at("value") == 513);
    CHECK(check.at("unit") == "MHz");
    CHECK(check.at("threshold") == 1400);
  }
  CHECK(found);
}

TEST_CASE("gpu text: the page has the failure with its fix, and the other checks as rows") {
  const Cluster cluster = testing::sample_cluster(3);
  const std::string page = testing::checked_page("gpu", to_html(gpu_sample(), {cluster, "1.2.3"}));
  CHECK(has(page, "gpu clock: SM clock under load"));
  CHECK(has(page, "hold the power button for 30 s"));
  CHECK(has(page, "copy of 256 MiB in the GPU"));
}

}  // namespace sparkplan
