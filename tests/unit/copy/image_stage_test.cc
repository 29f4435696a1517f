// Images in the store of an engine: how it names them, and the record of what a sync has loaded.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/images/image_store.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"
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

TEST_CASE(
    "copy image: an unfinished archive stays in its stage, the next run continues it, and a prune leaves no stage") {
  const ScratchDirectory folder;
  const fs::path stage = folder.path() / ".local/state/sparkplan/images" / std::string(32, 'd');
  const std::string archive = random_text(static_cast<std::size_t>(kCopyChunk) + 1000, 5);
  const auto chunk = static_cast<std::size_t>(kCopyChunk);
  CopyEntry entry;
  entry.path = kImageArchive;
  entry.size = static_cast<std::int64_t>(archive.size());
  test::give_to_this_user(entry);
  entry.digests = copy::packed({copy::digest_of(archive.data(), chunk), copy::digest_of(archive.data() + chunk, 1000)});
  const auto opened = [&] {
    Program program;
    program.send(open_of(stage, CopyTreeKind::kImage));
    const auto answer = program.await<CopyOpened>();
    REQUIRE(answer);
    return *answer;
  };
  // One run: it fetches so many chunks, and then fails.
  const auto fetch = [&](std::size_t chunks) {
    auto tree = copy::Tree::open(stage.string(), CopyTreeKind::kImage);
    auto index = copy::DigestIndex::open(stage.string(), true);
    REQUIRE((tree && index));
    copy::Content content(*tree, *index);
    REQUIRE(content.expect({entry}));
    const auto begun = content.begin(CopyBegin{false, true});
    REQUIRE(begun);
    for (std::size_t i = 0; i < chunks; ++i) {
      const auto wanted = content.take_now();
      REQUIRE(wanted);
      const std::string bytes = archive.substr(wanted->id.chunk * chunk, chunk);
      REQUIRE(content.deliver(*wanted, std::make_shared<std::vector<char>>(bytes.begin(), bytes.end())));
    }
    const bool all = begun->missing_bytes <= static_cast<std::int64_t>(chunks * chunk);
    if (!all) content.fail(make_error(ErrorCode::kUnreachable, "the sender has gone"));
    const auto end = Clock::now() + kEnough;
    while (!content.ended() && Clock::now() < end) content.wait(std::chrono::milliseconds(100));
    CHECK(content.complete() == all);
    return begun->missing_bytes;
  };

  CHECK(opened().partial_bytes == 0);
  CHECK(fetch(1) == entry.size);
  CHECK_FALSE(fs::exists(stage / kImageArchive));
  CHECK(fs::exists(stage / kPartialFolder));
  CHECK(opened().exists);
  // The first chunk was fetched first.
  CHECK(fetch(1) == 1000);
  CHECK(read_file(stage / kImageArchive) == archive);
  CHECK_FALSE(fs::exists(stage / kPartialFolder));

  // As the source, this node saves its own image: the archive of another source may be false. Its own archive stays.
  {
    const auto tree = copy::Tree::open(stage.string(), CopyTreeKind::kImage);
    const auto index = copy::DigestIndex::open(stage.string(), true);
    REQUIRE((tree && index));
    copy::drop_received_archive(*tree, *index);
    CHECK_FALSE(fs::exists(stage / kImageArchive));
  }
  fs::create_directory(folder.path() / "own");
  {
    write_file(folder.path() / "own" / kImageArchive, archive);
    const auto tree = copy::Tree::open((folder.path() / "own").string(), CopyTreeKind::kImage);
    const auto index = copy::DigestIndex::open((folder.path() / "own").string(), true);
    REQUIRE((tree && index));
    copy::drop_received_archive(*tree, *index);
    CHECK(fs::exists(folder.path() / "own" / kImageArchive));
  }
  CHECK(fetch(2) == entry.size);

  {
    Program program;
    CopyOpen open = open_of(stage, CopyTreeKind::kImage);
    open.existing = true;
    program.send(open);
    REQUIRE(program.await<CopyOpened>());
    program.send(CopyPrune{true, false});
    const auto pruned = program.await<CopyPruned>();
    REQUIRE(pruned);
    CHECK(pruned->files == 1);
  }
  Program program;
  program.send(CopyForget{stage.string(), "", CopyTreeKind::kImage, false});
  REQUIRE(program.await<CopyForgotten>());
  CHECK_FALSE(fs::exists(stage));
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
