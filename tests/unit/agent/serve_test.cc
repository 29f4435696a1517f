// The agent's side of a connection, over a pair of sockets.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>

#include "engine/agent/session/kernel_release.h"
#include "engine/agent/session/serve.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/agent/state/node_lock.h"
#include "engine/resource/artifact.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/fake_type.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::fake_registry;
using test::knob;
using test::knob_step;
using test::set_to;

const Roster kRoster{"lab", "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10", 1, {}};
const LockHolder kHolder{"anna@laptop", 1, "apply", "now"};

/// An agent that serves a scratch directory on a separate thread, and the controller's end.
class Served {
 public:
  Served() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ours_ = ends[0];
    outcome_ = std::async(std::launch::async, [this, end = ends[1]] {
      auto served = serve(registry_, root.path(), end, end);
      ::close(end);
      return served;
    });
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() { ::close(ours_); }

  void send(std::string_view bytes) const { REQUIRE(try_to_send(bytes)); }
  /// Also for the agent's thread, which must not assert.
  bool try_to_send(std::string_view bytes) const {
    return ::send(ours_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  static std::string frame(std::int64_t id, Request request) {
    return *encode_frame(encode(NumberedRequest{id, std::move(request)}));
  }
  void end_input() const { ::shutdown(ours_, SHUT_WR); }

  /// The agent's next message; nothing at the end of the stream.
  std::optional<Value> receive() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      auto message = reader_.next();
      REQUIRE(message);
      if (*message) return **message;
      pollfd readable{ours_, POLLIN, 0};
      if (::poll(&readable, 1, 100) <= 0) continue;
      std::array<char, 4096> buffer{};
      const auto count = ::read(ours_, buffer.data(), buffer.size());
      if (count <= 0) return std::nullopt;
      reader_.feed({buffer.data(), static_cast<std::size_t>(count)});
    }
    FAIL("the agent did not answer");
    return std::nullopt;
  }
  /// The agent's next reply; progress messages before it are kept.
  NumberedReply reply() {
    auto message = receive();
    while (message && progress_in(*message)) {
      told.push_back(*progress_in(*message));
      message = receive();
    }
    REQUIRE(message);
    auto decoded = decode_reply(*message);
    REQUIRE(decoded);
    return std::move(*decoded);
  }
  Result<Value> ask(Request request) {
    send(frame(next_id_, std::move(request)));
    auto answer = reply();
    CHECK(answer.id == next_id_++);
    return std::move(answer.body);
  }
  /// Completes the hello; the agent is then ready for requests.
  void greet() {
    REQUIRE(receive());
    send(kPreamble);
  }
  Result<void> outcome() {
    REQUIRE(outcome_.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    return outcome_.get();
  }

  test::ScratchDirectory root;
  test::FakeHooks hooks;
  std::vector<std::string> told;

 private:
  Registry registry_ = fake_registry(hooks);
  FrameReader reader_;
  std::int64_t next_id_ = 1;
  int ours_ = -1;
  std::future<Result<void>> outcome_;
};

ApplyRequest apply_request(std::vector<Step> steps) { return {"run-1", "spark-01", kRoster, std::move(steps), {}}; }

}  // namespace

TEST_CASE("an agent sends its hello first") {
  Served agent;
  const auto message = agent.receive();
  REQUIRE(message);
  const auto hello = decode<Hello>(*message);
  REQUIRE(hello);
  CHECK(hello->protocol_major == kProtocolMajor);
  CHECK_FALSE(hello->architecture.empty());
  CHECK(hello->types == std::vector<std::string>{"fake"});
}

TEST_CASE("an agent exits without an error when its input ends, even inside a frame") {
  for (const std::string_view unfinished : {std::string_view(), std::string_view("\0\0\0\x10{", 5)}) {
    Served agent;
    agent.greet();
    agent.send(unfinished);
    agent.end_input();
    CHECK(agent.outcome());
  }
}

TEST_CASE("requests received before the end of input are answered") {
  Served agent;
  agent.greet();
  agent.send(Served::frame(1, PingRequest{}) + Served::frame(2, FactsRequest{}) + Served::frame(3, PingRequest{}));
  agent.end_input();
  for (const std::int64_t id : {1, 2, 3}) CHECK(agent.reply().id == id);
  CHECK_FALSE(agent.receive());
  CHECK(agent.outcome());
}

TEST_CASE("an agent with a patience ends behind a silent connection") {
  Served agent;
  agent.greet();
  FactsRequest request;
  request.patience_ms = 50;
  REQUIRE(agent.ask(request));
  CHECK_FALSE(agent.receive());
  CHECK(agent.outcome());
}

TEST_CASE("a password before the preamble is ignored as noise") {
  Served agent;
  REQUIRE(agent.receive());
  agent.send("hunter2\n" + std::string(kPreamble) + Served::frame(1, PingRequest{}));
  CHECK(agent.reply().id == 1);
}

TEST_CASE("invalid bytes end the agent with an error") {
  for (const auto& rubbish :
       {std::string(kPreamble) + std::string("\0\0\0\2{]", 6), std::string(kMaxNoiseBytes + 100, 'x'),
        std::string(kPreamble) + *encode_frame(Value::map({{"request", "nonsense"}}))}) {
    Served agent;
    REQUIRE(agent.receive());
    agent.send(rubbish);
    const auto outcome = agent.outcome();
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::kInvalidInput);
    CHECK_FALSE(agent.receive());
  }
}

TEST_CASE("facts of a directory tree report that it is not running, and contain the requested exports") {
  Served agent;
  agent.root.write("/etc/hostname", "golden\n");
  agent.root.write("/etc/os-release", "ID=ubuntu\nPRETTY_NAME=\"Ubuntu 24.04 LTS\"\nVERSION_ID=\"24.04\"\n");
  agent.root.write("/knobs/exported", "a key");
  agent.greet();
  const auto body = agent.ask(FactsRequest{{{"fake", Value()}, {"no-such-type", Value()}}});
  REQUIRE(body);
  const auto reply = decode<FactsReply>(*body);
  REQUIRE(reply);
  CHECK_FALSE(reply->facts.live);
  CHECK(reply->facts.hostname == "golden");
  CHECK(reply->facts.os_name == "Ubuntu 24.04 LTS");
  CHECK(reply->facts.os_id == "ubuntu");
  CHECK(reply->facts.boot_id.empty());
  CHECK(reply->exports == std::map<std::string, Value>{{"fake", "a key"}});
  CHECK_FALSE(reply->manifest);
  CHECK_FALSE(reply->lock_holder);
}

TEST_CASE("resources in the manifest are observed with the facts on request") {
  Served agent;
  agent.root.write("/knobs/a", "1");
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  REQUIRE(agent.ask(ApplyRequest{"r1", "n1", kRoster, {knob_step("a", set_to("1"), set_to("2"))}, {}}));
  const ResourceId id{"fake", "a"};
  REQUIRE(agent.ask(CommitRequest{"r1", "n1", kRoster, {{id, {Value::map({{"value", "2"}}), {knob("a")}}}}, ""}));
  const auto plain = decode<FactsReply>(*agent.ask(FactsRequest{}));
  REQUIRE(plain);
  CHECK(plain->observed.types.empty());
  FactsRequest for_a_plan;
  for_a_plan.observe_managed = true;
  const auto reply = decode<FactsReply>(*agent.ask(for_a_plan));
  REQUIRE(reply);
  REQUIRE(reply->observed.types.contains("fake"));
  CHECK(reply->observed.types.at("fake").resources.contains("a"));
  CHECK(reply->observed.types.size() == 1);
}

TEST_CASE("an observation that does not fit beside the manifest is left out of the facts") {
  Served agent;
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  std::map<ResourceId, ManagedResource> managed;
  for (const std::string name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}) {
    agent.root.write("/knobs/" + name, std::string(1'000'000, 'x'));
    managed[{"fake", name}] = {Value::map({{"value", "2"}}), {knob(name)}};
  }
  REQUIRE(agent.ask(CommitRequest{"r1", "n1", kRoster, managed, ""}));
  FactsRequest for_a_plan;
  for_a_plan.observe_managed = true;
  const auto reply = decode<FactsReply>(*agent.ask(for_a_plan));
  REQUIRE(reply);
  CHECK(reply->observed.types.empty());
  REQUIRE(reply->manifest);
  CHECK(reply->manifest->resources.size() == managed.size());
}

TEST_CASE("a failed export is reported with the facts, which are complete otherwise") {
  Served agent;
  agent.root.write("/etc/hostname", "golden\n");
  agent.greet();
  const auto body = agent.ask(FactsRequest{{{"fake", "broken"}}});
  REQUIRE(body);
  const auto reply = decode<FactsReply>(*body);
  REQUIRE(reply);
  CHECK(reply->facts.hostname == "golden");
  CHECK(reply->exports.empty());
  REQUIRE(reply->export_errors.count("fake") == 1);
  CHECK(reply->export_errors.at("fake").message == "the export is broken");
}

TEST_CASE("observe answers for every requested type, also for one that the agent lacks") {
  Served agent;
  agent.root.write("/knobs/a", "1");
  agent.greet();
  const auto body = agent.ask(ObserveNodeRequest{{{"fake", {"a", "b"}}, {"newer_type", {"c"}}}});
  REQUIRE(body);
  const auto observed = decode<ObservedState>(*body);
  REQUIRE(observed);
  const auto& fake = observed->types.at("fake").resources;
  CHECK(same_state(fake.at("a"), set_to("1")));
  CHECK(same_state(fake.at("b"), Absent{}));
  const auto* error = std::get_if<Error>(&observed->types.at("newer_type").resources.at("c"));
  REQUIRE(error != nullptr);
  CHECK(error->code == ErrorCode::kUnsupported);

  for (const std::string knob : {"d", "e", "f", "g", "h", "i"})
    agent.root.write("/knobs/" + knob, std::string(1'000'000, 'x'));
  const auto large = agent.ask(ObserveNodeRequest{{{"fake", {"d", "e", "f", "g", "h", "i"}}}});
  CHECK(encode_frame(large.value(), kObserveReply));  // The controller refuses a longer reply.
}

TEST_CASE("nothing is applied or committed without the lock") {
  Served agent;
  agent.greet();
  const auto applied = agent.ask(apply_request({knob_step("a", Absent{}, set_to("1"))}));
  REQUIRE_FALSE(applied);
  CHECK(applied.error().code == ErrorCode::kFailed);  // The agent calls it a bug; the controller reports a failure.
  CHECK_FALSE(agent.ask(CommitRequest{"run-1", "spark-01", kRoster, {}, "audit"}));
  REQUIRE(agent.ask(LockRequest{kHolder}));
  REQUIRE(agent.ask(UnlockRequest{}));
  CHECK_FALSE(agent.ask(apply_request({knob_step("a", Absent{}, set_to("1"))})));
  CHECK_FALSE(agent.root.exists("/knobs/a"));
}

TEST_CASE("lock, apply, commit and unlock leave a manifest and a free lock") {
  Served agent;
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  REQUIRE(agent.ask(LockRequest{kHolder}));  // This connection already holds the lock.
  const auto body =
      agent.ask(apply_request({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("2"))}));
  REQUIRE(body);
  const auto applied = decode<ApplyReply>(*body);
  REQUIRE(applied);
  CHECK(applied->results[0].outcome == StepOutcome::kDone);
  CHECK(agent.told == std::vector<std::string>{"fake/a", "fake/b"});
  CommitRequest commit{"run-1", "spark-01", kRoster, {}, "by=anna"};
  commit.resources[{"fake", "a"}] = {Value(1), {knob("a")}};
  REQUIRE(agent.ask(commit));
  REQUIRE(agent.ask(UnlockRequest{}));
  const auto facts = decode<FactsReply>(*agent.ask(FactsRequest{}));
  REQUIRE(facts);
  REQUIRE(facts->manifest);
  CHECK(facts->manifest->node == "spark-01");
  CHECK(facts->manifest->roster == kRoster);
  CHECK(facts->manifest->last_run == "run-1");
  CHECK(facts->manifest->resources.count({"fake", "a"}) == 1);
  CHECK(facts->manifest->artifacts.count(knob("a")) == 1);
  // No resource uses the artifact, but sparkplan wrote it: the next plan must remove it.
  CHECK(facts->manifest->artifacts.count(knob("b")) == 1);
  CHECK_FALSE(facts->lock_holder);
}

TEST_CASE("the facts name another lock holder, and the agent's end frees its lock") {
  Served agent;
  auto node = LocalNode::open(agent.root.path());
  REQUIRE(node);
  {
    const auto lock = NodeLock::acquire(kHolder, *node);
    REQUIRE(lock);
    agent.greet();
    const auto facts = decode<FactsReply>(*agent.ask(FactsRequest{}));
    REQUIRE(facts);
    REQUIRE(facts->lock_holder);
    CHECK(facts->lock_holder->describe() == kHolder.describe());
    CHECK(agent.ask(LockRequest{kHolder}).error().code == ErrorCode::kBusy);
  }
  REQUIRE(agent.ask(LockRequest{kHolder}));
  CHECK_FALSE(NodeLock::acquire(kHolder, *node));
  agent.end_input();
  CHECK(agent.outcome());
  CHECK(NodeLock::acquire(kHolder, *node));
}

TEST_CASE("a stop during an apply ends it after the current step") {
  Served agent;
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  agent.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    const bool sent = artifact != knob("a") || agent.try_to_send(Served::frame(0, StopNotice{}));
    return sent ? std::nullopt : std::optional(Error{ErrorCode::kBug, "the stop was not sent", {}, {}, ""});
  };
  const std::vector<Step> steps{knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))};
  const auto applied = decode<ApplyReply>(*agent.ask(apply_request(steps)));
  REQUIRE(applied);
  CHECK(applied->stopped);
  CHECK(applied->results[0].outcome == StepOutcome::kDone);
  CHECK(applied->results[1].outcome == StepOutcome::kNotDone);
  // The stop applied to the earlier apply only.
  const auto rest = decode<ApplyReply>(*agent.ask(apply_request({steps[1]})));
  REQUIRE(rest);
  CHECK_FALSE(rest->stopped);
  CHECK(rest->results[0].outcome == StepOutcome::kDone);
}

TEST_CASE("a stop that arrives too late does not affect later requests") {
  Served agent;
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  agent.send(Served::frame(0, StopNotice{}));
  const auto applied = decode<ApplyReply>(*agent.ask(apply_request({knob_step("a", Absent{}, set_to("1"))})));
  REQUIRE(applied);
  CHECK_FALSE(applied->stopped);
}

TEST_CASE("a lost controller stops an apply after the current step") {
  Served agent;
  agent.greet();
  REQUIRE(agent.ask(LockRequest{kHolder}));
  agent.hooks.interfere = [&](const ArtifactId&, const Observation&) -> std::optional<Error> {
    agent.end_input();
    return std::nullopt;
  };
  const auto applied = decode<ApplyReply>(
      *agent.ask(apply_request({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))})));
  REQUIRE(applied);
  CHECK(applied->stopped);
  CHECK(agent.root.read("/knobs/a") == "1");
  CHECK_FALSE(agent.root.exists("/knobs/b"));
  CHECK(agent.outcome());
}

TEST_CASE("serve: a kernel that is too old for the agent is named, with the oldest that is not") {
  for (const char* old : {"2.6.32-754.el6.x86_64", "4.19.0-26-amd64", "5.2.21"}) {
    const auto checked = check_kernel(old);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kUnsupported);
    CHECK(checked.error().describe() ==
          "Linux " + std::string(old) + " is too old: the agent needs Linux 5.3 or newer");
  }
  for (const char* fit :
       {"5.3.0", "5.4.0-216-generic", "6.1.0-18-amd64", "6.17.0-1008-nvidia", "10.0", "", "unknown", "6"}) {
    CHECK(check_kernel(fit));
  }
}

}  // namespace sparkplan
