// Another machine answers in the place of a departed member, after its identity was checked.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::FleetBench;

/// The output of an agent, as if it were of another build.
class OtherBuild final : public Channel {
 public:
  explicit OtherBuild(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    auto count = channel_->read_some(into, patience);
    constexpr std::string_view kBefore = "\"build\":\"";
    if (const auto at = into.find(kBefore); at != std::string::npos) {
      const auto begin = at + kBefore.size();
      const auto size = into.find('"', begin) - begin;
      into.replace(begin, size, size, '0');
    }
    return count;
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    return channel_->write_all(bytes, deadline);
  }
  void close_input() override { channel_->close_input(); }
  std::optional<int> exit_status() override { return channel_->exit_status(); }
  const std::string& standard_error() const override { return channel_->standard_error(); }

 private:
  std::unique_ptr<Channel> channel_;
};

/// A connection to a machine with a host key, which counts the programs that are started there.
class CountingConnection final : public Connection {
 public:
  CountingConnection(std::unique_ptr<Connection> connection, std::string host_key, int& started)
      : connection_(std::move(connection)), host_key_(std::move(host_key)), started_(started) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    ++started_;
    SPARK_TRY(auto channel, connection_->start(program, elevation));
    return std::make_unique<OtherBuild>(std::move(channel));
  }
  std::string host_key() const override { return host_key_; }

 private:
  std::unique_ptr<Connection> connection_;
  std::string host_key_;
  int& started_;
};

}  // namespace

TEST_CASE("departing: another machine in the place of a checked member gets neither an agent nor a password") {
  FleetBench bench(2);
  for (const std::size_t node : {1U, 2U})
    bench.root(node).write("/etc/machine-id", std::string(31, '0') + std::to_string(node));
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  bench.left_out[1] = true;
  bench.options.allow_prune = true;
  bench.run.agent.install = InstallPolicy::kExactBuild;
  int connections = 0;
  int started = 0;
  const auto member = bench.root(2).path();
  bench.run.agent.connector = [&](const NodeSpec& node,
                                  const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connect(node, options));
    if (node.root != member) return connection;
    ++connections;
    return std::make_unique<CountingConnection>(std::move(connection),
                                                connections == 1 ? "SHA256:member" : "SHA256:other", started);
  };
  const auto before = bench.root(2).tree();
  const auto report = bench.apply();
  REQUIRE(report.nodes.size() == 2);
  REQUIRE(report.nodes[1].error);
  CHECK(report.nodes[1].error->message == "another machine answers: its host key is SHA256:other");
  CHECK(connections == 2);
  CHECK(started == 1);
  CHECK(bench.root(2).tree() == before);
}

}  // namespace sparkplan
