// Whole runs with images, on nodes that answer as the case says.
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using namespace test;

/// Has the image with this id; after a load, the image with the other id. `left`: by interrupted syncs.
CopyReaction with_image(const std::string& id, const std::string& after_load, const std::vector<CopyTree>& left = {}) {
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
      part.entries[0].mode = 0600;
      part.entries[0].size = 100;
      say(self, part);
      say(self, CopyLooked{{}, CopyRoot{0777, 0, "root", "root"}});
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

Value image() { return Value::map({{"name", "local/vllm:1"}, {"from", "n1"}, {"engine", "podman"}}); }

}  // namespace

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
  CHECK(actions[1] == std::vector<CopyImageAction>{kLook, kSpace, kLoad});
  for (const std::size_t place : {0U, 1U}) CHECK(removals_of(bench.nodes[place]) == 1);
  CHECK(removals_of(bench.nodes[2]) == 0);
  CHECK(bench.nodes[1].all<CopyImage>().back().id == kFirst);
  CHECK(actions[2] == std::vector<CopyImageAction>{kLook});
}

TEST_CASE("image run: the work of the engines is reported as progress without bytes") {
  Bench bench(2);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  std::mutex mutex;
  std::vector<std::pair<std::string, TransferPhase>> shown;
  bench.options.progress = [&](const ContentItem&, const std::string& node, const TransferProgress& progress) {
    const std::lock_guard lock(mutex);
    if (progress.phase != TransferPhase::kReceiving) CHECK(progress.total_bytes == 0);
    shown.emplace_back(node, progress.phase);
  };
  bench.run();
  using enum TransferPhase;
  const std::vector<std::pair<std::string, TransferPhase>> expected{
      {"n1", kSaving}, {"n2", kReceiving}, {"n2", kLoading}};
  CHECK(shown == expected);
}

TEST_CASE("image run: no source makes the directory of the archive writable for others") {
  Bench bench(2);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kSent);
  CHECK_FALSE(bench.nodes[1].all<CopyBegin>().at(0).root);
}

namespace {

/// Lacks the image, and fails when it is to receive.
CopyReaction failing_receiver() {
  return [usual = with_image("", kFirst)](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyBegin>(command)) return usual(command, self);
    say(self, CopyFailure{make_error(ErrorCode::kFailed, "the disk is broken")});
    self.ended = true;
  };
}

}  // namespace

TEST_CASE("image run: while a receiver has failed, the source keeps its archive for the next run") {
  Bench bench(3);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = with_image("", kFirst);
  bench.nodes[2].reaction = failing_receiver();
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kSent);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kFailed);
  CHECK(removals_of(bench.nodes[0]) == 0);
  CHECK(bench.nodes[0].all<CopyForget>().empty());
  CHECK(removals_of(bench.nodes[1]) == 1);
  CHECK(removals_of(bench.nodes[2]) == 0);
}

TEST_CASE("image run: an archive that was kept goes once every node has the image") {
  const std::string stage = "/var/lib/sparkplan/images/" + stage_with(kFirst);
  Bench bench(3);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_image(kFirst, "", {{stage, stage, "root", CopyTreeKind::kImage}});
  for (const std::size_t other : {1U, 2U}) bench.nodes[other].reaction = with_image(kFirst, "");
  SECTION("all are there") {
    (void)bench.run();
    CHECK(removals_of(bench.nodes[0]) == 1);
    REQUIRE(bench.nodes[0].all<CopyForget>().size() == 1);
    CHECK(bench.nodes[0].all<CopyForget>()[0].path == stage);
  }
  SECTION("one is in maintenance") {
    bench.cluster.nodes[2].maintenance = true;
    (void)bench.run();
    CHECK(removals_of(bench.nodes[0]) == 0);
  }
}

namespace {

/// As with_image(), with layers: of the image, and how many of the source's are known.
CopyReaction with_layers(const CopyReaction& usual, const std::vector<std::string>& layers, std::int64_t known) {
  return [usual, layers, known](const CopyCommand& command, Peer& self) {
    const auto* image = std::get_if<CopyImage>(&command);
    if (image == nullptr || image->action != CopyImageAction::kLook) return usual(command, self);
    CopyImageState state;
    state.id = layers.empty() ? "" : kFirst;
    state.bytes = 1000;
    state.layers = layers;
    state.known_layers = image->layers.empty() ? 0 : known;
    say(self, state);
  };
}

const std::vector<std::string> kLayers{std::string(64, '1'), std::string(64, '2'), std::string(64, '3')};

/// The number of layers that the source's archive lacks, and that n2 may find lacking.
std::pair<std::int64_t, std::int64_t> left_out_in(Bench& bench) {
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kSent);
  const auto saves = bench.nodes[0].all<CopyImage>();
  const auto loads = bench.nodes[1].all<CopyImage>();
  REQUIRE(saves.back().action == CopyImageAction::kSave);
  REQUIRE(loads.back().action == CopyImageAction::kLoad);
  return {saves.back().left_out, loads.back().left_out};
}

}  // namespace

TEST_CASE("image run: only layers that a receiver lacks are sent") {
  Bench bench(3);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_layers(with_image(kFirst, ""), kLayers, 0);
  bench.nodes[1].reaction = with_layers(with_image("", kFirst), {}, 2);
  // It has the image, so that it is not asked.
  bench.nodes[2].reaction = with_layers(with_image(kFirst, ""), kLayers, 0);
  CHECK(left_out_in(bench) == std::pair<std::int64_t, std::int64_t>(2, 2));
  CHECK(bench.nodes[0].all<CopyImage>().back().id == kFirst);
  CHECK(bench.nodes[1].all<CopyImage>()[1].layers == kLayers);
  CHECK(bench.nodes[2].all<CopyImage>().size() == 1);
}

TEST_CASE("image run: one archive serves all receivers, so that the one with the fewest layers counts") {
  Bench bench(3);
  bench.declare("images", image());
  bench.nodes[0].reaction = with_layers(with_image(kFirst, ""), kLayers, 0);
  bench.nodes[1].reaction = with_layers(with_image("", kFirst), {}, 400);  // A claim beyond the image.
  bench.nodes[2].reaction = with_layers(with_image("", kFirst), {}, 1);
  CHECK(left_out_in(bench) == std::pair<std::int64_t, std::int64_t>(1, 1));
}

TEST_CASE("image run: --verify sends all layers") {
  Bench bench(2);
  bench.declare("images", image());
  bench.options.verify = true;
  bench.nodes[0].reaction = with_layers(with_image(kFirst, ""), kLayers, 0);
  bench.nodes[1].reaction = with_layers(with_image("", kFirst), {}, 2);
  CHECK(left_out_in(bench) == std::pair<std::int64_t, std::int64_t>(0, 0));
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

TEST_CASE("image run: a program that has become a user does not look for another one") {
  Bench bench(1);
  bench.nodes[0].remote.host().user = "nvidia";
  std::vector<Value> records;
  for (const char* engine : {"podman", "podman", "docker"}) {
    const std::string name = "image-" + std::to_string(records.size());
    records.push_back(Value::map({{"name", name}, {"from", "n1"}, {"engine", engine}}));
  }
  bench.cluster.nodes[0].sections.emplace("images", Value::list({records[0], records[1], records[2]}));
  bench.options.dry_run = true;
  bench.nodes[0].reaction = with_image(kFirst, "");
  (void)bench.run();
  std::vector<std::string> owners;
  for (const CopyImage& look : bench.nodes[0].all<CopyImage>()) owners.push_back(look.owner);
  CHECK(owners == std::vector<std::string>{"nvidia", "nvidia", ""});
  CHECK(bench.nodes[0].remote.started() == 2);
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

TEST_CASE(
    "image run: an archive of the same image with another id is removed, and the archive of another image is kept") {
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

TEST_CASE("image run: without a transfer, the looks at all images give a node one total, and the others theirs") {
  Bench bench(3);
  Value images{Value::List{}};
  for (const char* name : {"local/one:1", "local/two:1", "local/three:1"}) {
    images.push_back(Value::map({{"name", name}, {"engine", "podman"}}));
  }
  for (NodeSpec& node : bench.cluster.nodes) node.sections.emplace("images", images);
  for (CopyNode& node : bench.nodes) node.reaction = with_image(kFirst, "");
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (!std::holds_alternative<CopyImage>(command)) return;
    self.on_read = [](Peer& peer) { say(peer, CopyProgress{}); };
  };
  RunOptions run;
  run.agent = options_for(bench.nodes, kMostStarts);
  AnswerPatience patience;
  patience.total = std::chrono::seconds(2);  // The honest nodes need much less, also on a busy machine.
  const auto report = look_at_content(bench.cluster, run, patience);
  REQUIRE(report.items.size() == 3);
  for (const auto& item : report.items) {
    CHECK(item.nodes[1].status == ContentStatus::kUnreachable);
    CHECK(item.nodes[2].status == ContentStatus::kPresent);
  }
  CHECK(bench.nodes[1].all<CopyImage>().size() == 1);
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
