// A node that reports a rank as stopped.
#include <set>
#include <utility>

#include "engine/launch/job_run.h"
#include "engine/remote/transport/transport.h"
#include "engine/report/job_text.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using Ends = std::vector<RankEnded>;

/// In place of the start, the process starter's side reports these ends.
class ForgedEnds final : public Channel {
 public:
  ForgedEnds(std::unique_ptr<Channel> inner, Ends ends) : inner_(std::move(inner)), ends_(std::move(ends)) {}
  Result<std::size_t> read_some(std::string& into, milliseconds patience) override {
    if (forged_.empty()) return inner_->read_some(into, patience);
    into += forged_;
    return std::exchange(forged_, "").size();
  }
  Result<void> write_all(std::string_view bytes, milliseconds deadline) override {
    if (bytes.find("\"start\"") == std::string_view::npos) return inner_->write_all(bytes, deadline);
    for (const RankEnded& ended : ends_) forged_ += *encode_frame(encode(JobAnswer(ended)));
    forged_ += *encode_frame(encode(JobAnswer(JobFinished())));
    return {};
  }
  void close_input() override { inner_->close_input(); }
  std::optional<int> exit_status() override { return inner_->exit_status(); }
  const std::string& standard_error() const override { return inner_->standard_error(); }

 private:
  std::unique_ptr<Channel> inner_;
  Ends ends_;
  std::string forged_;
};

class ForgedConnection final : public Connection {
 public:
  ForgedConnection(std::unique_ptr<Connection> inner, Ends ends) : inner_(std::move(inner)), ends_(std::move(ends)) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    SPARK_TRY(auto channel, inner_->start(program, elevation));
    return std::unique_ptr<Channel>(std::make_unique<ForgedEnds>(std::move(channel), ends_));
  }
  std::string host_key() const override { return inner_->host_key(); }

 private:
  std::unique_ptr<Connection> inner_;
  Ends ends_;
};

RankEnded stopped(int rank) {
  RankEnded ended;
  ended.rank = rank;
  ended.ending = RankEnding::kStopped;
  ended.signal = 15;
  return ended;
}

RankEnded exited(int rank, int code) {
  RankEnded ended;
  ended.rank = rank;
  ended.exit_code = code;
  return ended;
}

/// The report of a node with as many ranks, which reports these ends.
JobReport report_with(const Ends& ends) {
  const auto nodes = test::local_nodes(1);
  StartJob start;
  start.id = "forged-" + std::to_string(::getpid());
  start.together = true;
  std::set<int> ranks;
  for (const RankEnded& ended : ends) {
    if (ranks.insert(ended.rank).second) start.ranks.push_back({ended.rank, {"true"}, {}});
  }
  class Unseen final : public JobOutput {
    Result<void> take(const OutputSource& /*source*/, std::string_view /*bytes*/) override { return {}; }
  } output;
  JobRunOptions options;
  options.command = "run";
  options.together = true;
  options.agent.connector = [&](const NodeSpec& node,
                                const ConnectOptions& connect_options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, connect_options));
    return std::unique_ptr<Connection>(std::make_unique<ForgedConnection>(std::move(connection), ends));
  };
  return run_job({{&nodes[0], start}}, output, options);
}

}  // namespace

TEST_CASE("a node that reports a stop that nobody has asked for is named") {
  const auto report = report_with({stopped(0)});
  REQUIRE(report.nodes[0].error);
  CHECK(report.nodes[0].error->message == "the node reports a stop that nobody has asked for");
  CHECK(to_text(report, {}).find("! spark-01: the node reports a stop") != std::string::npos);
  // A rank that has succeeded is no reason for a stop.
  CHECK(report_with({exited(0, 0), stopped(1)}).nodes[0].error);
}

TEST_CASE("ranks that are stopped because another rank of their node has failed are no fault of the node") {
  const auto report = report_with({exited(0, 3), stopped(1), stopped(2)});
  CHECK_FALSE(report.nodes[0].error);
  const auto text = to_text(report, {});
  CHECK(text.find("rank 0: exit code 3") != std::string::npos);
  CHECK(text.find("rank 1") == std::string::npos);
}

TEST_CASE("a node that reports the end of a rank twice is named, whatever the second one says") {
  const RankEnded second = GENERATE(exited(0, 0), stopped(0), exited(0, 4));
  const auto report = report_with({exited(0, 1), exited(1, 0), second});
  REQUIRE(report.nodes[0].error);
  CHECK(report.nodes[0].error->message == "the node reports the end of a rank twice");
  CHECK(to_text(report, {}).find("! spark-01: the node reports the end of a rank twice") != std::string::npos);
}

}  // namespace sparkplan
