// Typed calls on an open conversation.
#include <thread>

#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using test::agent;
using test::node;
using test::own_hello;
using test::Peer;
using test::Remote;

/// A client whose agent answers the facts as usual and everything else with `handler`.
struct Conversation {
  Remote remote;
  std::stop_source stop;
  std::vector<Request> asked;
  Result<AgentClient> client;

  explicit Conversation(test::Handler handler, std::chrono::milliseconds timeout = std::chrono::seconds(20))
      : client(open(std::move(handler), timeout)) {
    REQUIRE(client);
  }

 private:
  Result<AgentClient> open(test::Handler handler, std::chrono::milliseconds timeout) {
    remote.add(agent(own_hello(), [this, handler](const Request& request) {
      asked.push_back(request);
      return asked.size() == 1 ? test::answer_usually(request) : handler(request);
    }));
    auto options = remote.options();
    options.connect.stop = stop.get_token();
    options.reply_timeout = timeout;
    return AgentClient::open(node(), options, {});
  }
};

Step some_step() {
  Step step;
  step.type = "sysctl";
  step.artifact = {"file", "/etc/a"};
  step.before = Absent{};
  step.after = Absent{};
  return step;
}

ApplyRequest apply_request(std::vector<Step> steps) { return {"run", "spark-01", {}, std::move(steps), {}}; }

ApplyReply one_done(bool stopped = false) {
  return ApplyReply{{{{"file", "/etc/a"}, StepOutcome::kDone, {}}}, stopped};
}

std::size_t stops_in(const std::string& written) {
  const auto frame = test::framed(encode(NumberedRequest{0, StopNotice{}}));
  std::size_t count = 0;
  for (auto at = written.find(frame); at != std::string::npos; at = written.find(frame, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("each call sends its request and gives back what was answered") {
  ObservedState observed;
  observed.types["sysctl"].resources["a"] = Absent{};
  Conversation talk([&](const Request& request) -> Result<Value> {
    if (std::holds_alternative<ObserveNodeRequest>(request)) return encode(observed);
    if (std::holds_alternative<ApplyRequest>(request)) return encode(one_done());
    return test::answer_usually(request);
  });
  auto& client = *talk.client;
  const auto seen = client.call(ObserveNodeRequest{{{"sysctl", {"a"}}}});
  REQUIRE(seen);
  CHECK(seen->types.at("sysctl").resources.count("a") == 1);
  CHECK(client.lock({"anna", 1, "apply", "now"}));
  const auto applied = client.apply(apply_request({some_step()}));
  REQUIRE(applied);
  CHECK(applied->results.at(0).outcome == StepOutcome::kDone);
  CHECK(client.call(CommitRequest{"run", "spark-01", {}, {}, "audit"}));
  CHECK(client.call(PingRequest{}));
  CHECK(client.unlock());
  CHECK(client.refresh_facts({{{"ssh_trust", 1}}})->facts.hostname == "spark-01");
  REQUIRE(talk.asked.size() == 8);
  CHECK(std::get<LockRequest>(talk.asked[2]).holder.who == "anna");
  CHECK(std::get<CommitRequest>(talk.asked[4]).audit == "audit");
  CHECK(std::holds_alternative<UnlockRequest>(talk.asked[6]));
  CHECK(std::get<FactsRequest>(talk.asked[7]).exports == std::map<std::string, Value>{{"ssh_trust", 1}});
}

TEST_CASE("an error that the agent answers comes back with everything in it, and the talk goes on") {
  const Error busy{ErrorCode::kBusy, "locked by bert", {"node spark-01", "lock"}, 11, "wait"};
  Conversation talk([&](const Request& request) -> Result<Value> {
    if (std::holds_alternative<LockRequest>(request)) return failure(busy);
    return Value::map();
  });
  const auto locked = talk.client->lock({});
  REQUIRE_FALSE(locked);
  CHECK(locked.error() == busy);
  CHECK(talk.client->call(PingRequest{}));
}

TEST_CASE("an answer to another request is an error") {
  Remote remote;
  remote.add(agent());
  auto client = AgentClient::open(node(), remote.options(), {});
  REQUIRE(client);
  remote.peer(0).on_write = [](Peer& self) { self.output = test::framed(encode(NumberedReply{99, Value::map()})); };
  const auto answer = client->call(PingRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kFailed);
}

TEST_CASE("rubbish in the middle of the talk is an error") {
  Remote remote;
  remote.add(agent());
  auto client = AgentClient::open(node(), remote.options(), {});
  REQUIRE(client);
  remote.peer(0).on_write = [](Peer& self) { self.output = std::string("\0\0\0\2{]", 6); };
  const auto answer = client->call(PingRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("does not speak our protocol") != std::string::npos);
}

TEST_CASE("an agent that falls silent is unreachable at the deadline, and so is one that is gone") {
  Remote remote;
  remote.add(agent());
  auto options = remote.options();
  options.reply_timeout = std::chrono::milliseconds(30);
  auto client = AgentClient::open(node(), options, {});
  REQUIRE(client);
  remote.peer(0).on_write = [](Peer&) {};
  CHECK(client->call(PingRequest{}).error().code == ErrorCode::kUnreachable);
  remote.peer(0).cut = true;
  CHECK(client->call(PingRequest{}).error().code == ErrorCode::kUnreachable);
}

TEST_CASE("an agent that reports on fewer steps than it was given is not believed") {
  Conversation talk([](const Request&) -> Result<Value> { return encode(one_done()); });
  const auto applied = talk.client->apply(apply_request({some_step(), some_step()}));
  REQUIRE_FALSE(applied);
  CHECK(applied.error().code == ErrorCode::kFailed);
}

TEST_CASE("a stop interrupts a call before the lock") {
  Remote remote;
  remote.add(agent());
  std::stop_source stop;
  auto options = remote.options();
  options.connect.stop = stop.get_token();
  auto client = AgentClient::open(node(), options, {});
  REQUIRE(client);
  remote.peer(0).on_write = [&](Peer&) { stop.request_stop(); };  // The peer sends no answer.
  CHECK(client->call(ObserveNodeRequest{}).error().code == ErrorCode::kInterrupted);
  CHECK(stops_in(remote.peer(0).written) == 0);
}

TEST_CASE("under the lock a stop interrupts no call") {
  Conversation talk(test::answer_usually);
  REQUIRE(talk.client->lock({}));
  talk.stop.request_stop();
  CHECK(talk.client->refresh_facts({}));
  CHECK(talk.client->call(CommitRequest{}));
  CHECK(talk.client->unlock());
}

TEST_CASE("after the unlock a stop interrupts again") {
  Conversation talk(test::answer_usually);
  REQUIRE(talk.client->lock({}));
  REQUIRE(talk.client->unlock());
  talk.stop.request_stop();
  talk.remote.peer(0).on_write = [](Peer&) {};
  CHECK(talk.client->call(PingRequest{}).error().code == ErrorCode::kInterrupted);
}

TEST_CASE("a stop during an apply is passed on once, and what was done comes back") {
  Remote remote;
  remote.add(agent());
  std::stop_source stop;
  auto options = remote.options();
  options.connect.stop = stop.get_token();
  auto client = AgentClient::open(node(), options, {});
  REQUIRE(client);
  REQUIRE(client->lock({}));
  int silent_reads = 0;
  auto& peer = remote.peer(0);
  peer.on_write = [](Peer&) {};
  peer.on_read = [&](Peer& self) {
    stop.request_stop();
    // The current step takes time; the client must send the stop only once.
    if (stops_in(self.written) > 0 && ++silent_reads == 3) {
      self.output = test::framed(encode(NumberedReply{3, encode(one_done(true))}));
    }
  };
  const auto applied = client->apply(apply_request({some_step()}));
  REQUIRE(applied);
  CHECK(applied->stopped);
  CHECK(stops_in(peer.written) == 1);
}

}  // namespace sparkplan
