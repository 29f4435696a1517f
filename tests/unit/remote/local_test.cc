// The embedded agent as a child process, on a directory used as a node.
#include "engine/core/digest.h"
#include "engine/process/child_process.h"
#include "engine/remote/programs/agent_image.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

NodeSpec local_node(const std::filesystem::path& root) {
  auto spec = test::node();
  spec.transport = TransportKind::kLocal;
  spec.root = root;
  return spec;
}

}  // namespace

TEST_CASE("every embedded agent is an ELF file with a unique build id") {
  REQUIRE_FALSE(agent_architectures().empty());
  for (const auto& architecture : agent_architectures()) {
    const auto image = agent_image(architecture);
    REQUIRE(image);
    CHECK(image->bytes.substr(0, 4) ==
          "\x7f"
          "ELF");
    CHECK(image->build.size() == 40);
    const test::ScratchDirectory scratch;
    scratch.write("/packed", std::string(image->packed));
    const std::string digests = "gzip -dc <" + (scratch / "/packed").string() + " | sha256sum";
    const auto unpacked = run_and_capture(std::vector<std::string>{"sh", "-c", digests});
    REQUIRE(unpacked);
    CHECK(unpacked->standard_output.starts_with(sha256(image->bytes)));
  }
  CHECK_FALSE(agent_image("vax"));
}

TEST_CASE("a directory node is served by this build's agent, which leaves no trace") {
  const test::ScratchDirectory root;
  root.write("/etc/hostname", "golden\n");
  const auto before = root.tree();
  {
    auto client = AgentClient::open(local_node(root.path()), {}, {});
    REQUIRE(client);
    CHECK(client->hello().build == test::own_hello().build);
    CHECK(client->facts().facts.hostname == "golden");
    CHECK_FALSE(client->facts().facts.live);
    CHECK(client->host_key().empty());
    CHECK(client->call(PingRequest{}));
    CHECK(client->call(ObserveNodeRequest{}));
  }
  CHECK(root.tree() == before);
}

TEST_CASE("two clients see each other's locks") {
  const test::ScratchDirectory root;
  auto first = AgentClient::open(local_node(root.path()), {}, {});
  REQUIRE(first);
  REQUIRE(first->lock({"anna@laptop", 1, "apply", "now"}));
  auto second = AgentClient::open(local_node(root.path()), {}, {});
  REQUIRE(second);
  REQUIRE(second->facts().lock_holder);
  CHECK(second->facts().lock_holder->who == "anna@laptop");
  CHECK(second->lock({"bert@desk", 2, "apply", "now"}).error().code == ErrorCode::kBusy);
  REQUIRE(first->unlock());
  CHECK(second->lock({"bert@desk", 2, "apply", "now"}));
}

TEST_CASE("a missing directory is an unreachable node") {
  const test::ScratchDirectory root;
  const auto client = AgentClient::open(local_node(root / "/missing"), {}, {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kUnreachable);
  CHECK(client.error().message.find("missing") != std::string::npos);
}

}  // namespace sparkplan
