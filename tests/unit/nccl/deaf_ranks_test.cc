// Ranks that greet, and then take no command, or give few answers.
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/remote/programs/agent_image.h"
#include "engine/verify/levels/nccl_run.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The commands that were written, from one thread.
struct Writes {
  std::vector<milliseconds> limits;
  std::function<void()> on_write = [] {};
};

std::string greeting() {
  utsname machine{};
  ::uname(&machine);
  RankHello hello;
  hello.architecture = machine.machine;
  const auto image = nccl_rank_image(hello.architecture);
  hello.build = image ? image->build : "";
  const auto frame = encode_frame(encode(RankAnswer(hello)));
  REQUIRE(frame);
  return std::string(kPreamble) + *frame;
}

class DeafChannel final : public Channel {
 public:
  DeafChannel(std::string to_read, Writes& writes) : to_read_(std::move(to_read)), writes_(writes) {}

  Result<std::size_t> read_some(std::string& into, milliseconds /*patience*/) override {
    if (input_closed_) return failure(ErrorCode::kNotFound, "end of stream");
    std::this_thread::yield();
    const auto count = to_read_.size();
    into += to_read_;
    to_read_.clear();
    return count;
  }
  /// As a node that grants no window: the time passes.
  Result<void> write_all(std::string_view bytes, milliseconds deadline) override {
    if (bytes == kPreamble) return {};
    writes_.limits.push_back(deadline);
    writes_.on_write();
    const auto end = Clock::now() + std::min(deadline, milliseconds(200));
    while (Clock::now() < end) std::this_thread::yield();
    return failure(ErrorCode::kUnreachable, "the node accepts no more input");
  }
  void close_input() override { input_closed_ = true; }
  std::optional<int> exit_status() override { return std::nullopt; }
  const std::string& standard_error() const override { return nothing_; }

 private:
  std::string to_read_;
  Writes& writes_;
  bool input_closed_ = false;
  std::string nothing_;
};

class DeafConnection final : public Connection {
 public:
  DeafConnection(std::string to_read, Writes& writes) : to_read_(std::move(to_read)), writes_(writes) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram /*program*/, Elevation /*elevation*/) override {
    return std::unique_ptr<Channel>(std::make_unique<DeafChannel>(to_read_, writes_));
  }
  std::string host_key() const override { return ""; }

 private:
  std::string to_read_;
  Writes& writes_;
};

using Answers = std::vector<RankAnswer>;

/// Takes its commands. Each has the next answer at once, and those behind the last answer have none.
class HalfChannel final : public Channel {
 public:
  HalfChannel(std::string to_read, Answers answers, std::atomic<int>& reads)
      : to_read_(std::move(to_read)), answers_(std::move(answers)), reads_(reads) {}

  Result<std::size_t> read_some(std::string& into, milliseconds /*patience*/) override {
    if (input_closed_) return failure(ErrorCode::kNotFound, "end of stream");
    if (answered_ > 0 && to_read_.empty()) ++reads_;
    std::this_thread::yield();
    const auto count = to_read_.size();
    into += to_read_;
    to_read_.clear();
    return count;
  }
  Result<void> write_all(std::string_view bytes, milliseconds /*deadline*/) override {
    if (bytes == kPreamble || answered_ == answers_.size()) return {};
    to_read_ += *encode_frame(encode(answers_[answered_++]));
    return {};
  }
  void close_input() override { input_closed_ = true; }
  std::optional<int> exit_status() override { return std::nullopt; }
  const std::string& standard_error() const override { return nothing_; }

 private:
  std::string to_read_;
  Answers answers_;
  std::atomic<int>& reads_;  ///< After the first answer.
  std::size_t answered_ = 0;
  bool input_closed_ = false;
  std::string nothing_;
};

class HalfConnection final : public Connection {
 public:
  HalfConnection(std::string to_read, Answers answers, std::atomic<int>& reads)
      : to_read_(std::move(to_read)), answers_(std::move(answers)), reads_(reads) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram /*program*/, Elevation /*elevation*/) override {
    return std::unique_ptr<Channel>(std::make_unique<HalfChannel>(to_read_, answers_, reads_));
  }
  std::string host_key() const override { return ""; }

 private:
  std::string to_read_;
  Answers answers_;
  std::atomic<int>& reads_;
};

/// Three ranks of one node. `most_unread`: of their connections.
NcclOutcome run_three(NcclRunOptions options, Writes& writes, std::atomic<std::size_t>& most_unread) {
  const NodeSpec node{*NodeName::parse("spark-01"), 1, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}};
  const std::vector<RankPlace> places(3, RankPlace{&node, 0, "", {}});
  options.agent.reply_timeout = seconds(5);
  const std::string first_words = greeting();
  options.agent.connector = [&](const NodeSpec&, const ConnectOptions& connect) -> Result<std::unique_ptr<Connection>> {
    most_unread = connect.most_unread;
    return std::unique_ptr<Connection>(std::make_unique<DeafConnection>(first_words, writes));
  };
  return run_nccl(places, {{Collective::kAllReduce, {1 << 20}}}, options);
}

}  // namespace

TEST_CASE("a rank that takes no command ends the question within seconds, and is named") {
  Writes writes;
  std::atomic<std::size_t> most_unread = 0;
  NcclRunOptions options;
  options.prepare_timeout = milliseconds(60'000);
  const auto outcome = run_three(options, writes, most_unread);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->trouble == NcclTrouble::kConnection);
  CHECK(outcome.failure->phase == NcclPhase::kPrepare);
  CHECK(outcome.failure->place == 0);
  // The starters of the other ranks' containers end without a sign of life for 20 s.
  REQUIRE(writes.limits.size() == 1);
  CHECK(writes.limits[0] <= milliseconds(5000));
  CHECK(most_unread == kMostUnreadOfRanks);
}

TEST_CASE("the commands to all ranks have the time of their question together") {
  Writes writes;
  std::atomic<std::size_t> most_unread = 0;
  NcclRunOptions options;
  options.prepare_timeout = milliseconds(200);
  const auto outcome = run_three(options, writes, most_unread);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->trouble == NcclTrouble::kSilent);
  REQUIRE(writes.limits.size() == 3);
  CHECK(writes.limits[0] <= milliseconds(200));
  CHECK(writes.limits[1] == milliseconds(0));
}

TEST_CASE("a rank that has answered is read until the last one has, so that its container gets signs of life") {
  const NodeSpec late{*NodeName::parse("spark-01"), 1, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}};
  const NodeSpec fast{*NodeName::parse("spark-02"), 2, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}};
  const std::vector<RankPlace> places{{&late, 0, "", {}}, {&fast, 0, "", {}}};
  std::atomic<int> reads = 0;
  NcclRunOptions options;
  options.agent.reply_timeout = seconds(5);
  options.prepare_timeout = milliseconds(300);
  const std::string first_words = greeting();
  options.agent.connector = [&](const NodeSpec& node, const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    return std::unique_ptr<Connection>(
        std::make_unique<HalfConnection>(first_words, &node == &fast ? Answers{PreparedRank()} : Answers(), reads));
  };
  const auto outcome = run_nccl(places, {{Collective::kAllReduce, {1 << 20}}}, options);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->trouble == NcclTrouble::kSilent);
  CHECK(outcome.failure->place == 0);
  CHECK(reads > 1);
}

TEST_CASE("a rank that sends garbage into NCCL and says nothing is named beside the report of the rank that it hits") {
  std::vector<NodeSpec> nodes;
  for (int i = 1; i <= 3; ++i) {
    nodes.push_back(
        {*NodeName::parse("spark-0" + std::to_string(i)), i, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}});
  }
  const std::vector<RankPlace> places{{&nodes[0], 0, "", {}}, {&nodes[1], 0, "", {}}, {&nodes[2], 0, "", {}}};
  PreparedRank first;
  first.id = std::string(kUniqueIdBytes, 'i');
  const RankFailure hit{RankFault::kNccl, make_error(ErrorCode::kFailed, "unhandled system error"), {}};
  // The first rank is silent from then on.
  const std::vector<Answers> answers{{first}, {PreparedRank(), hit}, {PreparedRank(), JoinedRank()}};
  std::atomic<int> reads = 0;
  NcclRunOptions options;
  options.agent.reply_timeout = seconds(5);
  const std::string first_words = greeting();
  options.agent.connector = [&](const NodeSpec& node, const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    const auto place = static_cast<std::size_t>(&node - nodes.data());
    return std::unique_ptr<Connection>(std::make_unique<HalfConnection>(first_words, answers[place], reads));
  };
  const auto outcome = run_nccl(places, {{Collective::kAllReduce, {1 << 20}}}, options);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->place == 1);
  CHECK(outcome.failure->error.message == "unhandled system error; no answer from spark-01");
}

TEST_CASE("a stop is noticed between the commands to two ranks") {
  Writes writes;
  std::atomic<std::size_t> most_unread = 0;
  std::stop_source stop;
  writes.on_write = [&] { stop.request_stop(); };
  NcclRunOptions options;
  options.prepare_timeout = milliseconds(200);
  options.stop = stop.get_token();
  const auto outcome = run_three(options, writes, most_unread);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->trouble == NcclTrouble::kStopped);
  CHECK(writes.limits.size() == 1);
}

}  // namespace sparkplan
