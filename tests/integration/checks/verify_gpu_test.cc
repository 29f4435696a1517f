// `verify --level gpu` over SSH. The hosts use the driver and the NVML of tests/fake_gpu, whose properties are in a
// file of the host.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/gpu_host.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kOneGpu = "FAKE_GPU_COUNT=1 FAKE_GPU_MEMORY=536870912";

Json verify(const Controller& controller, int code, const Words& more = {}) {
  Words arguments{"verify", "--level", "gpu", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto run = controller.run(arguments, std::chrono::seconds(120));
  require_exit(run, code);
  return run.verification();
}

bool has_check(const Json& report, const std::string& id) {
  for (const auto& check : report.at("checks")) {
    if (check.at("id") == id) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("verify gpu: two equal hosts are measured, and no program remains") {
  const GpuHost first(1, kOneGpu);
  const GpuHost second(2, kOneGpu);
  const Controller controller;
  controller.cluster(nodes_of_lab(2, "operator"));
  const auto report = verify(controller, 0);
  for (const std::string node : {"spark-01", "spark-02"}) {
    CHECK(check_in(report, "gpu/" + node + "/clock").at("value") == 2400);
    CHECK(check_in(report, "gpu/" + node + "/bandwidth").at("value").get<double>() == Approx(218).epsilon(0.01));
    CHECK(check_in(report, "gpu/" + node + "/parity").at("status") == "pass");
  }
  CHECK(eventually([&] { return !first.runs_ranks() && !second.runs_ranks(); }));
  CHECK(first->shell("stat -c '%a %U:%G' " + kRankFile) == "755 root:root");
  // The driver's cache of compiled programs is off.
  CHECK(first->shell("ls -d /home/operator/.nv 2>/dev/null || true").empty());
}

TEST_CASE("verify gpu: a slow GPU of two is a warning on both, a throttled one fails") {
  const GpuHost first(1, kOneGpu);
  const GpuHost second(2, kOneGpu);
  const Controller controller;
  controller.cluster(nodes_of_lab(2, "operator"));
  second.has("FAKE_GPU_CLOCK=1000 FAKE_GPU_DRIVER=580.142");
  const auto mixed = verify(controller, 0);
  CHECK(check_in(mixed, "gpu/spark-02/clock").at("status") == "warn");
  const auto parity = check_in(mixed, "gpu/spark-01/parity");
  CHECK(parity.at("status") == "warn");
  CHECK(parity.at("cause") == check_in(mixed, "gpu/spark-02/parity").at("cause"));
  second.has("FAKE_GPU_REASONS=128");
  const auto throttled = check_in(verify(controller, 8), "gpu/spark-02/clock");
  CHECK(throttled.at("status") == "fail");
  CHECK(contains(throttled.at("cause").get<std::string>(), "lowered by power"));
  CHECK_FALSE(throttled.at("fix").get<std::string>().empty());
}

TEST_CASE("verify gpu: a GPU in use is named, and measured only with --force") {
  const GpuHost first(1, kOneGpu);
  const Controller controller;
  controller.cluster(nodes_of_lab(1, "operator"));
  first.has("FAKE_GPU_PROCESS=1");
  const auto used = verify(controller, 8);
  CHECK(contains(check_in(used, "gpu/spark-01/use").at("cause").get<std::string>(), "in use by systemd (pid 1)"));
  CHECK(check_in(used, "gpu/measured").at("status") == "fail");
  CHECK_FALSE(has_check(used, "gpu/spark-01/clock"));
  CHECK(has_check(verify(controller, 0, {"--force"}), "gpu/spark-01/clock"));
}

TEST_CASE("verify gpu: --force with a level that looks for no jobs is refused before anything is measured") {
  const Controller controller;
  controller.cluster(nodes_of_lab(1));
  const auto run = controller.run({"verify", "--level", "tcp", "--force"});
  require_exit(run, 1);
  CHECK(contains(run.err, "--force is for the levels gpu and nccl"));
}

}  // namespace sparkplan::test
