// Images in the store of an engine: how it names them, and the record of what a sync has loaded.
#include <optional>

#include "engine/copy/digest_index.h"
#include "engine/copy/images/image_store.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/programs.h"

namespace sparkplan {

using namespace test;

TEST_CASE("copy prune: the record of a loaded image outlives its archive, until the image is removed") {
  const ScratchDirectory folder;
  const fs::path stage = folder.path() / ".local/state/sparkplan/images" / std::string(32, 'b');
  const std::string id(64, 'c');
  {
    auto index = copy::DigestIndex::open(stage.string(), true);
    REQUIRE(index);
    copy::DigestIndex::Origin origin{stage.string(), "", true};
    index->set_origin(origin);
    origin.image = "local/vllm:1";
    origin.image_id = id;
    origin.engine = ContainerEngine::kPodman;
    index->set_origin(origin);
    // A later transfer opens the stage again.
    index->set_origin({stage.string(), "", false});
  }
  const auto recorded = [&]() -> std::optional<CopyTree> {
    Program program;
    program.send(CopyListTrees{});
    const auto trees = program.await<CopyTrees>();
    REQUIRE(trees);
    for (const CopyTree& one : trees->trees) {
      if (one.path == stage.string()) return one;
    }
    return std::nullopt;
  };
  const auto forget = [&](bool image) {
    Program program;
    program.send(CopyForget{stage.string(), "", CopyTreeKind::kImage, image});
    REQUIRE(program.await<CopyForgotten>());
  };
  forget(false);
  const auto kept = recorded();
  REQUIRE(kept);
  CHECK(kept->image == "local/vllm:1");
  CHECK(kept->image_id == id);
  // Without its directory, too, the stage answers; and only the archive is asked for.
  CopyOpen open = open_of(stage, CopyTreeKind::kImage);
  open.existing = true;
  {
    Program program;
    program.send(open);
    REQUIRE(program.await<CopyOpened>());
    program.send(CopyPrune{true, false});
    const auto pruned = program.await<CopyPruned>();
    REQUIRE(pruned);
    CHECK(pruned->files == 0);
  }
  CHECK(recorded());
  forget(true);
  CHECK_FALSE(recorded());
}

TEST_CASE("copy image: the engines print the id with and without its algorithm") {
  const std::string id(64, 'a');
  const auto docker = copy::image_state_from("sha256:" + id + " 1000\n");
  REQUIRE(docker);
  CHECK(docker->id == id);
  CHECK(docker->bytes == 1000);
  const auto podman = copy::image_state_from(id + " 7");
  REQUIRE(podman);
  CHECK(podman->id == id);
  CHECK(podman->layers.empty());
  const auto layered = copy::image_state_from(id + R"( 7 ["sha256:)" + id + "\"]\n");
  REQUIRE(layered);
  CHECK(layered->layers == std::vector<std::string>{id});
  for (const std::string& unknown : std::vector<std::string>{"null", "[]", R"(["sha256:short"])", "[7]", "{"}) {
    const auto state = copy::image_state_from(id + " 7 " + unknown);
    REQUIRE(state);
    CHECK(state->layers.empty());
  }
  for (const std::string& wrong : std::vector<std::string>{"", id, "sha256:short 10", id + " -1", id + " 1 [] 2"}) {
    INFO(wrong);
    CHECK_FALSE(copy::image_state_from(wrong));
  }
}

TEST_CASE("copy image: no name is a flag, a digest or several words") {
  for (const std::string name : {"vllm", "local/vllm:1", "localhost:5000/a/b:v1.0_x"}) CHECK(is_image_name(name));
  for (const std::string name : {"", "-o", "--output=/etc/x", "a b", "a\nb", "a@sha256:0", "A", "a;b", "../x"}) {
    INFO(name);
    CHECK_FALSE(is_image_name(name));
  }
  CopyImage command;
  command.name = "--all";
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
}

}  // namespace sparkplan
