// A run with an image: the files that it needs on a receiver and leaves there.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using namespace test;

constexpr std::int64_t kArchiveBytes = 100'000'000;
const std::string kStore = "/var/lib/containers/storage";

/// A node with the image of this id. After a load it has the first one. `store`: the answer about its engine's storage.
CopyReaction with_stage(const std::string& id, const CopyImageState& store = {}) {
  return [id, store](const CopyCommand& command, Peer& self) {
    if (const auto* image = std::get_if<CopyImage>(&command)) {
      CopyImageState state = image->action == CopyImageAction::kSpace ? store : CopyImageState();
      if (image->action != CopyImageAction::kSpace) {
        state.id = image->action == CopyImageAction::kLoad ? kFirst : id;
        state.bytes = kArchiveBytes;
      }
      say(self, state);
    } else if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.path = "/var/lib/sparkplan/images/stage";
      opened.exists = true;
      opened.free_bytes = std::int64_t{1} << 40U;
      say(self, opened);
    } else if (std::holds_alternative<CopyLook>(command)) {
      CopyEntries part;
      part.entries.resize(1);
      part.entries[0].path = kImageArchive;
      part.entries[0].mode = 0600;
      part.entries[0].size = kArchiveBytes;
      say(self, part);
      say(self, CopyLooked{});
    } else if (std::holds_alternative<CopyListTrees>(command)) {
      say(self, CopyTrees{});
    } else if (std::holds_alternative<CopyPrune>(command)) {
      say(self, CopyPruned{});
    } else if (std::holds_alternative<CopyForget>(command)) {
      say(self, CopyForgotten{});
    } else {
      honest(command, self);
    }
  };
}

CopyImageState store_with(std::int64_t free, bool shared) {
  CopyImageState state;
  state.store = kStore;
  state.store_free_bytes = free;
  state.store_shared = shared;
  return state;
}

/// A source, and a receiver for each of these.
Bench bench_of(const std::vector<CopyReaction>& receivers) {
  Bench bench(receivers.size() + 1);
  bench.declare("images", Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "podman"}}));
  bench.nodes[0].reaction = with_stage(kFirst);
  for (std::size_t i = 0; i < receivers.size(); ++i) bench.nodes[i + 1].reaction = receivers[i];
  return bench;
}

bool has_loaded(const CopyNode& node) {
  const auto commands = node.all<CopyImage>();
  return std::ranges::any_of(commands, [](const auto& one) { return one.action == CopyImageAction::kLoad; });
}

}  // namespace

TEST_CASE("image run: the error of a receiver that cannot load the archive names its source") {
  Bench bench(2);
  bench.declare("images", Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "docker"}}));
  bench.nodes[0].reaction = with_stage(kFirst);
  bench.nodes[1].reaction = [usual = with_stage("")](const CopyCommand& command, Peer& self) {
    const auto* image = std::get_if<CopyImage>(&command);
    if (image == nullptr || image->action != CopyImageAction::kLoad) return usual(command, self);
    say(self, CopyFailure{make_error(ErrorCode::kFailed, "docker load ended with 1: unexpected EOF")});
    self.ended = true;
  };
  const auto report = bench.run();
  REQUIRE(report.items[0].nodes[1].error);
  CHECK(report.items[0].nodes[1].error->describe() == "load the image of n1: docker load ended with 1: unexpected EOF");
}

TEST_CASE("image run: a node whose engine lacks the space for the image gets nothing, and the others get it") {
  auto bench = bench_of({with_stage("", store_with(kArchiveBytes - 1, false)),
                         with_stage("", store_with(kArchiveBytes, false)), with_stage("")});
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  REQUIRE(nodes[1].error);
  CHECK(nodes[1].status == ContentStatus::kFailed);
  CHECK(nodes[1].error->message.find(kStore) != std::string::npos);
  CHECK(exit_code(report) == ExitCode::kVerificationFailed);
  CHECK(bench.nodes[1].all<CopyExpect>().empty());
  CHECK_FALSE(has_loaded(bench.nodes[1]));
  for (const std::size_t place : {2U, 3U}) {
    CHECK(nodes[place].status == ContentStatus::kSent);
    CHECK(has_loaded(bench.nodes[place]));
  }
}

TEST_CASE("image run: on one file system, the archive and the image need their space together") {
  for (const std::int64_t free : {2 * kArchiveBytes - 1, 2 * kArchiveBytes}) {
    INFO(free);
    auto bench = bench_of({with_stage("", store_with(free, true))});
    const auto report = bench.run();
    CHECK(has_loaded(bench.nodes[1]) == (free == 2 * kArchiveBytes));
    CHECK(report.items[0].nodes[1].too_little_space == (free < 2 * kArchiveBytes));
  }
}

TEST_CASE("image run: a receiver that fails in the middle keeps its stage for the next run") {
  const auto usual = with_stage("");
  auto bench = bench_of({[usual](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyBegin>(command)) return usual(command, self);
    say(self, CopyFailure{make_error(ErrorCode::kFailed, "the disk is broken")});
    self.ended = true;
  }});
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kFailed);
  CHECK(removals_of(bench.nodes[1]) == 0);
  CHECK(bench.nodes[1].all<CopyForget>().empty());
  CHECK_FALSE(has_loaded(bench.nodes[1]));

  auto next = bench_of({usual});
  CHECK(next.run().items[0].nodes[1].status == ContentStatus::kSent);
  CHECK(next.nodes[1].all<CopyOpen>().front().path == bench.nodes[1].all<CopyOpen>().back().path);
}

TEST_CASE("image run: after a success, neither the source nor a receiver has a stage") {
  auto bench = bench_of({with_stage(""), with_stage("")});
  const auto report = bench.run();
  for (const std::size_t place : {1U, 2U}) CHECK(report.items[0].nodes[place].status == ContentStatus::kSent);
  for (const CopyNode& node : bench.nodes) {
    CHECK(removals_of(node) == 1);
    const auto forgets = node.all<CopyForget>();
    REQUIRE(forgets.size() == 1);
    CHECK(forgets[0].path == stage_with(kFirst));
    CHECK_FALSE(forgets[0].image);  // The record of the loaded image stays, for a later prune.
  }
}

}  // namespace sparkplan
