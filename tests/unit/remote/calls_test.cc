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

TEST_CASE("each call sends its request and returns the reply") {
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
  CHECK(client.refresh_facts({{{"ssh_trust", 1}}}));
  CHECK(client.facts().facts.hostname == "spark-01");
  REQUIRE(talk.asked.size() == 8);
  CHECK(std::get<LockRequest>(talk.asked[2]).holder.who == "anna");
  CHECK(std::get<CommitRequest>(talk.asked[4]).audit == "audit");
  CHECK(std::holds_alternative<UnlockRequest>(talk.asked[6]));
  CHECK(std::get<FactsRequest>(talk.asked[7]).exports == std::map<std::string, Value>{{"ssh_trust", 1}});
}

TEST_CASE("an error from the agent arrives completely, and the connection stays usable") {
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

TEST_CASE("a reply to another request is an error") {
  Remote remote;
  remote.add(agent());
  auto client = AgentClient::open(node(), remote.options(), {});
  REQUIRE(client);
  remote.peer(0).on_write = [](Peer& self) { self.output = test::framed(encode(NumberedReply{99, Value::map()})); };
  const auto answer = client->call(PingRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == ErrorCode::kFailed);
}

TEST_CASE("invalid bytes between replies are an error") {
  Remote remote;
  remote.add(agent());
  auto client = AgentClient::open(node(), remote.options(), {});
  REQUIRE(client);
  remote.peer(0).on_write = [](Peer& self) { self.output = std::string("\0\0\0\2{]", 6); };
  const auto answer = client->call(PingRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("does not speak sparkplan's protocol") != std::string::npos);
}

TEST_CASE("a silent agent is unreachable at the deadline, and a lost agent is unreachable too") {
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

TEST_CASE("a reply with fewer outcomes than steps is refused") {
  Conversation talk([](const Request&) -> Result<Value> { return encode(one_done()); });
  const auto applied = talk.client->apply(apply_request({some_step(), some_step()}));
  REQUIRE_FALSE(applied);
  CHECK(applied.error().code == ErrorCode::kFailed);
}

TEST_CASE("a reply that leaves steps undone without a reason is refused") {
  const auto accepted = [](StepOutcome first, StepOutcome second, bool with_error, bool stopped) {
    ApplyReply reply;
    const Error error{ErrorCode::kFailed, "no", {}, std::nullopt, ""};
    reply.results.push_back({{"file", "/etc/a"}, first, with_error ? std::optional(error) : std::nullopt});
    reply.results.push_back({{"file", "/etc/a"}, second, std::nullopt});
    reply.stopped = stopped;
    return check_reply(apply_request({some_step(), some_step()}), reply).has_value();
  };
  using enum StepOutcome;
  CHECK(accepted(kDone, kDone, false, false));
  CHECK(accepted(kFailed, kNotDone, true, false));
  CHECK(accepted(kStale, kUndone, true, false));
  CHECK(accepted(kDone, kNotDone, false, true));
  CHECK_FALSE(accepted(kDone, kNotDone, false, false));
  CHECK_FALSE(accepted(kDone, kUndone, false, false));
  CHECK_FALSE(accepted(kFailed, kDone, false, false));
  CHECK_FALSE(accepted(kDone, kFailed, false, true));
}

TEST_CASE("artifacts of past runs that were not asked for are refused") {
  HistoryReply reply;
  reply.runs.resize(2);
  CHECK(check_reply(HistoryRequest{false}, reply));
  reply.runs.back().artifacts.push_back({"file", {"file", "/etc/a"}, "done", ""});
  CHECK(check_reply(HistoryRequest{true}, reply));
  Conversation talk([&](const Request&) -> Result<Value> { return encode(reply); });
  const auto refused = talk.client->call(HistoryRequest{false});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kFailed);
}

TEST_CASE("a stop interrupts a call before the lock is taken") {
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

TEST_CASE("while the lock is held a stop interrupts no call") {
  Conversation talk(test::answer_usually);
  REQUIRE(talk.client->lock({}));
  talk.stop.request_stop();
  CHECK(talk.client->refresh_facts({}));
  CHECK(talk.client->call(CommitRequest{}));
  CHECK(talk.client->unlock());
}

TEST_CASE("after the unlock a stop interrupts calls again") {
  Conversation talk(test::answer_usually);
  REQUIRE(talk.client->lock({}));
  REQUIRE(talk.client->unlock());
  talk.stop.request_stop();
  talk.remote.peer(0).on_write = [](Peer&) {};
  CHECK(talk.client->call(PingRequest{}).error().code == ErrorCode::kInterrupted);
}

TEST_CASE("a stop during an apply is sent once, and the outcomes are returned") {
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
