// The time limits for a node, whatever it sends before its reply.
#include <thread>

#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::agent;
using test::node;
using test::Peer;
using test::Remote;

constexpr seconds kReply{60};
const RequestClock::Time kBegin{};

Step step_of(const std::string& kind, Phase phase = Phase::kFiles) {
  Step step;
  step.type = "some_type";
  step.artifact = {kind, "/etc/a"};
  step.phase = phase;
  step.before = Absent{};
  step.after = Absent{};
  return step;
}

ApplyRequest apply_of(std::vector<Step> steps, std::int64_t window = 0) {
  ApplyRequest request{"run", "spark-01", {}, std::move(steps), {}};
  request.window_seconds = window;
  return request;
}

milliseconds total_of(const Request& request) { return deadline_of(request, kReply).total; }

/// An agent after its hello; only `on_read` makes it send more. Its next request has the number 2.
struct Talk {
  Remote remote;
  std::vector<std::string> shown;
  Result<AgentClient> client;

  explicit Talk(milliseconds reply_timeout = seconds(20)) : client(open(reply_timeout)) { REQUIRE(client); }

  void answer_with(std::function<void(Peer&)> on_read) {
    remote.peer(0).on_write = [](Peer&) {};
    remote.peer(0).on_read = std::move(on_read);
  }

 private:
  Result<AgentClient> open(milliseconds reply_timeout) {
    remote.add(agent());
    auto options = remote.options();
    options.reply_timeout = reply_timeout;
    options.progress = [this](std::string_view doing) { shown.emplace_back(doing); };
    return AgentClient::open(node(), options, {});
  }
};

std::string progress(std::int64_t id, std::string_view text = "working") {
  return test::framed(encode_progress(id, text));
}

}  // namespace

TEST_CASE("a simple request has the reply timeout, and no signs of life") {
  for (const Request& request :
       std::vector<Request>{PingRequest{}, FactsRequest{}, ObserveNodeRequest{}, EffectRequest{}, ForesightRequest{},
                            CommitRequest{}, UnlockRequest{}, HistoryRequest{}}) {
    const auto deadline = deadline_of(request, kReply);
    CHECK(deadline.total == kReply);
    CHECK(deadline.silence == kReply);
    CHECK(deadline.most_progress == 0);
  }
}

TEST_CASE("a request that may undo something first has five times the timeout, with signs of life") {
  for (const Request& request :
       std::vector<Request>{LockRequest{}, ConfirmRequest{}, RollBackRequest{}, ReleaseRequest{}}) {
    const auto deadline = deadline_of(request, kReply);
    CHECK(deadline.total == minutes(5));
    CHECK(deadline.silence == minutes(2));
    CHECK(deadline.most_progress == 130);
  }
}

TEST_CASE("an apply has the sum of its steps' deadlines") {
  CHECK(total_of(apply_of({})) == minutes(5));
  CHECK(total_of(apply_of({step_of("file"), step_of("block")})) == minutes(5) + seconds(20));
  CHECK(total_of(apply_of({step_of("unit"), step_of("file")})) == minutes(10) + seconds(10));
  CHECK(total_of(apply_of({step_of("package", Phase::kPackages)})) == minutes(65));
  const auto deadline = deadline_of(apply_of({step_of("unit"), step_of("unit")}), kReply);
  CHECK(deadline.silence == minutes(5));
  CHECK(deadline.most_progress == 100 + 2 * 2 + 15 * 6);
}

TEST_CASE("an apply ends within an hour, and within two hours with packages, whatever its steps") {
  CHECK(total_of(apply_of(std::vector<Step>(1000, step_of("unit")))) == hours(1));
  CHECK(total_of(apply_of(std::vector<Step>(1000, step_of("file")))) == hours(1));
  CHECK(total_of(apply_of(std::vector<Step>(10, step_of("package", Phase::kPackages)))) == hours(2));
}

TEST_CASE("steps on trial have two fifths of the window as deadline, because other nodes on trial wait") {
  CHECK(total_of(apply_of(std::vector<Step>(100, step_of("link")), 90)) == seconds(36));
}

TEST_CASE("the total deadline ends despite signs of life") {
  RequestClock clock({seconds(30), seconds(10), 1000}, kBegin);
  clock.note_sent(kBegin);
  for (int second = 1; second <= 29; ++second) {
    REQUIRE_FALSE(clock.over(kBegin + seconds(second)));
    REQUIRE(clock.note_progress(kBegin + seconds(second)));
  }
  CHECK(clock.left(kBegin + seconds(29)) == seconds(1));
  CHECK(clock.over(kBegin + seconds(30)));
  const auto error = clock.too_late(kBegin + seconds(30));
  CHECK(error.code == ErrorCode::kUnreachable);
  CHECK(error.message == "the node did not answer within 30 s, although it still reported progress");
}

TEST_CASE("the deadline for silence ends before the total") {
  RequestClock clock({seconds(30), seconds(10), 1000}, kBegin);
  CHECK(clock.left(kBegin) == seconds(10));
  REQUIRE(clock.note_progress(kBegin + seconds(9)));
  CHECK(clock.left(kBegin + seconds(9)) == seconds(10));
  CHECK(clock.over(kBegin + seconds(19)));
  CHECK(clock.too_late(kBegin + seconds(19)).message == "the node did not answer within 10 s");
}

TEST_CASE("at most ten signs of life per second are shown, and too many in total end the request") {
  RequestClock clock({seconds(30), seconds(10), 25}, kBegin);
  int shown = 0;
  for (int i = 0; i < 20; ++i) {
    const auto show = clock.note_progress(kBegin);
    REQUIRE(show);
    shown += *show ? 1 : 0;
  }
  CHECK(shown == 10);
  CHECK(*clock.note_progress(kBegin + seconds(1)));
  for (int i = 0; i < 4; ++i) REQUIRE(clock.note_progress(kBegin + seconds(1)));
  CHECK(clock.note_progress(kBegin + seconds(2)).error().code == ErrorCode::kFailed);
}

TEST_CASE("the agent's activity during an apply is passed on as a sign of life") {
  Talk talk(milliseconds(300));
  int signs = 0;
  talk.answer_with([&](Peer& self) {
    if (!self.output.empty()) return;
    // Each pause is within the patience, their sum far above it.
    std::this_thread::sleep_for(milliseconds(150));
    ++signs;
    self.output = signs <= 4 ? progress(2, "step " + std::to_string(signs))
                             : test::framed(encode(NumberedReply{2, encode(ApplyReply{})}));
  });
  CHECK(talk.client->try_out(apply_of({}), milliseconds(400)));
  REQUIRE(talk.shown.size() == 4);
  CHECK(talk.shown.front() == "step 1");
}

TEST_CASE("signs of life extend a request only to its total deadline") {
  Talk talk(milliseconds(100));
  talk.answer_with([](Peer& self) {
    std::this_thread::sleep_for(milliseconds(20));
    self.output = progress(2);
  });
  const auto begun = std::chrono::steady_clock::now();
  const auto undone = talk.client->call(RollBackRequest{"run", "why"});
  const auto took = std::chrono::steady_clock::now() - begun;
  REQUIRE_FALSE(undone);
  CHECK(undone.error().code == ErrorCode::kUnreachable);
  CHECK(took >= milliseconds(500));
  CHECK(took < seconds(10));
}

TEST_CASE("an unexpected sign of life, or one for another request, is an error") {
  for (const std::int64_t id : {2, 7}) {
    Talk talk;
    talk.answer_with([id](Peer& self) { self.output = progress(id); });
    const auto answer = id == 2 ? talk.client->call(PingRequest{}) : talk.client->lock({});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == ErrorCode::kFailed);
    CHECK(answer.error().message.find("progress") != std::string::npos);
  }
  Remote remote;
  remote.add({}).output = std::string(kPreamble) + progress(0);
  CHECK(AgentClient::open(node(), remote.options(), {}).error().code == ErrorCode::kFailed);
}

TEST_CASE("a flood of signs of life fails the node at once, and at most ten per second are shown") {
  Talk talk;
  talk.answer_with([](Peer& self) {
    for (int i = 0; i < 50; ++i) self.output += progress(2);
  });
  const auto applied = talk.client->apply(apply_of({}));
  REQUIRE_FALSE(applied);
  CHECK(applied.error().code == ErrorCode::kFailed);
  CHECK(talk.shown.size() <= 30);
}

TEST_CASE("the text of a sign of life is one short line") {
  Talk talk;
  bool told = false;
  talk.answer_with([&](Peer& self) {
    self.output = std::exchange(told, true) ? test::framed(encode(NumberedReply{2, encode(ApplyReply{})}))
                                            : progress(2, std::string(1 << 20, 'x') + "\n\x1b[2J");
  });
  CHECK(talk.client->apply(apply_of({})));
  REQUIRE(talk.shown.size() == 1);
  CHECK(talk.shown[0].size() == 300);
}

TEST_CASE("a peer that sends single bytes times out at the deadline, in a frame and before it") {
  const auto byte_by_byte = [](Peer& self) {
    std::this_thread::sleep_for(milliseconds(5));
    self.output += "x";
  };
  SECTION("noise before the preamble") {
    Remote remote;
    remote.add({}).on_read = byte_by_byte;
    auto options = remote.options();
    options.reply_timeout = milliseconds(100);
    CHECK(AgentClient::open(node(), options, {}).error().code == ErrorCode::kUnreachable);
  }
  SECTION("a frame that never ends") {
    Talk talk(milliseconds(100));
    talk.remote.peer(0).output = std::string("\0\1\0\0", 4);
    talk.answer_with(byte_by_byte);
    CHECK(talk.client->call(PingRequest{}).error().code == ErrorCode::kUnreachable);
  }
}

TEST_CASE("the size limit of a reply depends on its request") {
  Talk talk;
  talk.answer_with([](Peer& self) {
    self.output = test::framed(encode(NumberedReply{2, Value(std::string(kSmallMessage.bytes, 'x'))}));
  });
  const auto answer = talk.client->call(PingRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("it announced a message of") != std::string::npos);
}

TEST_CASE("facts and observations that are larger than any honest ones are refused before they arrive") {
  CHECK(reply_limits(FactsRequest{}).bytes == kFactsReply.bytes);
  Talk talk;
  talk.answer_with([](Peer& self) {
    self.output = test::framed(encode(NumberedReply{2, Value(std::string(kObserveReply.bytes, 'x'))}));
  });
  const auto answer = talk.client->call(ObserveNodeRequest{});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("at most " + std::to_string(kObserveReply.bytes)) != std::string::npos);
}

TEST_CASE("an invalid reply gives a short error") {
  Talk talk;
  const std::string name(1 << 20, 'n');
  talk.answer_with([&](Peer& self) {
    const Value types = Value::map({{name, Value(1)}});
    self.output = test::framed(encode(NumberedReply{2, Value::map({{"types", types}})}));
  });
  const auto observed = talk.client->call(ObserveNodeRequest{});
  REQUIRE_FALSE(observed);
  CHECK(observed.error().describe().size() < 16 * 300 + 4096);
}

}  // namespace sparkplan
