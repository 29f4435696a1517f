// A program that has finished can no longer be written to, while its last messages wait to be read.
#include <thread>
#include <utility>

#include "engine/launch/job_run.h"
#include "engine/remote/transport/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// kNone: none, because the node takes no bytes, and says all the time that it is alive.
enum class LateMessage { kStart, kStop, kNone };

constexpr std::size_t kPieceOfAMessage = 7;

/// A message to the program is reported as lost, because the program has ended by then. A stop came too late; a start
/// arrived. The last messages of the program arrive in pieces.
class LateChannel final : public Channel {
 public:
  LateChannel(std::unique_ptr<Channel> inner, LateMessage late) : inner_(std::move(inner)), late_(late) {}
  Result<std::size_t> read_some(std::string& into, milliseconds patience) override {
    if (talks_) {
      std::this_thread::yield();
      const auto alive = encode_frame(encode(JobAnswer(JobAlive())));
      into += *alive;
      return alive->size();
    }
    if (kept_.empty()) return inner_->read_some(into, patience);
    const std::string piece = kept_.substr(0, kPieceOfAMessage);
    kept_.erase(0, piece.size());
    into += piece;
    return piece.size();
  }
  Result<void> write_all(std::string_view bytes, milliseconds deadline) override {
    talks_ = late_ == LateMessage::kNone && bytes.find("\"start\"") != std::string_view::npos;
    if (talks_) return failure(ErrorCode::kUnreachable, "the node accepts no more input");
    const bool starts = late_ == LateMessage::kStart;
    const bool is_late = bytes.find(starts ? "\"start\"" : "\"stop\"") != std::string_view::npos;
    if (!is_late || starts) SPARK_CHECK(inner_->write_all(bytes, deadline));
    if (!is_late) return {};
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    while (std::chrono::steady_clock::now() < end && inner_->read_some(kept_, milliseconds(50))) continue;
    return failure(ErrorCode::kUnreachable, "the connection broke (write)");
  }
  void close_input() override { inner_->close_input(); }
  std::optional<int> exit_status() override { return inner_->exit_status(); }
  const std::string& standard_error() const override { return inner_->standard_error(); }

 private:
  std::unique_ptr<Channel> inner_;
  LateMessage late_;
  std::string kept_;
  bool talks_ = false;
};

class LateConnection final : public Connection {
 public:
  LateConnection(std::unique_ptr<Connection> inner, LateMessage late) : inner_(std::move(inner)), late_(late) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    SPARK_TRY(auto channel, inner_->start(std::move(program), elevation));
    return std::make_unique<LateChannel>(std::move(channel), late_);
  }
  std::string host_key() const override { return inner_->host_key(); }

 private:
  std::unique_ptr<Connection> inner_;
  LateMessage late_;
};

/// Runs `sh -c "exit 7"` on one node.
JobReport run_with(LateMessage late, std::stop_token stop) {
  const auto nodes = test::local_nodes(1);
  StartJob start;
  start.id = "late-" + std::to_string(::getpid());
  start.ranks.push_back({0, {"sh", "-c", "exit 7"}, {}});
  start.grace_ms = 200;
  class LostOutput final : public JobOutput {
    Result<void> take(const OutputSource&, std::string_view) override { return {}; }
  } output;
  JobRunOptions options;
  options.stop = std::move(stop);
  if (late == LateMessage::kNone) options.silence = milliseconds(300);
  options.agent.connector = [late](const NodeSpec& node,
                                   const ConnectOptions& connect_options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, connect_options));
    return std::make_unique<LateConnection>(std::move(connection), late);
  };
  return run_job({{&nodes[0], start}}, output, options);
}

void check_end(const JobReport& report) {
  CHECK_FALSE(report.nodes[0].error);
  REQUIRE(report.nodes[0].ranks.size() == 1);
  REQUIRE(report.nodes[0].ranks[0].ended);
  CHECK(report.nodes[0].ranks[0].ended->exit_code == 7);
}

}  // namespace

TEST_CASE("a rank that ends before the stop of its job arrives is reported, and its connection is not lost") {
  std::stop_source stop;
  stop.request_stop();
  check_end(run_with(LateMessage::kStop, stop.get_token()));
}

TEST_CASE("a rank that ends while its start is still being written is reported, and its connection is not lost") {
  check_end(run_with(LateMessage::kStart, {}));
}

TEST_CASE("a node that talks and takes no bytes fails in time, and is named") {
  const auto report = run_with(LateMessage::kNone, {});
  REQUIRE(report.nodes[0].error);
  CHECK(report.nodes[0].error->message == "the node accepts no more input");
}

}  // namespace sparkplan
