// The GPU test as a real process of the shipped program, with the driver and the NVML of tests/fake_gpu: GPUs that are
// good, stuck, throttled, in use, broken, and nodes that differ.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "engine/nccl/gpu_kernels.h"
#include "engine/nccl/gpu_measurement.h"
#include "engine/verify/levels/gpu_checks.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const std::string kFakes = SPARKPLAN_FAKE_GPU;

/// The fakes' properties, until the end of a case.
class Fakes {
 public:
  explicit Fakes(const std::map<std::string, std::string>& more = {}) {
    set("LD_LIBRARY_PATH", kFakes);
    set("FAKE_GPU_COUNT", "1");
    set("FAKE_GPU_MEMORY", std::to_string(std::int64_t{512} << 20));
    for (const auto& [name, value] : more) set(name, value);
  }
  Fakes(const Fakes&) = delete;
  Fakes& operator=(const Fakes&) = delete;
  ~Fakes() {
    for (const auto& name : names_) ::unsetenv(name.c_str());
  }

 private:
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  std::vector<std::string> names_;
};

GpuNode measured(const std::string& name, const std::map<std::string, std::string>& fakes = {}, bool force = false,
                 std::int64_t load_ms = 300) {
  const Fakes environment(fakes);
  const NodeSpec spec{*NodeName::parse(name), 1, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}};
  GpuRunOptions options;
  options.command = {load_ms, force};
  GpuNode node{name, true, measure_gpus(spec, options), GpuErrorsReply{0, {}, true}, ""};
  CHECK_FALSE(node.outcome.left_running);
  return node;
}

const GpuReport& only_gpu(const GpuNode& node) {
  if (node.outcome.failure) FAIL(node.outcome.failure->error.describe());
  REQUIRE(node.outcome.measured);
  REQUIRE(node.outcome.measured->gpus.size() == 1);
  return node.outcome.measured->gpus.front();
}

Check check_in(const std::vector<Check>& checks, const std::string& id) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  if (found == checks.end()) FAIL("there is no check " << id);
  return *found;
}

Check clock_of(const GpuNode& node) { return check_in(checks_of_gpus(node), "gpu/" + node.name + "/clock"); }

}  // namespace

TEST_CASE("gpu program: a good GPU has its clock, its rates and no wrong value") {
  const auto node = measured("spark-01");
  const auto& gpu = only_gpu(node);
  CHECK(node.outcome.measured->driver == "580.159.03");
  CHECK(node.outcome.measured->cuda_version == 13'000);
  CHECK(gpu.name == "Fake GPU");
  CHECK(gpu.bus == "0000:00:00.0");
  CHECK(gpu.highest_mhz == 3003);
  CHECK_FALSE(gpu.power_limit_watts);
  CHECK_FALSE(gpu.ecc_uncorrected);
  if (gpu.trouble) FAIL(gpu.trouble->error.describe());
  REQUIRE(gpu.load);
  CHECK(gpu.load->samples > 0);
  CHECK(gpu.load->clock_mhz == 2400);
  CHECK(gpu.load->power_watts == Approx(85));
  CHECK(gpu.load->celsius == 65);
  CHECK(gpu.load->state == 0);
  CHECK(gpu.load->reasons == 0);
  // 48 multiprocessors of 128 lanes, two operations each.
  CHECK(gpu.load->teraflops == Approx(48 * 128 * 2 * 2400e6 / 1e12).epsilon(0.01));
  CHECK(gpu.load->copy_gigabytes == Approx(218).epsilon(0.01));
  CHECK(gpu.load->copied_bytes == std::int64_t{64} << 20);
  CHECK(gpu.load->wrong == 0);
  for (const Check& check : checks_of_gpus(node)) {
    INFO(check.id << " " << check.cause);
    CHECK(check.status == CheckStatus::kPass);
  }
}

TEST_CASE("gpu program: all GPUs of a node are measured") {
  const auto node = measured("server", {{"FAKE_GPU_COUNT", "2"}});
  REQUIRE(node.outcome.measured);
  REQUIRE(node.outcome.measured->gpus.size() == 2);
  CHECK(node.outcome.measured->gpus[1].bus == "0000:01:00.0");
  const auto checks = checks_of_gpus(node);
  CHECK(check_in(checks, "gpu/server").text == "2 x Fake GPU, driver 580.159.03, CUDA 13.0");
  CHECK(check_in(checks, "gpu/server/0/clock").value == Approx(2400));
  CHECK(check_in(checks, "gpu/server/1/clock").value == Approx(2400));
}

TEST_CASE("gpu program: a stuck GPU and a throttled one are recognised") {
  const auto stuck = clock_of(measured("spark-01", {{"FAKE_GPU_CLOCK", "513"}, {"FAKE_GPU_WATTS", "14"}}));
  CHECK(stuck.status == CheckStatus::kFail);
  CHECK(stuck.fix == RowId("gpu-clock-stuck")->fix);
  CHECK(stuck.cause.starts_with("513 MHz, 14 W, 65 C, P0: "));
  // Heat, of the hardware: 0x40 with 0x8.
  const auto hot = clock_of(measured("spark-01", {{"FAKE_GPU_REASONS", "72"}, {"FAKE_GPU_CELSIUS", "91"}}));
  CHECK(hot.status == CheckStatus::kFail);
  CHECK(hot.fix == RowId("gpu-throttled")->fix);
  CHECK(hot.cause.starts_with("2400 MHz, lowered by heat, 85 W, 91 C, P0: "));
}

TEST_CASE("gpu program: a GPU in use is named and measured only by force") {
  const std::map<std::string, std::string> fakes{{"FAKE_GPU_PROCESS", std::to_string(::getpid())}};
  const auto left_alone = measured("spark-01", fakes);
  REQUIRE(only_gpu(left_alone).processes.size() == 1);
  CHECK(only_gpu(left_alone).processes[0].pid == ::getpid());
  CHECK(only_gpu(left_alone).processes[0].name == "nccl_test");
  CHECK_FALSE(only_gpu(left_alone).load);
  const auto use = check_in(checks_of_gpus(left_alone), "gpu/spark-01/use");
  CHECK(use.status == CheckStatus::kSkip);
  CHECK(use.cause == "the GPU is in use by nccl_test (pid " + std::to_string(::getpid()) + ")");
  const auto forced = measured("spark-01", fakes, true);
  CHECK(only_gpu(forced).load);
  CHECK(check_in(checks_of_gpus(forced), "gpu/spark-01/use").text.starts_with("measured beside nccl_test"));
}

TEST_CASE("gpu program: a GPU whose programs NVML does not report may have a job, and is measured only by force") {
  const std::map<std::string, std::string> fakes{{"FAKE_GPU_PROCESS", "unknown"}};
  const auto left_alone = measured("spark-01", fakes);
  CHECK_FALSE(only_gpu(left_alone).load);
  const auto use = check_in(checks_of_gpus(left_alone), "gpu/spark-01/use");
  CHECK(use.status == CheckStatus::kSkip);
  CHECK(use.cause == "NVML does not know the programs on the GPU");
  CHECK(only_gpu(measured("spark-01", fakes, true)).load);
}

TEST_CASE("gpu program: without NVML, programs are unknown and nothing is measured unless forced") {
  const std::map<std::string, std::string> fakes{{"FAKE_GPU_NVML", "broken"}};
  const auto node = measured("spark-01", fakes);
  CHECK_FALSE(only_gpu(node).load);
  CHECK(check_in(checks_of_gpus(node), "gpu/spark-01").status == CheckStatus::kWarn);
  CHECK(check_in(checks_of_gpus(node), "gpu/spark-01/use").status == CheckStatus::kSkip);
  const auto forced = measured("spark-01", fakes, true);
  REQUIRE(only_gpu(forced).load);
  CHECK(only_gpu(forced).load->samples == 0);
  CHECK(only_gpu(forced).load->copy_gigabytes == Approx(218).epsilon(0.01));
  CHECK(clock_of(forced).status == CheckStatus::kSkip);
}

TEST_CASE("gpu program: without a load the programs on a GPU are listed, and no GPU is loaded") {
  const auto listed = [](const std::string& process) {
    const auto node = measured("spark-01", {{"FAKE_GPU_PROCESS", process}}, true, 0);
    CHECK_FALSE(only_gpu(node).load);
    CHECK_FALSE(only_gpu(node).trouble);
    return only_gpu(node);
  };
  const auto used = listed(std::to_string(::getpid()));
  REQUIRE(used.processes.size() == 1);
  CHECK(used.processes[0].pid == ::getpid());
  CHECK_FALSE(used.processes_unknown);
  for (const std::string free : {"", "unsupported"}) {
    CHECK(listed(free).processes.empty());
    CHECK_FALSE(listed(free).processes_unknown);
  }
  CHECK(listed("unknown").processes_unknown);
  const auto no_nvml = measured("spark-01", {{"FAKE_GPU_NVML", "broken"}}, false, 0);
  CHECK_FALSE(only_gpu(no_nvml).processes_unknown);
  CHECK_FALSE(no_nvml.outcome.measured->nvml_missing.empty());
}

TEST_CASE("gpu program: a test that has just ended is not taken for a job") {
  const std::map<std::string, std::string> fakes{{"FAKE_GPU_PROCESS", "leaving"}};
  CHECK(only_gpu(measured("spark-01", fakes, false, 0)).processes.empty());
  CHECK(only_gpu(measured("spark-01", fakes)).load);
}

TEST_CASE("gpu program: values that the driver does not report are left out") {
  const auto node = measured("spark-01", {{"FAKE_GPU_CLOCK", "none"}, {"FAKE_GPU_WATTS", "none"}});
  REQUIRE(only_gpu(node).load);
  CHECK_FALSE(only_gpu(node).load->clock_mhz);
  CHECK_FALSE(only_gpu(node).load->power_watts);
  CHECK(clock_of(node).cause == "the driver does not report it");
}

TEST_CASE("gpu program: a calculation that writes no result is wrong, however fast it is") {
  const auto idle = measured("spark-01", {{"FAKE_GPU_WRONG", "unwritten"}});
  REQUIRE(only_gpu(idle).load);
  CHECK(only_gpu(idle).load->wrong > 256);
  CHECK(check_in(checks_of_gpus(idle), "gpu/spark-01/compute").status == CheckStatus::kFail);
}

TEST_CASE("gpu program: wrong results and errors of memory fail") {
  const auto wrong = measured("spark-01", {{"FAKE_GPU_WRONG", "1"}});
  REQUIRE(only_gpu(wrong).load);
  CHECK(only_gpu(wrong).load->wrong == 2);
  const auto compute = check_in(checks_of_gpus(wrong), "gpu/spark-01/compute");
  CHECK(compute.status == CheckStatus::kFail);
  CHECK(compute.cause.starts_with("2 wrong values: "));
  const auto ecc = measured("spark-01", {{"FAKE_GPU_ECC", "3"}});
  const auto errors = check_in(checks_of_gpus(ecc), "gpu/spark-01/errors");
  CHECK(errors.status == CheckStatus::kFail);
  CHECK(errors.fix == RowId("gpu-ecc")->fix);
}

TEST_CASE("gpu program: a measurement that cannot be made says why") {
  const auto refused = measured("spark-01", {{"FAKE_GPU_PTX", "refuse"}});
  REQUIRE(only_gpu(refused).trouble);
  CHECK(only_gpu(refused).trouble->fault == GpuFault::kCuda);
  CHECK(only_gpu(refused).trouble->error.message.starts_with("compile the test's programs: "));
  const auto full = measured("spark-01", {{"FAKE_GPU_MEMORY", "1000000"}, {"FAKE_GPU_COUNT", "1"}});
  REQUIRE(only_gpu(full).trouble);
  CHECK(only_gpu(full).trouble->fault == GpuFault::kMemory);
  // The calculation needs almost no memory.
  REQUIRE(only_gpu(full).load);
  CHECK(only_gpu(full).load->clock_mhz == 2400);
  CHECK(only_gpu(full).load->copied_bytes == 0);
  CHECK(clock_of(full).status == CheckStatus::kPass);
  CHECK(check_in(checks_of_gpus(full), "gpu/spark-01/load").fix == RowId("nccl-memory")->fix);
  const auto none = measured("spark-01", {{"FAKE_GPU", "none"}});
  REQUIRE(none.outcome.failure);
  CHECK(none.outcome.failure->fault == RankFault::kNoGpu);
}

TEST_CASE("gpu program: nodes that differ are named") {
  const std::vector<GpuNode> nodes{measured("spark-01"), measured("spark-02"),
                                   measured("spark-03", {{"FAKE_GPU_CLOCK", "2000"}}),
                                   measured("spark-04", {{"FAKE_GPU_DRIVER", "580.142"}})};
  const auto checks = parity_of_gpus(nodes);
  CHECK(check_in(checks, "gpu/spark-01/parity").status == CheckStatus::kPass);
  const auto slow = check_in(checks, "gpu/spark-03/parity");
  CHECK(slow.status == CheckStatus::kWarn);
  CHECK(slow.cause.starts_with("SM clock 2000 MHz, the median of 4 nodes is 2400 MHz; FP32 rate 24.6 TFLOP/s"));
  const auto other = check_in(checks, "gpu/spark-04/parity");
  CHECK(other.cause.starts_with("driver 580.142, most nodes have 580.159.03: "));
}

TEST_CASE("gpu program: readings are summed up by their medians and frequent reasons") {
  gpu::Samples samples;
  for (std::int64_t i = 0; i < 20; ++i) {
    samples.clocks.push_back(i == 0 ? 100 : 2400 + i);
    samples.celsius.push_back(60 + i);
    samples.watts.push_back(i == 5 ? std::nullopt : std::optional<double>(80));
    samples.zones.push_back(std::nullopt);
    samples.states.push_back(0);
    // Bit 0x4 in all readings, 0x40 in two, 0x1 in one.
    samples.reasons.push_back(0x4 | (i < 2 ? 0x40 : 0) | (i == 7 ? 0x1 : 0));
  }
  GpuLoad load;
  gpu::sum_up(samples, load);
  CHECK(load.samples == 20);
  CHECK(load.clock_mhz == 2410);
  CHECK(load.celsius == 79);
  CHECK(load.power_watts == Approx(80));
  CHECK_FALSE(load.zone_celsius);
  CHECK(load.reasons == 0x44);
  gpu::sum_up({}, load);
  CHECK(load.samples == 0);
  CHECK_FALSE(load.clock_mhz);
}

TEST_CASE("gpu program: the kernels' text has both kernels and every step of a round") {
  const auto text = gpu::kernels();
  CHECK(text.starts_with(".version"));
  for (const char* name : {gpu::kLoadKernel, gpu::kCopyKernel}) {
    CHECK(text.find(std::string(".visible .entry ") + name + "(") != std::string::npos);
  }
  int steps = 0;
  for (auto at = text.find("fma.rn"); at != std::string::npos; at = text.find("fma.rn", at + 1)) ++steps;
  CHECK(steps == gpu::kStepsPerRound);
}

}  // namespace sparkplan
