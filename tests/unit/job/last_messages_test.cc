// A program that has finished can no longer be written to, while its last messages wait to be read.
#include <utility>

#include "engine/launch/job_run.h"
#include "engine/remote/transport/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// The stop of the job comes too late: the program has ended by then.
class LateStop final : public Channel {
 public:
  explicit LateStop(std::unique_ptr<Channel> inner) : inner_(std::move(inner)) {}
  Result<std::size_t> read_some(std::string& into, milliseconds patience) override {
    if (kept_.empty()) return inner_->read_some(into, patience);
    into += kept_;
    return std::exchange(kept_, "").size();
  }
  Result<void> write_all(std::string_view bytes, milliseconds deadline) override {
    if (bytes.find("\"stop\"") == std::string_view::npos) return inner_->write_all(bytes, deadline);
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    while (std::chrono::steady_clock::now() < end && inner_->read_some(kept_, milliseconds(50))) continue;
    return failure(ErrorCode::kUnreachable, "the connection broke (write)");
  }
  void close_input() override { inner_->close_input(); }
  std::optional<int> exit_status() override { return inner_->exit_status(); }
  const std::string& standard_error() const override { return inner_->standard_error(); }

 private:
  std::unique_ptr<Channel> inner_;
  std::string kept_;
};

class LateConnection final : public Connection {
 public:
  explicit LateConnection(std::unique_ptr<Connection> inner) : inner_(std::move(inner)) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    SPARK_TRY(auto channel, inner_->start(std::move(program), elevation));
    return std::make_unique<LateStop>(std::move(channel));
  }
  std::string host_key() const override { return inner_->host_key(); }

 private:
  std::unique_ptr<Connection> inner_;
};

}  // namespace

TEST_CASE("a rank that ends before the stop of its job arrives is reported, and its connection is not lost") {
  const auto nodes = test::local_nodes(1);
  StartJob start;
  start.id = "late-" + std::to_string(::getpid());
  start.ranks.push_back({0, {"sh", "-c", "exit 7"}, {}});
  start.grace_ms = 200;
  class Silent final : public JobOutput {
    Result<void> take(const OutputSource&, std::string_view) override { return {}; }
  } output;
  std::stop_source stop;
  stop.request_stop();
  JobRunOptions options;
  options.stop = stop.get_token();
  options.agent.connector = [](const NodeSpec& node,
                               const ConnectOptions& connect_options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, connect_options));
    return std::make_unique<LateConnection>(std::move(connection));
  };
  const auto report = run_job({{&nodes[0], start}}, output, options);
  CHECK_FALSE(report.nodes[0].error);
  REQUIRE(report.nodes[0].ranks.size() == 1);
  REQUIRE(report.nodes[0].ranks[0].ended);
  CHECK(report.nodes[0].ranks[0].ended->exit_code == 7);
}

}  // namespace sparkplan
