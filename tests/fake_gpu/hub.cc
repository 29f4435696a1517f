#include "tests/fake_gpu/hub.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <utility>

namespace sparkplan::test {
namespace {

bool read_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto count = ::recv(socket, at, size, 0);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

bool write_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto count = ::send(socket, at, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool write_blobs(int socket, const Blobs& blobs) {
  for (const auto& blob : blobs) {
    const std::uint64_t size = blob.size();
    if (!write_all(socket, &size, sizeof size) || !write_all(socket, blob.data(), blob.size())) return false;
  }
  return true;
}

bool read_blobs(int socket, std::size_t count, Blobs& blobs) {
  blobs.assign(count, "");
  for (auto& blob : blobs) {
    std::uint64_t size = 0;
    if (!read_all(socket, &size, sizeof size)) return false;
    blob.resize(size);
    if (!read_all(socket, blob.data(), size)) return false;
  }
  return true;
}

void run_hub(int listener) {
  std::vector<int> sockets;
  std::size_t ranks = 1;
  while (sockets.size() < ranks) {
    const int socket = ::accept(listener, nullptr, nullptr);
    std::uint64_t hello[2];  // Rank, number of ranks.
    if (socket < 0 || !read_all(socket, hello, sizeof hello)) return;
    ranks = hello[1];
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockets.push_back(socket);
  }
  // Sockets are in the order of their connections, so each rank sends its number again.
  std::vector<int> by_rank(ranks, -1);
  for (const int socket : sockets) {
    std::uint64_t rank = 0;
    if (!read_all(socket, &rank, sizeof rank)) return;
    by_rank[rank] = socket;
  }
  while (true) {
    std::vector<Blobs> from(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
      if (!read_blobs(by_rank[i], ranks, from[i])) {
        // After one rank has ended, the connections of the other ranks end, as NCCL's do.
        for (const int socket : by_rank) ::shutdown(socket, SHUT_RDWR);
        return;
      }
    }
    for (std::size_t to = 0; to < ranks; ++to) {
      Blobs blobs;
      for (std::size_t i = 0; i < ranks; ++i) blobs.push_back(std::move(from[i][to]));
      if (!write_blobs(by_rank[to], blobs)) return;
    }
  }
}

}  // namespace sparkplan::test
