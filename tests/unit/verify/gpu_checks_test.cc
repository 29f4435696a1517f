// GPUs as checks: one node's, and the comparison of all nodes.
#include "engine/verify/levels/gpu_checks.h"

#include <algorithm>
#include <limits>

#include "engine/doctor/gpu_bands.h"
#include "tests/support/catch.h"
#include "tests/unit/verify/gpu_samples.h"

namespace sparkplan {
namespace {

using testing::good_gpu;
using testing::gpu_node;

Check check_in(const std::vector<Check>& checks, const std::string& id) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.id == id; });
  if (found == checks.end()) FAIL("there is no check " << id);
  return *found;
}

Check check_of(const GpuNode& node, const std::string& what) {
  return check_in(checks_of_gpus(node), "gpu/" + node.name + (what.empty() ? "" : "/" + what));
}

GpuNode with_load(const std::string& name, const GpuLoad& load) {
  auto gpu = good_gpu();
  gpu.load = load;
  return gpu_node(name, {gpu});
}

GpuNode failed(NcclTrouble trouble, std::optional<RankFault> fault, bool spark) {
  GpuNode node;
  node.name = "n1";
  node.spark = spark;
  node.outcome.failure =
      NcclFailure{trouble, NcclPhase::kRun, 0, fault, {ErrorCode::kFailed, "as it was told", {}, {}, "the hint"}, {}};
  return node;
}

std::vector<std::string> warned(const std::vector<GpuNode>& nodes) {
  std::vector<std::string> names;
  for (const Check& check : parity_of_gpus(nodes)) {
    CHECK(check.what == "parity");
    if (check.status == CheckStatus::kWarn) names.push_back(check.nodes.at(0));
  }
  return names;
}

}  // namespace

TEST_CASE("gpu checks: a good GPU passes, with a value for each measured property") {
  const auto checks = checks_of_gpus(gpu_node("n1"));
  std::vector<std::string> ids;
  for (const Check& check : checks) {
    INFO(check.id << " " << check.cause);
    CHECK(check.status == CheckStatus::kPass);
    CHECK(check.level == Level::kGpu);
    CHECK(check.nodes == std::vector<std::string>{"n1"});
    ids.push_back(check.id);
  }
  CHECK(ids == std::vector<std::string>{"gpu/n1", "gpu/n1/clock", "gpu/n1/power", "gpu/n1/temperature",
                                        "gpu/n1/compute", "gpu/n1/bandwidth", "gpu/n1/errors"});
  CHECK(check_in(checks, "gpu/n1").text == "NVIDIA GB10, driver 580.159.03, CUDA 13.0");
  CHECK(check_in(checks, "gpu/n1/bandwidth").value == 218.0);
  CHECK(check_in(checks, "gpu/n1/bandwidth").unit == "GB/s");
  CHECK(check_in(checks, "gpu/n1/bandwidth").threshold == kSparkCopy);
  CHECK(check_in(checks, "gpu/n1/errors").text == "ECC is not reported; no Xid since the boot");
}

TEST_CASE("gpu checks: a failed measurement has its cause and its fix") {
  const auto only = [](const GpuNode& node) { return checks_of_gpus(node).at(0); };
  CHECK(only(failed(NcclTrouble::kFault, RankFault::kNoGpu, false)).status == CheckStatus::kSkip);
  CHECK(only(failed(NcclTrouble::kFault, RankFault::kNoDriver, false)).status == CheckStatus::kSkip);
  CHECK(only(failed(NcclTrouble::kStopped, {}, true)).status == CheckStatus::kSkip);
  for (const auto& node : {failed(NcclTrouble::kFault, RankFault::kNoGpu, true),
                           failed(NcclTrouble::kFault, RankFault::kCuda, false), failed(NcclTrouble::kEnded, {}, false),
                           failed(NcclTrouble::kSilent, {}, false), failed(NcclTrouble::kConnection, {}, false)}) {
    const auto check = only(node);
    CHECK(check.status == CheckStatus::kFail);
    CHECK(check.cause.starts_with("as it was told"));
    CHECK_FALSE(check.fix.empty());
  }
  CHECK(only(failed(NcclTrouble::kConnection, {}, false)).fix == "the hint");
}

TEST_CASE("gpu checks: a node that claims a measurement without a GPU or without a rate does not pass") {
  const auto none = checks_of_gpus(gpu_node("n1", {}));
  REQUIRE(none.size() == 1);
  CHECK(none[0].status == CheckStatus::kFail);
  auto other = gpu_node("n1", {});
  other.spark = false;
  CHECK(checks_of_gpus(other).at(0).status == CheckStatus::kSkip);
  GpuLoad load = *good_gpu().load;
  load.teraflops = 0;
  load.copied_bytes = 0;
  for (const std::string what : {"compute", "bandwidth"}) {
    const auto check = check_of(with_load("n1", load), what);
    CHECK(check.status == CheckStatus::kFail);
    CHECK_FALSE(check.value);
    CHECK(check.cause.starts_with("the node reports a measurement without a rate"));
  }
  load.copied_bytes = 1 << 28;
  load.copy_gigabytes = 0;
  CHECK(check_of(with_load("n1", load), "bandwidth").status == CheckStatus::kFail);
}

TEST_CASE("gpu checks: a temperature at which the GPU lowers its clock is a warning") {
  auto gpu = good_gpu();
  gpu.slowdown_celsius = gpu.load->celsius;
  const auto hot = check_of(gpu_node("n1", {gpu}), "temperature");
  CHECK(hot.status == CheckStatus::kWarn);
  CHECK(hot.cause.starts_with("the GPU lowers its clock from this temperature on"));
  gpu.slowdown_celsius = *gpu.load->celsius + 1;
  CHECK(check_of(gpu_node("n1", {gpu}), "temperature").status == CheckStatus::kPass);
}

TEST_CASE("gpu checks: a hot board fails on a Spark, whatever the GPU reads") {
  auto load = *good_gpu().load;
  load.zone_celsius = kHotZone;
  auto node = with_load("n1", load);
  const auto hot = check_of(node, "temperature");
  CHECK(hot.status == CheckStatus::kFail);
  CHECK(hot.cause.starts_with("acpitz reads 93 C: "));
  node.spark = false;
  CHECK(check_of(node, "temperature").status == CheckStatus::kPass);
}

TEST_CASE("gpu checks: a limit is named, and fails nothing by itself") {
  auto load = *good_gpu().load;
  load.reasons = kClockPowerCap;
  const auto check = check_of(with_load("n1", load), "clock");
  CHECK(check.status == CheckStatus::kPass);
  CHECK(check.text == "SM clock under load, lowered by its limit of power");
}

TEST_CASE("gpu checks: Xids are judged by the worst, and the newest of the worst is shown") {
  auto node = gpu_node("n1");
  node.log = GpuErrorsReply{2, {{13, "a"}, {31, "b"}}, false};
  CHECK(check_of(node, "errors").status == CheckStatus::kPass);
  CHECK(check_of(node, "errors").text == "ECC is not reported; 2 Xids in the part of the kernel's log that is left");
  node.log = GpuErrorsReply{4, {{79, "first"}, {61, "b"}, {119, "newest"}, {13, "c"}}, true};
  const auto check = check_of(node, "errors");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.cause.starts_with("newest: "));
  node.log = GpuErrorsReply{1, {{61, "b"}}, true};
  CHECK(check_of(node, "errors").status == CheckStatus::kWarn);
}

TEST_CASE("gpu checks: without the kernel's log and ECC, errors were not checked") {
  auto node = gpu_node("n1");
  node.log.reset();
  node.log_unread = "open /dev/kmsg: Operation not permitted";
  const auto unknown = check_of(node, "errors");
  CHECK(unknown.status == CheckStatus::kSkip);
  CHECK(unknown.cause.find("Operation not permitted") != std::string::npos);
  node.outcome.measured->gpus[0].ecc_uncorrected = 0;
  CHECK(check_of(node, "errors").status == CheckStatus::kPass);
  node.outcome.measured->gpus[0].ecc_uncorrected = std::numeric_limits<std::int64_t>::max();
  node.outcome.measured->gpus.push_back(node.outcome.measured->gpus[0]);
  CHECK(check_of(node, "errors").status == CheckStatus::kFail);
}

TEST_CASE("gpu checks: a GPU that has fallen off the bus is found in the kernel's log") {
  auto node = failed(NcclTrouble::kFault, RankFault::kNoGpu, false);
  node.log = GpuErrorsReply{1, {{79, "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."}}, true};
  const auto errors = check_of(node, "errors");
  CHECK(errors.status == CheckStatus::kFail);
  CHECK(errors.cause.starts_with("NVRM: Xid (PCI:0000:01:00): 79"));
  node.log->count = 0;
  node.log->errors.clear();
  CHECK(checks_of_gpus(node).size() == 1);
}

TEST_CASE("gpu checks: of many programs on a GPU, four are named") {
  auto gpu = good_gpu();
  gpu.load.reset();
  gpu.processes = {{7, "vllm"}, {8, ""}, {9, "a\nb"}, {10, "c"}, {11, "d"}, {12, "e"}};
  const auto use = check_of(gpu_node("n1", {gpu}), "use");
  CHECK(use.status == CheckStatus::kSkip);
  CHECK(use.cause.starts_with("the GPU is in use by vllm (pid 7), pid 8, a"));
  CHECK(use.cause.find('\n') == std::string::npos);
  CHECK(use.cause.ends_with("c (pid 10) and 2 more"));
  CHECK(use.fix.find("--force") != std::string::npos);
}

TEST_CASE("gpu checks: a GPU in use forbids ranks on its node, in the same words as for the level gpu") {
  auto used = good_gpu();
  used.load.reset();
  auto free = used;
  used.processes = {{7, "vllm"}};
  const auto node = gpu_node("n1", {free, used});
  const auto uses = checks_of_use("n1", node.outcome, false);
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].id == "nccl/n1/1/use");
  const auto same = check_of(node, "1/use");
  CHECK(uses[0].status == same.status);
  CHECK(uses[0].cause == same.cause);
  CHECK(uses[0].fix == same.fix);
  CHECK(forbids_ranks(uses));
  const auto forced = checks_of_use("n1", node.outcome, true);
  REQUIRE(forced.size() == 1);
  CHECK(forced[0].text == "measured beside vllm (pid 7)");
  CHECK_FALSE(forbids_ranks(forced));
}

TEST_CASE("gpu checks: unknown programs forbid no ranks, and a program on a second GPU does") {
  auto unknown = good_gpu();
  unknown.load.reset();
  unknown.processes_unknown = true;
  auto node = gpu_node("n1", {unknown});
  const auto uses = checks_of_use("n1", node.outcome, false);
  CHECK_FALSE(forbids_ranks(uses));
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].status == CheckStatus::kPass);
  auto used = good_gpu();
  used.load.reset();
  used.processes = {{7, "vllm"}};
  CHECK(forbids_ranks(checks_of_use("n1", gpu_node("n1", {unknown, used}).outcome, false)));
  node.outcome.measured->nvml_missing = "there is no NVML";
  CHECK(checks_of_use("n1", node.outcome, false).empty());
  CHECK(checks_of_use("n1", failed(NcclTrouble::kSilent, {}, true).outcome, false).empty());
}

TEST_CASE("gpu parity: equal nodes pass, and one node alone is compared with none") {
  CHECK(warned({gpu_node("n1"), gpu_node("n2"), gpu_node("n3")}).empty());
  CHECK(parity_of_gpus({gpu_node("n1")}).empty());
  CHECK(parity_of_gpus({gpu_node("n1"), failed(NcclTrouble::kEnded, {}, true)}).empty());
}

TEST_CASE("gpu parity: the node that differs from the majority is named") {
  auto slow = *good_gpu().load;
  slow.copy_gigabytes = 190;
  CHECK(warned({gpu_node("n1"), gpu_node("n2"), with_load("n3", slow)}) == std::vector<std::string>{"n3"});
  auto other = gpu_node("n2");
  other.outcome.measured->driver = "580.142";
  CHECK(warned({gpu_node("n1"), other, gpu_node("n3")}) == std::vector<std::string>{"n2"});
  auto model = gpu_node("n1");
  model.outcome.measured->gpus[0].name = "NVIDIA H100";
  // The speed of another model is compared with no other node.
  model.outcome.measured->gpus[0].load->teraflops = 60;
  const auto checks = parity_of_gpus({model, gpu_node("n2"), gpu_node("n3")});
  CHECK(check_in(checks, "gpu/n1/parity").cause.starts_with("model NVIDIA H100, most nodes have NVIDIA GB10: "));
  CHECK(check_in(checks, "gpu/n2/parity").status == CheckStatus::kPass);
}

TEST_CASE("gpu parity: one node's claims do not turn the others into the slow ones") {
  auto boast = *good_gpu().load;
  boast.clock_mhz = 100'000;
  boast.teraflops = 1e9;
  CHECK(warned({gpu_node("n1"), gpu_node("n2"), with_load("n3", boast)}).empty());
}

TEST_CASE("gpu parity: two nodes that differ are both named, in the same words") {
  auto slow = *good_gpu().load;
  slow.clock_mhz = 1600;
  auto second = with_load("n2", slow);
  second.outcome.measured->driver = "580.142";
  const auto checks = parity_of_gpus({gpu_node("n1"), second});
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].status == CheckStatus::kWarn);
  CHECK(checks[0].cause == checks[1].cause);
  CHECK(checks[0].cause.starts_with(
      "the drivers differ: n1 580.159.03, n2 580.142; SM clock: n1 2400 MHz, n2 1600 MHz: "));
}

TEST_CASE("gpu parity: the words of one node's driver or model cannot be taken for another node's") {
  auto first = gpu_node("n1");
  first.outcome.measured->driver = "580.95.05, n2 470.1";
  const auto driver = parity_of_gpus({first, gpu_node("n2")});
  CHECK(driver.at(1).cause.starts_with("the drivers differ: n1 \"580.95.05, n2 470.1\", n2 580.159.03: "));
  first = gpu_node("n1", {good_gpu(), good_gpu()});
  first.outcome.measured->gpus[0].name = "NVIDIA GB10, n2 NVIDIA H100";
  first.outcome.measured->gpus[1].name = "none";
  const auto model = parity_of_gpus({first, gpu_node("n2")});
  CHECK(
      model.at(1).cause.starts_with("the models differ: n1 \"'NVIDIA GB10, n2 NVIDIA H100', 'none'\", n2 NVIDIA GB10"));
  // Of three nodes, two decide together: their text is in quotes, too.
  first = gpu_node("n1");
  first.outcome.measured->driver = "none";
  auto second = gpu_node("n2");
  second.outcome.measured->driver = "none";
  const auto usual = parity_of_gpus({first, second, gpu_node("n3")});
  CHECK(usual.at(2).cause.starts_with("driver 580.159.03, most nodes have \"none\": "));
}

TEST_CASE("gpu parity: a node with several GPUs is as fast as its slowest") {
  auto slow = good_gpu();
  slow.load->clock_mhz = 1000;
  const std::vector<GpuNode> nodes{gpu_node("n1", {good_gpu(), good_gpu()}), gpu_node("n2", {good_gpu(), slow}),
                                   gpu_node("n3", {good_gpu(), good_gpu()})};
  CHECK(warned(nodes) == std::vector<std::string>{"n2"});
}

}  // namespace sparkplan
