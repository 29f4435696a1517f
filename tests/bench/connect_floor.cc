// Connects to all given hosts at the same time, starts the agent and waits for its greeting. Every plan has to do at
// least this. The benchmark compares `sparkplan plan` with it.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/remote/transport/transport.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kDeadline{20};

Result<void> greet(const std::string& address, const std::string& user) {
  SPARK_TRY(auto name, NodeName::parse("host"));
  NodeSpec node{std::move(name), 1, address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  node.ssh.user = user;
  SPARK_TRY(const auto connection, connect_ssh(node, {}));
  SPARK_TRY(const auto channel, connection->start(RemoteProgram::kAgent, Elevation::kNone));
  FrameReader reader;
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (std::chrono::steady_clock::now() < end) {
    std::string bytes;
    SPARK_TRY(const auto count, channel->read_some(bytes, std::chrono::seconds(1)));
    static_cast<void>(count);
    reader.feed(bytes);
    SPARK_TRY(const auto message, reader.next());
    if (message) return {};
  }
  return failure(ErrorCode::kUnreachable, "no greeting from " + address);
}

}  // namespace
}  // namespace sparkplan

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s USER ADDRESS...\n", arguments[0]);
    return 1;
  }
  const std::string user = arguments[1];
  const std::vector<std::string> addresses(arguments + 2, arguments + count);
  std::vector<int> failed(addresses.size(), 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto greeted = sparkplan::greet(addresses[i], user);
        if (greeted) return;
        failed[i] = 1;
        std::fprintf(stderr, "%s: %s\n", addresses[i].c_str(), greeted.error().describe().c_str());
      });
    }
  }
  for (const int one : failed) {
    if (one != 0) return 1;
  }
  return 0;
}
