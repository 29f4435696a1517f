// Whole runs with --prune, on nodes that answer as the case says.
#include <chrono>
#include <thread>

#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using namespace test;

/// Has the directory of the only entry, and the record of another one.
CopyReaction with_record(const CopyTree& tree) {
  return [tree](const CopyCommand& command, Peer& self) {
    if (const auto* open = std::get_if<CopyOpen>(&command)) {
      CopyOpened opened;
      opened.path = open->path;
      opened.exists = true;
      say(self, opened);
    } else if (std::holds_alternative<CopyLook>(command)) {
      CopyEntries part;
      part.entries.resize(1);
      part.entries[0].path = "a";
      part.entries[0].sum = "s";
      say(self, part);
      say(self, CopyLooked{});
    } else if (std::holds_alternative<CopyListTrees>(command)) {
      say(self, CopyTrees{{tree}});
    } else if (std::holds_alternative<CopyPrune>(command)) {
      CopyPruned pruned;
      pruned.files = 3;
      say(self, pruned);
    } else if (std::holds_alternative<CopyForget>(command)) {
      say(self, CopyForgotten{});
    }
  };
}

Value model() { return Value::map({{"path", "/srv/models/now"}, {"from", "n1"}}); }

}  // namespace

TEST_CASE("prune run: nothing is removed without consent, and with it the record is forgotten") {
  for (const bool consent : {false, true}) {
    Bench bench(2);
    bench.declare("models", model());
    for (CopyNode& node : bench.nodes) node.reaction = with_record({"/srv/models/old", "/srv/models/old", "nvidia"});
    bench.options.prune = true;
    int asked = 0;
    bench.options.may_prune = [&](const std::vector<PrunedTree>& trees) {
      ++asked;
      CHECK(trees.size() == 2);
      CHECK(trees[0].files == 3);
      return consent;
    };
    const auto report = bench.run();
    CHECK(asked == 1);
    REQUIRE(report.pruned.size() == 2);
    CHECK(report.pruned[0].removed == consent);
    CHECK(exit_code(report) == (consent ? ExitCode::kDone : ExitCode::kRefused));
    CHECK(removals_of(bench.nodes[1]) == (consent ? 1 : 0));
    CHECK(bench.nodes[1].all<CopyForget>().size() == (consent ? 1U : 0U));
    // With the rights of the owner, and without making a directory.
    const auto opens = bench.nodes[1].all<CopyOpen>();
    CHECK(opens.back().path == "/srv/models/old");
    CHECK(opens.back().owner == "nvidia");
    CHECK(opens.back().existing);
  }
}

TEST_CASE("prune run: a tree that an entry covers through a link is not pruned, and a dry run asks nothing") {
  Bench bench(1);
  bench.declare("models", model());
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  bench.nodes[0].reaction = with_record({"/data/now", "/srv/models/now", ""});
  CHECK(bench.run().pruned.empty());
  CHECK(removals_of(bench.nodes[0]) == 0);

  Bench dry(1);
  dry.declare("models", model());
  dry.options.prune = true;
  dry.options.dry_run = true;
  bool asked = false;
  dry.options.may_prune = [&](const std::vector<PrunedTree>&) {
    asked = true;
    return true;
  };
  dry.nodes[0].reaction = with_record({"/srv/models/old", "/srv/models/old", ""});
  const auto report = dry.run();
  REQUIRE(report.pruned.size() == 1);
  CHECK_FALSE(report.pruned[0].removed);
  CHECK_FALSE(asked);
  CHECK(removals_of(dry.nodes[0]) == 0);
}

TEST_CASE("prune run: where an entry was not read, nothing is removed") {
  Bench bench(2);
  bench.declare("models", model());
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  for (CopyNode& node : bench.nodes) node.reaction = with_record({"/srv/models/old", "/srv/models/old", ""});
  const auto record = bench.nodes[1].reaction;
  bench.nodes[1].reaction = [record](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyLook>(command)) {
      say(self, CopyFailure{make_error(ErrorCode::kFailed, "the disk is broken")});
    } else {
      record(command, self);
    }
  };
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 2);
  CHECK(report.pruned[0].removed);
  CHECK(report.pruned[1].error);
  CHECK(bench.nodes[1].all<CopyListTrees>().empty());
}

TEST_CASE("prune run: a node that cannot be reached is in the report, also if the file names no content") {
  Bench bench(2);
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  bench.nodes[0].reaction = with_record({"/srv/models/old", "/srv/models/old", ""});
  RunOptions run;
  run.agent = options_for(bench.nodes, 12);
  const auto connect_all = run.agent.connector;
  run.agent.connector = [connect_all](const NodeSpec& spec,
                                      const ConnectOptions& connect) -> Result<std::unique_ptr<Connection>> {
    if (spec.name.str() == "n2") return failure(ErrorCode::kUnreachable, "no route to host");
    return connect_all(spec, connect);
  };
  const auto report = sync_content(bench.cluster, run, bench.options);
  REQUIRE(report.pruned.size() == 2);
  CHECK(report.pruned[0].removed);
  REQUIRE(report.pruned[1].error);
  CHECK(report.pruned[1].node == "n2");
  CHECK(exit_code(report) == ExitCode::kNodeFailed);
}

TEST_CASE("prune run: a node with many directories has one deadline for all of them") {
  Bench bench(2);
  bench.declare("models", model());
  bench.options.prune = true;
  bench.options.patience.total = std::chrono::milliseconds(1000);
  const auto record = with_record({"/srv/models/old", "/srv/models/old", ""});
  bench.nodes[0].reaction = record;
  bench.nodes[1].reaction = [record](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyListTrees>(command)) {
      CopyTrees trees;
      for (int i = 0; i < 1000; ++i) {
        const std::string path = "/srv/models/old-" + std::to_string(i);
        trees.trees.push_back({path, path, ""});
      }
      say(self, trees);
      return;
    }
    // Each answer is within the deadline.
    if (std::holds_alternative<CopyPrune>(command)) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    record(command, self);
  };
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 2);
  CHECK(report.pruned[0].node == "n1");
  CHECK(report.pruned[1].node == "n2");
  REQUIRE(report.pruned[1].error);
  CHECK(report.pruned[1].error->code == ErrorCode::kUnreachable);
  CHECK(bench.nodes[1].all<CopyPrune>().size() < 6);
}

TEST_CASE("prune run: of the long names that stay in a directory, a few are kept, and all are counted") {
  Bench bench(1);
  bench.declare("models", model());
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  const auto record = with_record({"/srv/models/old", "/srv/models/old", ""});
  bench.nodes[0].reaction = [record](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyPrune>(command)) return record(command, self);
    CopyPruned pruned;
    pruned.kept_files = 100;
    pruned.kept.assign(100, std::string(kLongestCopyPath, 'k'));
    say(self, pruned);
  };
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 1);
  CHECK(report.pruned[0].kept_files == 100);
  CHECK(report.pruned[0].kept.size() == 2);
}

TEST_CASE("prune run: what an interrupted transfer of an image has left is pruned as an archive") {
  Bench bench(1);
  bench.declare("models", model());
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  const std::string stage = "/var/lib/sparkplan/images/" + stage_with(kSecond);
  bench.nodes[0].reaction = with_record({stage, stage, "root", CopyTreeKind::kImage});
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 1);
  CHECK(report.pruned[0].removed);
  CHECK(bench.nodes[0].all<CopyOpen>().back().kind == CopyTreeKind::kImage);
  CHECK(question_text(report.pruned).find("an archive of an image") != std::string::npos);
  CHECK_FALSE(bench.nodes[0].all<CopyPrune>().back().image);
}

namespace {

/// Has the record of an image that a sync has loaded, and under the entry's name the image with this id.
CopyReaction with_image_record(const std::string& id_of_entry) {
  const std::string stage = "/var/lib/sparkplan/images/" + stage_with(kSecond);
  const auto usual = with_record({stage, stage, "root", CopyTreeKind::kImage, "local/vllm:1", kSecond});
  return [usual, id_of_entry](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) return say(self, CopyOpened{"/stage", false, false, 0, 0});
    if (!std::holds_alternative<CopyImage>(command)) return usual(command, self);
    CopyImageState state;
    state.id = id_of_entry;
    say(self, state);
  };
}

}  // namespace

TEST_CASE("prune run: an image that a sync has loaded is removed if no entry has its id") {
  Bench bench(1);
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  bench.nodes[0].reaction = with_image_record("");
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 1);
  CHECK(report.pruned[0].removed);
  CHECK(report.pruned[0].image == "local/vllm:1");
  CHECK(bench.nodes[0].all<CopyPrune>().back().image);
  CHECK(bench.nodes[0].all<CopyForget>().back().image);
  CHECK(question_text(report.pruned).find("directories and images") != std::string::npos);
  CHECK(to_text(report, false, TextStyle{}).find("1 image pruned") != std::string::npos);

  for (const std::string& id : {kFirst, kSecond}) {
    Bench declared(1);
    declared.declare("images", Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "podman"}}));
    declared.options.prune = true;
    declared.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
    declared.nodes[0].reaction = with_image_record(id);
    // With the first id, the recorded image is an older one of that name.
    CHECK(declared.run().pruned.size() == (id == kFirst ? 1U : 0U));
  }
}

TEST_CASE("prune run: where an image was not read, nothing is removed") {
  Bench bench(1);
  bench.declare("images", Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "podman"}}));
  bench.options.prune = true;
  bench.options.may_prune = [](const std::vector<PrunedTree>&) { return true; };
  const auto usual = with_image_record(kFirst);
  bench.nodes[0].reaction = [usual](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyImage>(command)) return usual(command, self);
    say(self, CopyFailure{make_error(ErrorCode::kFailed, "the engine is broken")});
    self.ended = true;
  };
  const auto report = bench.run();
  REQUIRE(report.pruned.size() == 1);
  CHECK(report.pruned[0].error);
  CHECK(bench.nodes[0].all<CopyPrune>().empty());
}

}  // namespace sparkplan
