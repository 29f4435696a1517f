// The agent's answers about RDMA on a machine without RDMA.
#include "engine/agent/session/session.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/fake_type.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::fake_registry;
using test::FakeHooks;
using test::ScratchDirectory;

ErrorCode refusal(AgentSession& session, const Request& request) {
  const auto reply = session.answer(request);
  REQUIRE_FALSE(reply);
  return reply.error().code;
}

}  // namespace

TEST_CASE("a directory tree has no RDMA device to measure") {
  const ScratchDirectory root;
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  FakeHooks hooks;
  const Registry registry = fake_registry(hooks);
  AgentSession session(
      registry, std::move(*node), [] { return false; }, [](std::string_view) {});
  CHECK(refusal(session, RdmaOpenRequest{"rxe0", 1, "", "10.0.0.1", 1, 65536, 32}) == ErrorCode::kUnsupported);
  CHECK(refusal(session, RdmaCountersRequest{"rxe0", 1, ""}) == ErrorCode::kUnsupported);
}

TEST_CASE("without an open device nothing is connected, written or closed") {
  const ScratchDirectory root;
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  FakeHooks hooks;
  const Registry registry = fake_registry(hooks);
  AgentSession session(
      registry, std::move(*node), [] { return false; }, [](std::string_view) {});
  CHECK(refusal(session, RdmaConnectRequest{1, {}}) == ErrorCode::kNotFound);
  CHECK(refusal(session, RdmaWriteRequest{{1}, 1}) == ErrorCode::kNotFound);
  CHECK(refusal(session, RdmaLatencyRequest{1, true, 1}) == ErrorCode::kNotFound);
  CHECK(refusal(session, RdmaCloseRequest{{1}}) == ErrorCode::kNotFound);
}

}  // namespace sparkplan
