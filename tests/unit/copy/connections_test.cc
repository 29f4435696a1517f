// Connections that strangers make to a program that serves chunks.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "engine/copy/address.h"
#include "engine/copy/chunk_server.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "engine/core/arrival_limit.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::copy {
namespace {

/// A server of an empty directory needs all of these.
struct ServedFolder {
  test::ScratchDirectory folder;
  Tree tree = *Tree::open(folder.path().string());
  DigestIndex index = *DigestIndex::open(folder.path().string(), false);
  Content content{tree, index};
  Traffic traffic;
};

}  // namespace

TEST_CASE("copy: of a flood of connections, a server takes a bounded number in each moment") {
  ServedFolder served;
  const CopyServe command{1, "127.0.0.1", "127.0.0.1", std::string(kCopyTokenBytes, 't'), ""};
  const auto server = ChunkServer::start(command, served.content, served.traffic);
  REQUIRE(server);
  const auto from = socket_address("127.0.0.2", 0);
  const auto to = socket_address("127.0.0.1", (*server)->port());
  REQUIRE((from && to));
  constexpr int kConnections = 20 * kMostArrivals;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < kConnections; ++i) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket.get(), from->get(), from->size) == 0);
    REQUIRE(::connect(socket.get(), to->get(), to->size) == 0);
    char nothing = 0;
    CHECK(::recv(socket.get(), &nothing, 1, 0) <= 0);
  }
  // The limit has as many windows, and the last one need not end.
  CHECK(std::chrono::steady_clock::now() - begun >= 18 * ArrivalLimit::kWindow);
}

TEST_CASE("copy: a server that is dropped ends its connections, and accepts no more") {
  ServedFolder served;
  const std::string token(kCopyTokenBytes, 't');
  const auto server =
      ChunkServer::start({1, "127.0.0.1", "127.0.0.1", token + token, ""}, served.content, served.traffic);
  REQUIRE(server);
  CHECK((*server)->link() == 1);
  const auto to = socket_address("127.0.0.1", (*server)->port());
  REQUIRE(to);
  const auto connects = [&](const FileDescriptor& socket) {
    return ::connect(socket.get(), to->get(), to->size) == 0 &&
           ::send(socket.get(), token.data(), token.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(token.size());
  };
  // The connection ends although it has shown a token, and asks for nothing.
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connects(socket));
  (*server)->drop();
  pollfd ended{socket.get(), POLLIN, 0};
  REQUIRE(::poll(&ended, 1, 10'000) == 1);
  char nothing = 0;
  CHECK(::recv(socket.get(), &nothing, 1, 0) <= 0);
  // The listener closes soon after.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool is_refused = false;
  while (!is_refused && std::chrono::steady_clock::now() < end) {
    const FileDescriptor late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    is_refused = ::connect(late.get(), to->get(), to->size) != 0;
  }
  CHECK(is_refused);
}

TEST_CASE("copy: as many connections wait at a listener as the kernel allows") {
  auto own = socket_address("127.0.0.1", 0);
  REQUIRE(own);
  const auto listener = listen_at(*own);
  REQUIRE(listener);
  CHECK(port_of(*own) > 0);
  std::ifstream limit("/proc/sys/net/core/somaxconn");
  unsigned most = 0;
  REQUIRE(limit >> most);
  tcp_info info{};
  socklen_t size = sizeof info;
  REQUIRE(::getsockopt(listener->get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
  // Of a listener, this number is the length of its queue.
  CHECK(info.tcpi_sacked == std::min<unsigned>(most, SOMAXCONN));
}

}  // namespace sparkplan::copy
