// The questions to docker before it loads an archive, and the names that it saves.
#include <filesystem>
#include <string>

#include "engine/copy/accounts.h"
#include "engine/copy/images/image_store.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/model/container_image.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"
#include "tests/unit/copy/image_files.h"

namespace sparkplan::copy {

using namespace test;

namespace {

/// A program in the place of an engine, with this answer to `info`. It keeps the arguments of each call.
class EngineProgram {
 public:
  explicit EngineProgram(const std::string& info) {
    write_file(
        path(),
        "#!/bin/sh\necho \"$*\" >>" + calls_file().string() + "\ncase $1 in\ninfo) " + info +
            " ;;\nload) echo Loaded ;;\nsave) while [ \"$1\" != --output ]; do shift; done; : >\"$2\" ;;\nesac\n");
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::filesystem::path path() const { return folder_.path() / "engine"; }
  std::string calls() const { return read_file(calls_file()); }

 private:
  std::filesystem::path calls_file() const { return folder_.path() / "calls"; }
  ScratchDirectory folder_;
};

const std::string kClassicStore = R"(echo '[["Backing Filesystem","extfs"]]')";
const std::string kContainerdStore = R"(echo '[["driver-type","io.containerd.snapshotter.v1"]]')";

}  // namespace

TEST_CASE("image engine: an id that is the digest of a manifest is loaded only by docker with a store of containerd") {
  const ScratchDirectory folder;
  const auto tree = Tree::open(folder.path().string(), CopyTreeKind::kImage);
  REQUIRE(tree);
  write_file(folder.path() / kImageArchive, tar_of(both_files(kConfig)));
  const std::string by_manifest = sha256(manifest_of(kConfig));
  const auto load = [&](const std::string& info, const std::string& id) {
    const EngineProgram docker(info);
    const ImageStore store(ContainerEngine::kDocker, kName, Account(), nullptr, docker.path().string());
    auto loaded = store.load(*tree, folder.path().string(), id, 0);
    CHECK(loaded.has_value() == (docker.calls().find("load --input") != std::string::npos));
    return loaded;
  };
  CHECK(load(kClassicStore, sha256(kConfig)));
  CHECK(load(kContainerdStore, sha256(kConfig)));
  CHECK(load(kContainerdStore, by_manifest));
  const auto refused = load(kClassicStore, by_manifest);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().hint == kStoresOfTwoKinds);
  // No answer is no store of containerd, and no other one either.
  for (const std::string& id : {by_manifest, sha256(kConfig)}) {
    const auto unknown = load("echo no daemon >&2; exit 1", id);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().message.find("docker info ended with 1: no daemon") != std::string::npos);
  }
}

TEST_CASE("image engine: of a name without a tag, docker saves the image that the name means, and not every tag") {
  const auto saved = [](ContainerEngine engine, const std::string& name) {
    const ScratchDirectory folder;
    const auto tree = Tree::open(folder.path().string(), CopyTreeKind::kImage);
    REQUIRE(tree);
    const EngineProgram program(kClassicStore);
    const ImageStore store(engine, name, Account(), nullptr, program.path().string());
    (void)store.save(*tree, folder.path().string(), sha256(kConfig), 0);
    const std::string calls = program.calls();
    return calls.substr(calls.rfind(' ') + 1);
  };
  CHECK(saved(ContainerEngine::kDocker, "local/vllm") == "local/vllm:latest\n");
  CHECK(saved(ContainerEngine::kDocker, "localhost:5000/vllm") == "localhost:5000/vllm:latest\n");
  CHECK(saved(ContainerEngine::kDocker, "local/vllm:1") == "local/vllm:1\n");
  CHECK(saved(ContainerEngine::kPodman, "localhost/vllm") == "localhost/vllm\n");
}

}  // namespace sparkplan::copy
