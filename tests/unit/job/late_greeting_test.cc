// Nodes of one job whose process starters greet at different times.
#include <atomic>
#include <thread>

#include "engine/launch/job_run.h"
#include "engine/remote/transport/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// What the nodes' channels share.
struct Signs {
  std::atomic<bool> kept{false};     ///< Node 1 has received KeepJob.
  std::atomic<bool> started{false};  ///< A node has received StartJob.
};

/// A channel that passes everything on, and notes what the controller sends.
class NotedChannel final : public Channel {
 public:
  NotedChannel(std::unique_ptr<Channel> inner, Signs& signs) : inner_(std::move(inner)), signs_(signs) {}
  Result<std::size_t> read_some(std::string& into, milliseconds patience) override {
    return inner_->read_some(into, patience);
  }
  Result<void> write_all(std::string_view bytes, milliseconds deadline) override {
    if (bytes.find("\"keep\"") != std::string_view::npos) signs_.kept = true;
    if (bytes.find("\"start\"") != std::string_view::npos) signs_.started = true;
    return inner_->write_all(bytes, deadline);
  }
  void close_input() override { inner_->close_input(); }
  std::optional<int> exit_status() override { return inner_->exit_status(); }
  const std::string& standard_error() const override { return inner_->standard_error(); }

 private:
  std::unique_ptr<Channel> inner_;
  Signs& signs_;
};

/// A program that runs and never says anything.
class SilentChannel final : public Channel {
 public:
  Result<std::size_t> read_some(std::string& /*into*/, milliseconds /*patience*/) override {
    std::this_thread::yield();
    return std::size_t{0};
  }
  Result<void> write_all(std::string_view /*bytes*/, milliseconds /*deadline*/) override { return {}; }
  void close_input() override {}
  std::optional<int> exit_status() override { return std::nullopt; }
  const std::string& standard_error() const override { return nothing_; }

 private:
  std::string nothing_;
};

enum class Late { kAfterKeep, kForEver };

class TimedConnection final : public Connection {
 public:
  TimedConnection(std::unique_ptr<Connection> inner, Signs& signs, std::optional<Late> late)
      : inner_(std::move(inner)), signs_(signs), late_(late) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    if (late_ == Late::kForEver) return std::unique_ptr<Channel>(std::make_unique<SilentChannel>());
    if (late_ == Late::kAfterKeep) {
      const auto end = Clock::now() + seconds(20);
      while (!signs_.kept && Clock::now() < end) std::this_thread::yield();
    }
    SPARK_TRY(auto channel, inner_->start(program, elevation));
    return std::unique_ptr<Channel>(std::make_unique<NotedChannel>(std::move(channel), signs_));
  }
  std::string host_key() const override { return inner_->host_key(); }

 private:
  std::unique_ptr<Connection> inner_;
  Signs& signs_;
  std::optional<Late> late_;
};

class Unheard final : public JobOutput {
  Result<void> take(const OutputSource& /*source*/, std::string_view /*bytes*/) override { return {}; }
};

/// Runs `true` on two nodes, as one job. The second node is late.
JobReport run_two(Late late, Signs& signs, JobRunOptions options = {}) {
  const auto nodes = test::local_nodes(2);
  std::vector<NodeJob> jobs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    StartJob start;
    start.id = "greeting-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    start.ranks.push_back({static_cast<int>(i), {"true"}, {}});
    jobs.push_back({&nodes[i], std::move(start)});
  }
  options.command = "run";
  options.together = true;
  options.agent.connector = [&](const NodeSpec& node,
                                const ConnectOptions& connect_options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, connect_options));
    const bool is_late = node.name.str() == "spark-02";
    return std::unique_ptr<Connection>(
        std::make_unique<TimedConnection>(std::move(connection), signs, is_late ? std::optional(late) : std::nullopt));
  };
  Unheard output;
  return run_job(jobs, output, options);
}

}  // namespace

TEST_CASE("while a node of one job greets late, the process starters of the others hear that the controller is there") {
  Signs signs;
  const auto report = run_two(Late::kAfterKeep, signs);
  CHECK(signs.kept);
  for (const JobNodeReport& node : report.nodes) {
    INFO(node.name);
    CHECK_FALSE(node.error);
    REQUIRE(node.ranks.size() == 1);
    CHECK(node.ranks[0].succeeded());
  }
}

TEST_CASE("of one job, a node that does not greet in time fails alone, and nothing is started") {
  Signs signs;
  JobRunOptions options;
  options.greeting = milliseconds(100);
  const auto report = run_two(Late::kForEver, signs, options);
  CHECK_FALSE(signs.started);
  CHECK_FALSE(report.nodes[0].error);
  REQUIRE(report.nodes[1].error);
  CHECK(report.nodes[1].error->code == ErrorCode::kUnreachable);
  CHECK(report.nodes[1].error->message == "the process starter did not start in time");
}

}  // namespace sparkplan
