// `verify --level nccl` over SSH, with ranks that really exchange data. The hosts use the driver and the NCCL of
// tests/fake_gpu.
#include <regex>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/gpu_host.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

std::string cluster_with(const std::string& env) {
  return "nccl: {mode: auto, env: {NCCL_SOCKET_IFNAME: \"=mgmt0\"" + env + "}}\n" + nodes_of_lab(2, "operator");
}

Json verify(const Controller& controller, int code, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> words{"verify", "--level", "nccl", "--json"};
  words.insert(words.end(), flags.begin(), flags.end());
  const auto run = controller.run(words, std::chrono::seconds(200));
  require_exit(run, code);
  return run.verification();
}

void require_no_ranks(const GpuHost& first, const GpuHost& second) {
  CHECK(eventually([&] { return !first.runs_ranks() && !second.runs_ranks(); }));
}

}  // namespace

TEST_CASE("verify nccl: two hosts with GPUs are measured, and no rank remains") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(cluster_with(""));
  const auto report = verify(controller, 0);
  CHECK(check_in(report, "nccl/spark-01").at("status") == "pass");
  for (const std::string operation : {"all_reduce", "all_gather"}) {
    const auto check = check_in(report, "nccl/spark-01/spark-02/" + operation);
    CHECK(check.at("status") == "pass");
    CHECK(check.at("unit") == "GB/s");
    CHECK(check.at("value") > 0);
  }
  const auto latency = check_in(report, "nccl/spark-01/spark-02/latency");
  CHECK(latency.at("status") == "pass");
  CHECK(latency.at("unit") == "us");
  CHECK(first->shell("stat -c '%a %U:%G' " + kRankFile) == "755 root:root");
  require_no_ranks(first, second);
  const auto text = controller.run({"verify", "--level", "nccl"}, std::chrono::seconds(200));
  require_exit(text, 0);
  CHECK(contains(text.out, "# all_reduce, 2 ranks, out of place"));
}

TEST_CASE("verify nccl: a host whose GPU a program uses is named, and measured only with --force") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(cluster_with(""));
  second.has("FAKE_GPU_PROCESS=1");
  const auto used = verify(controller, 8);
  const auto use = check_in(used, "nccl/spark-02/0/use");
  CHECK(use.at("status") == "skip");
  CHECK(contains(use.at("cause").get<std::string>(), "in use by systemd (pid 1)"));
  CHECK(check_in(used, "nccl/spark-01").at("status") == "pass");
  CHECK(check_in(used, "nccl/spark-01/spark-02/all_reduce").at("status") == "skip");
  CHECK(contains(check_in(used, "nccl/measured").at("fix").get<std::string>(), "--force"));
  const auto forced = verify(controller, 0, {"--force"});
  CHECK(check_in(forced, "nccl/spark-01/spark-02/all_reduce").at("value") > 0);
  CHECK(check_in(forced, "nccl/spark-02/0/use").at("status") == "pass");
  require_no_ranks(first, second);
}

TEST_CASE("verify nccl: a sweep measures all operations in both placements, with several ranks per node") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(cluster_with(""));
  const auto report =
      verify(controller, 0, {"--sizes", "8B:32KiB:16", "--collectives", "all", "--ranks-per-node", "2"});
  for (const auto& [operation, points] : std::vector<std::pair<std::string, std::size_t>>{{"all_reduce", 8},
                                                                                          {"reduce", 8},
                                                                                          {"broadcast", 8},
                                                                                          {"scatter", 6},
                                                                                          {"hypercube", 6},
                                                                                          {"alltoall", 3},
                                                                                          {"alltoallv", 3},
                                                                                          {"sendrecv", 4}}) {
    INFO(operation);
    const auto check = check_in(report, "nccl/spark-01/spark-02/" + operation);
    CHECK(check.at("status") == "pass");
    CHECK(check.at("series").size() == points);
  }
  // The fake GPUs have 40 MiB.
  const auto refused = [&](std::vector<std::string> flags, const std::string& words) {
    flags.insert(flags.begin(), {"verify", "--level", "nccl"});
    const auto run = controller.run(flags, std::chrono::seconds(200));
    require_exit(run, 3);
    // The message has several lines.
    CHECK(contains(std::regex_replace(run.err, std::regex("\\s+"), " "), words));
  };
  refused({"--sizes", "8B:1GiB:2"}, "1 GiB is too large: all_reduce needs buffers of 2 GiB");
  refused({"--ranks-per-node", "9"}, "spark-[01-02] has 8 GPUs");
  require_no_ranks(first, second);
}

TEST_CASE("verify nccl: hosts with different numbers of GPUs have one rank per GPU") {
  const GpuHost first(1);
  const GpuHost second(2);
  first.has("FAKE_GPU_COUNT=1");
  second.has("FAKE_GPU_COUNT=3");
  const Controller controller;
  controller.cluster(cluster_with(""));
  const auto report = verify(
      controller, 0, {"--sizes", "8KiB:32KiB:4", "--collectives", "all_gather,alltoallv", "--ranks-per-node", "gpus"});
  for (const std::string operation : {"all_gather", "alltoallv"}) {
    INFO(operation);
    const auto check = check_in(report, "nccl/spark-01/spark-02/" + operation);
    CHECK(check.at("status") == "pass");
    // (n-1)/n of four ranks.
    const auto point = check.at("series").at(1);
    CHECK(point.at("busbw").get<double>() / point.at("algbw").get<double>() == Approx(0.75).epsilon(0.1));
  }
  require_no_ranks(first, second);
}

TEST_CASE("verify nccl: wrong data and a dying rank fail with cause and fix, and no rank remains") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  for (const auto& [fault, words] :
       {std::pair("wrong", "wrong elements"), std::pair("die", "a signal ended the program")}) {
    INFO(fault);
    controller.cluster(cluster_with(", FAKE_NCCL: " + std::string(fault)));
    const auto check = check_in(verify(controller, 8), "nccl/spark-01/spark-02/all_reduce");
    CHECK(check.at("status") == "fail");
    CHECK(contains(check.at("cause").get<std::string>(), words));
    CHECK_FALSE(check.at("fix").get<std::string>().empty());
    require_no_ranks(first, second);
  }
}

TEST_CASE("tune: the known optimum of a fake NCCL is proposed, and neither a rank nor a setting remains") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  const std::string settings = "cat /etc/nccl.conf /etc/profile.d/sparkplan-nccl.sh 2>/dev/null || true";
  const std::string before = first->shell(settings);
  // The variables of all knobs but one: the file keeps their values.
  controller.cluster(
      cluster_with(", FAKE_GPU_COUNT: 1, FAKE_GPU_MEMORY: 10485760, FAKE_NCCL_FAST: \"NCCL_IGNORE_CPU_AFFINITY=1\", "
                   "NCCL_SOCKET_NTHREADS: 1, NCCL_MAX_NCHANNELS: 8, NCCL_PROTO: Simple, NCCL_BUFFSIZE: 4194304"));
  const auto short_of_time = controller.run({"tune", "--budget", "5s"}, std::chrono::seconds(60));
  require_exit(short_of_time, 3);
  CHECK_FALSE(first.runs_ranks());
  const auto run = controller.run({"tune", "--json", "--budget", "6m"}, std::chrono::seconds(500));
  require_exit(run, 0);
  const auto report = run.document("tune.schema.json");
  CHECK(report.at("proposed") == Json{{"NCCL_IGNORE_CPU_AFFINITY", "1"}});
  CHECK(report.at("network") == "Socket");
  CHECK(report.at("ranks") == 2);
  CHECK(report.at("declared").size() == 4);
  CHECK(report.at("settings").size() == 1);
  CHECK(contains(report.at("fragment").get<std::string>(), "    NCCL_IGNORE_CPU_AFFINITY: \"1\"\n"));
  require_no_ranks(first, second);
  CHECK(first->shell(settings) == before);
}

TEST_CASE("verify nccl: a host without a GPU is skipped, and a library other than NCCL fails") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(cluster_with(", FAKE_GPU: none"));
  const auto skipped = verify(controller, 8);
  CHECK(check_in(skipped, "nccl/measured").at("status") == "fail");
  CHECK(check_in(skipped, "nccl/spark-01").at("status") == "skip");
  CHECK(check_in(skipped, "nccl/spark-01/spark-02/all_reduce").at("status") == "skip");
  const std::string text = kFakeGpuLibraries + "/text/libnccl.so.2";
  second->shell("mkdir -p " + kFakeGpuLibraries + "/text; echo 'a text' > " + text);
  controller.cluster("nccl: {mode: auto, library: " + text + "}\n" + nodes_of_lab(2, "operator"));
  const auto failed = check_in(verify(controller, 8), "nccl/spark-02");
  CHECK(failed.at("status") == "fail");
  CHECK(contains(failed.at("fix").get<std::string>(), "nccl: library"));
  // The first host has no such file at all. cluster.yaml names the file, so its absence is a failure and not a skip.
  CHECK(contains(check_in(verify(controller, 8), "nccl/spark-01").at("cause").get<std::string>(), "there is no NCCL"));
  require_no_ranks(first, second);
}

}  // namespace sparkplan::test
