// Whole runs with --prune and with images, on nodes that answer as the case says.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "engine/report/sync_report.h"
#include "engine/sync/image.h"
#include "engine/sync/sync_run.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/copy_nodes.h"

namespace sparkplan {
namespace {

using test::CopyNode;
using test::honest;
using test::Peer;
using test::say;

/// Has the directory of the only entry, and the record of another one.
test::CopyReaction with_record(const CopyTree& tree) {
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

/// Has the image with this id; after a load, the image with the other id. `left`: by interrupted syncs.
test::CopyReaction with_image(const std::string& id, const std::string& after_load,
                              const std::vector<CopyTree>& left = {}) {
  return [id, after_load, left](const CopyCommand& command, Peer& self) {
    if (const auto* image = std::get_if<CopyImage>(&command)) {
      CopyImageState state;
      state.id = image->action == CopyImageAction::kLoad ? after_load : id;
      state.bytes = 1000;
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
      part.entries[0].size = 100;
      say(self, part);
      say(self, CopyLooked{});
    } else if (std::holds_alternative<CopyListTrees>(command)) {
      say(self, CopyTrees{left});
    } else if (std::holds_alternative<CopyPrune>(command)) {
      say(self, CopyPruned{});
    } else if (std::holds_alternative<CopyForget>(command)) {
      say(self, CopyForgotten{});
    } else {
      honest(command, self);
    }
  };
}

struct Bench {
  explicit Bench(std::size_t count) : nodes(count), cluster(test::on_a_switch(count)) {}

  void declare(const std::string& section, const Value& record) {
    for (NodeSpec& node : cluster.nodes) node.sections.emplace(section, Value::list({record}));
  }
  SyncReport run() {
    RunOptions run;
    run.agent = test::options_for(nodes, 24);
    return sync_content(cluster, run, options);
  }

  std::vector<CopyNode> nodes;
  Cluster cluster;
  SyncOptions options;
};

Value model() { return Value::map({{"path", "/srv/models/now"}, {"from", "n1"}}); }
Value image() { return Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "podman"}}); }

int removals_of(const CopyNode& node) {
  const auto prunes = node.all<CopyPrune>();
  return static_cast<int>(std::count_if(prunes.begin(), prunes.end(), [](const CopyPrune& one) { return one.remove; }));
}

const std::string kFirst(64, 'a');
const std::string kSecond(64, 'b');

/// Of the entry image().
std::string stage_with(const std::string& id) {
  ContentItem item;
  item.kind = ContentKind::kImage;
  item.name = "local/vllm:1";
  item.engine = ContainerEngine::kPodman;
  return stage_of(item, id);
}

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
  run.agent = test::options_for(bench.nodes, 12);
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

TEST_CASE("image run: the archive travels, is loaded and dropped") {
  Bench bench(3);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  bench.nodes[2].reaction = with_image(kFirst, "");
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  CHECK(report.items[0].image_id == kFirst);
  CHECK(nodes[1].status == ContentStatus::kSent);
  CHECK(nodes[2].status == ContentStatus::kPresent);
  std::map<std::size_t, std::vector<CopyImageAction>> actions;
  for (std::size_t i = 0; i < bench.nodes.size(); ++i) {
    for (const CopyImage& command : bench.nodes[i].all<CopyImage>()) {
      actions[i].push_back(command.action);
      CHECK(command.engine == ContainerEngine::kPodman);
    }
  }
  using enum CopyImageAction;
  CHECK(actions[0] == std::vector<CopyImageAction>{kLook, kSave});
  CHECK(actions[1] == std::vector<CopyImageAction>{kLook, kLoad});
  for (const std::size_t place : {0U, 1U}) CHECK(removals_of(bench.nodes[place]) == 1);
  CHECK(removals_of(bench.nodes[2]) == 0);
  CHECK(bench.nodes[1].all<CopyImage>()[1].id == kFirst);
  CHECK(actions[2] == std::vector<CopyImageAction>{kLook});
}

TEST_CASE("image run: one program of a node looks at all images of one owner") {
  Bench bench(2);
  const auto named = [](const std::string& name, const std::string& engine) {
    return Value::map({{"name", name}, {"from", "n1"}, {"engine", engine}});
  };
  const Value images = Value::list({named("a:1", "docker"), named("b:1", "docker"), named("c:1", "docker")});
  for (NodeSpec& node : bench.cluster.nodes) node.sections.emplace("images", images);
  bench.options.dry_run = true;
  for (CopyNode& node : bench.nodes) node.reaction = with_image(kFirst, "");
  const auto report = bench.run();
  CHECK(report.items[2].nodes[1].status == ContentStatus::kPresent);
  for (CopyNode& node : bench.nodes) {
    CHECK(node.all<CopyImage>().size() == 3);
    CHECK(node.remote.started() == 1);
  }
}

TEST_CASE("image run: a program that has failed, or has sent an image, does not look at the next one") {
  Bench bench(2);
  const auto named = [](const std::string& name) { return Value::map({{"name", name}, {"from", "n1"}}); };
  const Value images = Value::list({named("a:1"), named("b:1"), named("c:1")});
  for (NodeSpec& node : bench.cluster.nodes) node.sections.emplace("images", images);
  bench.nodes[0].reaction = with_image(kFirst, "");
  const auto usual = with_image("", kFirst);
  bench.nodes[1].reaction = [usual](const CopyCommand& command, Peer& self) {
    const auto* image = std::get_if<CopyImage>(&command);
    if (image == nullptr || image->name != "a:1") return usual(command, self);
    say(self, CopyFailure{make_error(ErrorCode::kFailed, "the engine is broken")});
    self.ended = true;
  };
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kFailed);
  CHECK(report.items[1].nodes[1].status == ContentStatus::kSent);
  CHECK(report.items[2].nodes[1].status == ContentStatus::kSent);
}

TEST_CASE("image run: the stage is forgotten by the name that it was opened with, not by the path behind links") {
  Bench bench(2);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  (void)bench.run();
  for (const CopyNode& node : bench.nodes) {
    const auto forgets = node.all<CopyForget>();
    REQUIRE(forgets.size() == 1);
    CHECK(forgets[0].path == stage_with(kFirst));
    CHECK(forgets[0].path == node.all<CopyOpen>().back().path);
    CHECK(forgets[0].owner == node.all<CopyOpen>().back().owner);
    CHECK(forgets[0].kind == CopyTreeKind::kImage);
  }
}

TEST_CASE("image run: an archive of the same image with another id is removed, and that of another image is kept") {
  const std::string folder = "/var/lib/sparkplan/images/";
  const std::string stale = folder + stage_with(kSecond);
  const std::vector<CopyTree> left{{stale, stale, "root", CopyTreeKind::kImage},
                                   {folder + std::string(32, '0'), folder, "root", CopyTreeKind::kImage},
                                   {"/srv/" + stage_with(kSecond), "/srv", "root", CopyTreeKind::kDirectory}};
  Bench bench(2);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "", left);
  bench.nodes[1].reaction = with_image("", kFirst, left);
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kSent);
  for (const CopyNode& node : bench.nodes) {
    CHECK(removals_of(node) == 2);  // The stale one, and the one of this run.
    const auto opens = node.all<CopyOpen>();
    REQUIRE_FALSE(opens.empty());
    CHECK(opens.front().path == stale);
    CHECK(opens.front().kind == CopyTreeKind::kImage);
    CHECK(node.all<CopyForget>().front().path == stale);
  }
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
}

TEST_CASE("image run: another image is replaced only with consent, and another id after the load is an error") {
  Bench bench(2);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image(kSecond, kSecond);
  const auto refused = bench.run();
  REQUIRE(refused.items[0].nodes[1].error);
  CHECK(refused.items[0].nodes[1].error->code == ErrorCode::kRefused);
  CHECK(bench.nodes[0].all<CopyImage>().size() == 1);

  Bench again(2);
  again.declare("images", image());
  again.nodes[0].reaction = with_image(kFirst, "");
  again.nodes[1].reaction = with_image(kSecond, kSecond);
  again.options.may_replace = [](const ContentReport&) { return true; };
  const auto report = again.run();
  REQUIRE(report.items[0].nodes[1].error);
  CHECK(report.items[0].nodes[1].error->code == ErrorCode::kVerifyFailed);
}

TEST_CASE("image run: progress without end does not hold the look at an image") {
  Bench bench(2);
  bench.declare("images", image());
  bench.options.dry_run = true;
  bench.options.patience.total = std::chrono::milliseconds(300);
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyImage>(command)) return;
    self.on_read = [](Peer& peer) { say(peer, CopyProgress{}); };
  };
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kUnreachable);
}

TEST_CASE("image run: a source that lists other files than the archive sends nothing") {
  Bench bench(2);
  bench.declare("images", image());
  const auto honest_source = with_image(kFirst, "");
  bench.nodes[0].reaction = [honest_source](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyLook>(command)) return honest_source(command, self);
    CopyEntries part;
    part.entries.resize(2);
    part.entries[0].path = kImageArchive;
    part.entries[1].path = "more";
    say(self, part);
    say(self, CopyLooked{});
  };
  bench.nodes[1].reaction = with_image("", kFirst);
  const auto report = bench.run();
  CHECK(report.items[0].nodes[0].error);
  CHECK(bench.nodes[1].all<CopyExpect>().empty());
}

TEST_CASE("image run: without `from`, an image that one node alone has is sent only with consent") {
  Bench bench(2);
  bench.declare("images", Value::map({{"name", "local/vllm:1"}}));
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  const auto report = bench.run();
  REQUIRE(report.items[0].error);
  CHECK(report.items[0].error->code == ErrorCode::kRefused);
  CHECK(bench.nodes[0].all<CopyImage>().size() == 1);
}

}  // namespace sparkplan
