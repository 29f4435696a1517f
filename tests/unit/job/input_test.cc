// Standard input and output of ranks, as `verify --image` speaks with a program in a container.
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/remote/programs/job_client.h"
#include "tests/support/catch.h"
#include "tests/unit/job/fake_engine.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A job of one rank on a local node.
class OneRank {
 public:
  OneRank(std::vector<std::string> argv, bool input, const std::string& engine = "") : nodes_(test::local_nodes(1)) {
    auto opened = JobClient::open(nodes_[0], {});
    REQUIRE(opened);
    client_.emplace(*std::move(opened));
    StartJob start;
    start.id = "test-" + std::to_string(::getpid()) + "-input";
    start.ranks.push_back({0, std::move(argv), {}, input});
    start.grace_ms = 100;
    start.containers.engine = engine;
    REQUIRE(client_->send(start));
  }

  void put(std::string bytes, int rank = 0) { (void)client_->send(RankInput{rank, std::move(bytes)}); }
  void look() { (void)client_->send(LookAtJob{}); }
  void stop() { (void)client_->send(StopJob{}); }
  /// Reads until the output is `text`, or the job has ended.
  std::string output_until(const std::string& text) {
    while (output_ != text && !ended()) read();
    return output_;
  }
  /// Reads until the answer to a look. Returns the output before it.
  std::string output_until_seen() {
    while (!seen && !ended()) read();
    return output_;
  }
  void finish() {
    while (!ended()) read();
  }

  bool finished = false;
  std::optional<JobSeen> seen;
  std::optional<Error> failed;
  std::optional<RankEnded> end;

 private:
  bool ended() const { return finished || failed || Clock::now() > deadline_; }
  void read() {
    auto answer = client_->receive(milliseconds(50));
    if (!answer) {
      failed = answer.error();
    } else if (*answer) {
      if (const auto* output = std::get_if<RankOutput>(&**answer)) output_ += output->bytes;
      if (const auto* looked = std::get_if<JobSeen>(&**answer)) seen = *looked;
      if (const auto* rank = std::get_if<RankEnded>(&**answer)) end = *rank;
      if (const auto* failure = std::get_if<JobFailure>(&**answer)) failed = failure->error;
      finished = finished || std::holds_alternative<JobFinished>(**answer);
    }
  }

  std::vector<NodeSpec> nodes_;
  std::optional<JobClient> client_;
  std::string output_;
  Clock::time_point deadline_ = Clock::now() + seconds(20);
};

}  // namespace

TEST_CASE("a rank with an input reads what arrives for it, in order") {
  OneRank rank({"cat"}, true);
  rank.put("one ");
  rank.put(std::string("t\0o", 3));
  CHECK(rank.output_until(std::string("one t\0o", 7)) == std::string("one t\0o", 7));
  rank.stop();
  rank.finish();
  CHECK(rank.finished);
}

TEST_CASE("a rank without an input reads nothing, and input for it is dropped") {
  OneRank rank({"sh", "-c", "cat; echo end"}, false);
  rank.put("lost");
  CHECK(rank.output_until("end\n") == "end\n");
  rank.finish();
  CHECK(rank.finished);
}

TEST_CASE("a rank that closes its input goes on until it is stopped") {
  OneRank rank({"sh", "-c", "exec 0<&-; echo closed; exec sleep " + test::unique_sleep()}, true);
  CHECK(rank.output_until("closed\n") == "closed\n");
  rank.put("unread");
  rank.stop();
  rank.finish();
  CHECK(rank.finished);
  REQUIRE(rank.end);
  CHECK(rank.end->ending == RankEnding::kStopped);
}

TEST_CASE("the output of a rank does not wait for a look whose container engine does not answer") {
  const test::FakeEngine engine("test -e ../asked || { : >../asked; exec sleep 1000; }; test $1 = ps && ls; true\n");
  OneRank rank({"cat"}, true, "podman");
  rank.look();
  rank.put("meanwhile");
  CHECK(rank.output_until_seen() == "meanwhile");
  REQUIRE(rank.seen);
  CHECK(rank.seen->ranks.size() == 1);
  rank.stop();
  rank.finish();
  CHECK(rank.finished);
}

TEST_CASE("input for a rank that the job does not have fails the job") {
  OneRank rank({"sleep", test::unique_sleep()}, true);
  rank.put("x", 7);
  rank.finish();
  REQUIRE(rank.failed);
  CHECK(rank.failed->message.find("no such rank") != std::string::npos);
}

TEST_CASE("a rank that does not read its input cannot fill the memory of the node") {
  OneRank rank({"sleep", test::unique_sleep()}, true);
  const std::string piece(kJobOutputPiece, 'x');
  for (std::size_t sent = 0; sent < 2 * kMostUnreadInput; sent += piece.size()) rank.put(piece);
  rank.finish();
  REQUIRE(rank.failed);
  CHECK(rank.failed->message.find("does not read its input") != std::string::npos);
}

}  // namespace sparkplan
