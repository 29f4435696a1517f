// Ranks as real processes of the shipped program, with the driver and the NCCL of tests/fake_gpu: measurements, and
// reports of failures.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>

#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/levels/nccl_places.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using Variables = std::map<std::string, std::string>;

const std::string kFakes = SPARKPLAN_FAKE_GPU;

/// Local nodes; their programs find the fakes as a node's loader finds the real libraries.
class Ranks {
 public:
  explicit Ranks(int count) {
    ::setenv("LD_LIBRARY_PATH", kFakes.c_str(), 1);
    for (int i = 1; i <= count; ++i) {
      auto name = *NodeName::parse("spark-0" + std::to_string(i));
      nodes_.push_back({std::move(name), i, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}});
    }
    for (const auto& node : nodes_) places_.push_back({&node, 0, "", {}});
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  RankPlace& place(std::size_t index) { return places_.at(index); }
  std::vector<RankPlace>& places() { return places_; }
  void set_all(const std::string& name, const std::string& value) {
    for (auto& place : places_) place.environment[name] = value;
  }

  NcclOutcome run(const std::vector<NcclRequest>& requests = {{Collective::kAllReduce, {1 << 20}}}) {
    return run_nccl(places_, requests, options);
  }
  NcclFailure failed_run() {
    auto outcome = run();
    REQUIRE(outcome.failure);
    CHECK(outcome.left_running.empty());
    return *outcome.failure;
  }

  NcclRunOptions options;

 private:
  std::vector<NodeSpec> nodes_;
  std::vector<RankPlace> places_;
};

/// Children of this process that are not reaped.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) found.push_back(child);
  }
  return found;
}

}  // namespace

TEST_CASE("real ranks execute every operation with correct data") {
  Ranks ranks(3);
  ranks.options.warm_up = 1;
  ranks.options.iterations = 3;
  std::vector<NcclRequest> requests;
  for (const auto collective : kCollectives) requests.push_back({collective, {4096, 1 << 20}});
  const auto outcome = ranks.run(requests);
  if (outcome.failure) FAIL(outcome.failure->error.describe());
  REQUIRE(outcome.measured.size() == 2 * (kCollectives.size() - 1));  // Three ranks are no hypercube.
  for (const auto& one : outcome.measured) {
    INFO(to_string(one.collective) << " " << one.bytes);
    CHECK(one.wrong == 0);
    CHECK(one.iterations == 3);
    CHECK(one.seconds > 0);
    CHECK(one.bandwidth.bus == Approx(collective_bandwidth(one.collective, one.bytes, 3, one.seconds).bus));
  }
  CHECK(outcome.prepared[0].gpu == "Fake GPU");
  CHECK(outcome.transports[2].network == "Socket");
  CHECK(outcome.left_running.empty());
  CHECK(children().empty());
}

TEST_CASE("every operation is correct in place, at small and uneven sizes, with four ranks") {
  Ranks ranks(4);
  ranks.options.warm_up = 1;
  ranks.options.iterations = 2;
  std::vector<NcclRequest> requests;
  for (const auto collective : kCollectives) requests.push_back({collective, {8, 1000, 1 << 16}, true});
  const auto outcome = ranks.run(requests);
  if (outcome.failure) FAIL(outcome.failure->error.describe());
  std::map<Collective, std::pair<int, int>> counts;  // Out of place, in place.
  for (const auto& one : outcome.measured) {
    INFO(to_string(one.collective) << " " << one.bytes << (one.in_place ? " in place" : ""));
    CHECK(one.wrong == 0);
    CHECK(one.seconds > 0);
    ++(one.in_place ? counts[one.collective].second : counts[one.collective].first);
  }
  CHECK(counts[Collective::kAllReduce] == std::pair(3, 3));
  CHECK(counts[Collective::kReduce] == std::pair(3, 3));
  // 8 bytes are less than 16 for each rank.
  CHECK(counts[Collective::kScatter] == std::pair(2, 2));
  CHECK(counts[Collective::kHypercube] == std::pair(2, 2));
  CHECK(counts[Collective::kAllToAll] == std::pair(2, 0));
  CHECK(counts[Collective::kAllToAllV] == std::pair(2, 0));
  CHECK(counts[Collective::kSendReceive] == std::pair(3, 0));
}

TEST_CASE("a wrong element is found in place and in a message of two elements") {
  Ranks ranks(2);
  ranks.place(0).environment["FAKE_NCCL"] = "wrong";
  const auto outcome = ranks.run({{Collective::kAllReduce, {8}, true}, {Collective::kReduce, {8}, true}});
  REQUIRE_FALSE(outcome.failure);
  REQUIRE(outcome.measured.size() == 4);
  for (const auto& one : outcome.measured) CHECK(one.wrong == 1);
}

TEST_CASE("several ranks of one node use its GPUs, and an error names the GPU") {
  Ranks ranks(1);
  ranks.place(0).ranks_on_node = 3;
  std::vector<RankPlace> places;
  append_ranks(ranks.place(0), places);
  REQUIRE(places.size() == 3);
  ranks.places() = places;
  const auto outcome = ranks.run();
  if (outcome.failure) FAIL(outcome.failure->error.describe());
  CHECK(outcome.measured.at(0).wrong == 0);
  CHECK(outcome.prepared.at(0).gpus == 8);
  ranks.place(2).environment["FAKE_NCCL"] = "wrong";
  CHECK(ranks.run().measured.at(0).first_wrong.starts_with("spark-01 GPU 2: element 17"));
}

TEST_CASE("one wrong element of a result is found, and its position is reported") {
  Ranks ranks(2);
  ranks.place(1).environment["FAKE_NCCL"] = "wrong";
  const auto outcome = ranks.run();
  REQUIRE_FALSE(outcome.failure);
  REQUIRE(outcome.measured.size() == 1);
  CHECK(outcome.measured[0].wrong == 1);
  CHECK(outcome.measured[0].first_wrong.starts_with("spark-02: element 17 is "));
}

TEST_CASE("NCCL's standard output is not read as a message") {
  Ranks ranks(2);
  ranks.set_all("FAKE_NCCL", "talk");
  CHECK_FALSE(ranks.run().failure);
}

TEST_CASE("a dying rank is reported within 5 s, and the other ranks are ended") {
  Ranks ranks(3);
  ranks.place(2).environment["FAKE_NCCL"] = "die";
  const auto begun = Clock::now();
  const auto failure = ranks.failed_run();
  CHECK(Clock::now() - begun < std::chrono::seconds(5 + 5));  // Three programs also start in this time.
  CHECK(failure.trouble == NcclTrouble::kEnded);
  CHECK(failure.place == 2);
  CHECK(failure.phase == NcclPhase::kRun);
  CHECK(children().empty());
}

TEST_CASE("a rank killed during a hanging operation is reported within 5 s") {
  Ranks ranks(2);
  ranks.set_all("FAKE_NCCL", "hang");
  std::atomic<bool> running{false};
  Clock::time_point killed;
  ranks.options.progress = [&](std::string_view doing) {
    if (doing.starts_with("all_reduce")) running = true;
  };
  const std::jthread killer([&] {
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (!running && Clock::now() < deadline) std::this_thread::yield();
    const auto ranks_now = children();
    killed = Clock::now();
    if (!ranks_now.empty()) ::kill(ranks_now.back(), SIGKILL);
  });
  const auto failure = ranks.failed_run();
  const auto told = Clock::now();
  CHECK(failure.trouble == NcclTrouble::kEnded);
  CHECK(failure.error.describe().find("137") != std::string::npos);
  CHECK(told - killed < std::chrono::seconds(5));
  CHECK(children().empty());
}

TEST_CASE("a hanging operation times out, also by the deadline of all sizes, and no rank remains") {
  Ranks ranks(2);
  ranks.set_all("FAKE_NCCL", "hang");
  ranks.options.run_timeout = std::chrono::milliseconds(500);
  const auto failure = ranks.failed_run();
  CHECK(failure.trouble == NcclTrouble::kSilent);
  CHECK(failure.phase == NcclPhase::kRun);
  ranks.options.run_timeout = std::chrono::seconds(600);
  ranks.options.deadline = Clock::now();
  CHECK(ranks.failed_run().trouble == NcclTrouble::kSilent);
  ranks.options.deadline.reset();
  ranks.options.request_timeout = std::chrono::milliseconds(0);
  CHECK(ranks.failed_run().error.message ==
        "the sizes up to all_reduce of 1 MiB did not finish within 0 s, nor on spark-02");
  CHECK(children().empty());
}

TEST_CASE("an error about a silent rank names all silent ones, and those that report an end of what all end together") {
  Ranks ranks(4);
  const auto& places = ranks.places();
  CHECK(beside_silent(places, {false, false, false, true}, NcclPhase::kRun) ==
        ", nor on spark-[02-03]; spark-04 reports its end");
  CHECK(beside_silent(places, {true, false, true, true}, NcclPhase::kJoin) == "; spark-[01,03-04] report its end");
  CHECK(beside_silent(places, {true, false, true, true}, NcclPhase::kPrepare).empty());
  CHECK(beside_silent(places, {true, false, true, false}, NcclPhase::kPrepare) == ", nor on spark-04");
}

TEST_CASE("beside a report that may be the work of another rank, the ranks that say nothing are named") {
  Ranks ranks(4);
  CHECK(beside_report(ranks.places(), {true, false, true, false}, NcclPhase::kRun) == "; no answer from spark-[02,04]");
  CHECK(beside_report(ranks.places(), {true, true, true, true}, NcclPhase::kRun).empty());
  CHECK(beside_report(ranks.places(), {true, false, true, true}, NcclPhase::kPrepare).empty());
}

TEST_CASE("a stop ends all ranks at any point") {
  Ranks ranks(2);
  ranks.set_all("FAKE_NCCL", "hang");
  std::stop_source stop;
  ranks.options.stop = stop.get_token();
  ranks.options.progress = [&](std::string_view doing) {
    if (doing.starts_with("all_reduce")) stop.request_stop();
  };
  CHECK(ranks.failed_run().trouble == NcclTrouble::kStopped);
  CHECK(children().empty());
}

TEST_CASE("a call that NCCL refuses is reported with NCCL's error by the failing rank") {
  Ranks ranks(2);
  ranks.place(1).environment["FAKE_NCCL"] = "error";
  const auto failure = ranks.failed_run();
  CHECK(failure.trouble == NcclTrouble::kFault);
  CHECK(failure.fault == RankFault::kNccl);
  CHECK(failure.place == 1);
  CHECK(failure.error.message.starts_with("all_reduce: unhandled system error"));
}

TEST_CASE("a missing or invalid library, driver or GPU is reported by a specific fault") {
  const auto fault_of = [](const std::string& variable, const std::string& value, const std::string& library) {
    Ranks ranks(2);
    if (!variable.empty()) ranks.place(1).environment[variable] = value;
    ranks.place(1).library = library;
    const auto failure = ranks.failed_run();
    CHECK(failure.trouble == NcclTrouble::kFault);
    CHECK(failure.place == 1);
    CHECK_FALSE(failure.error.message.empty());
    return failure.fault;
  };
  CHECK(fault_of("FAKE_GPU", "none", "") == RankFault::kNoGpu);
  CHECK(fault_of("FAKE_NCCL_VERSION", "21003", "") == RankFault::kLibraryTooOld);
  CHECK(fault_of("", "", "/nowhere/libnccl.so.2") == RankFault::kNoLibrary);
  CHECK(fault_of("", "", kFakes + "/text/libnccl.so.2") == RankFault::kNotNccl);
  CHECK(fault_of("", "", kFakes + "/libcuda.so.1") == RankFault::kNotNccl);
  CHECK(fault_of("FAKE_GPU_MEMORY", "1000000", "") == RankFault::kMemory);
}

TEST_CASE("without a driver no GPU is reported") {
  Ranks ranks(1);
  ::setenv("LD_LIBRARY_PATH", "/nowhere", 1);
  const auto looked = inspect_nccl(ranks.places(), ranks.options);
  if (!looked.at(0).failure) {
    WARN("SKIPPED: this machine has a GPU, and its driver is found without being told where");
    return;
  }
  // A machine may have a driver but no GPU.
  if (looked[0].failure->fault != RankFault::kNoGpu) CHECK(looked[0].failure->fault == RankFault::kNoDriver);
}

TEST_CASE("ranks with different NCCL releases do not start") {
  Ranks ranks(2);
  ranks.place(1).environment["FAKE_NCCL_VERSION"] = "22903";
  const auto failure = ranks.failed_run();
  CHECK(failure.trouble == NcclTrouble::kMixedVersions);
  CHECK(failure.error.message.find("2.29.3") != std::string::npos);
  CHECK(failure.error.message.find("2.28.9") != std::string::npos);
}

TEST_CASE("a library is searched for with the node's own variables") {
  Ranks ranks(1);
  ranks.place(0).environment["LD_LIBRARY_PATH"] = "/nowhere:" + kFakes + "/text";
  const auto looked = inspect_nccl(ranks.places(), ranks.options);
  REQUIRE(looked.at(0).failure);
  CHECK(looked[0].failure->fault == RankFault::kNotNccl);
}

TEST_CASE("a size that exceeds the memory is halved until it fits, and measured once") {
  Ranks ranks(2);
  ranks.options.iterations = 1;
  ranks.set_all("FAKE_GPU_UNIFIED", "1");
  const auto outcome = ranks.run({{Collective::kAllReduce, {1 << 20, 64 << 20, 1 << 30}}});
  REQUIRE_FALSE(outcome.failure);
  REQUIRE(outcome.measured.size() == 2);
  CHECK(outcome.prepared[0].unified_memory);
  CHECK(outcome.measured[1].asked_bytes == 64 << 20);
  CHECK(outcome.measured[1].bytes == 4 << 20);  // 40 MiB are free; a fifth of that is for two buffers.
}

}  // namespace sparkplan
