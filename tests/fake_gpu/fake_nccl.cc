// libnccl.so.2 for tests, used with fake_cuda.cc. Its collectives really move data between processes and machines, over
// TCP through a hub. The hub runs in the process that made the unique id. Environment variables select a fault:
//   FAKE_NCCL=wrong       one element of each result is wrong
//   FAKE_NCCL=hang        from the third operation on, no operation ends
//   FAKE_NCCL=error       the third operation is refused
//   FAKE_NCCL=die         the third operation kills the process
//   FAKE_NCCL=talk        prints to standard output
//   FAKE_NCCL_FAST=A=1    each operation takes three milliseconds more, unless the variable A is 1
//   FAKE_NCCL_VERSION=N   ncclGetVersion()
//   FAKE_NCCL_HCAS=a,b    the log lists these as used
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_gpu/hub.h"

struct FakeStream;
extern "C" void fake_cuda_enqueue(FakeStream* stream, std::function<void()> task);

namespace {

using sparkplan::test::Blobs;
using sparkplan::test::read_blobs;
using sparkplan::test::run_hub;
using sparkplan::test::write_all;
using sparkplan::test::write_blobs;

constexpr int kSuccess = 0;
constexpr int kSystemError = 2;
constexpr int kRemoteError = 6;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void log_line(const std::string& text) {
  const auto path = variable("NCCL_DEBUG_FILE");
  if (path.empty()) return;
  if (std::FILE* file = std::fopen(path.c_str(), "a")) {
    std::fprintf(file, "fake:1:1 [0] NCCL INFO %s\n", text.c_str());
    std::fclose(file);
  }
}

/// The first address of the interface that NCCL_SOCKET_IFNAME names ("=mgmt0"), else of the loopback.
in_addr own_address() {
  auto wanted = variable("NCCL_SOCKET_IFNAME");
  if (!wanted.empty() && wanted[0] == '=') wanted.erase(0, 1);
  in_addr found{htonl(INADDR_LOOPBACK)};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || wanted != one->ifa_name) continue;
    found = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

/// The contents of the unique id.
struct Id {
  in_addr address;
  in_port_t port;
};

struct Communicator {
  int rank = 0;
  int ranks = 0;
  int socket = -1;
  int operations = 0;
  int asynchronous = kSuccess;

  /// Blocks; false when a peer has closed its connection.
  bool exchange(const Blobs& blobs, Blobs& received) {
    return write_blobs(socket, blobs) && read_blobs(socket, static_cast<std::size_t>(ranks), received);
  }
};

struct Transfer {
  const char* send = nullptr;
  char* receive = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};
struct Group {
  Communicator* communicator = nullptr;
  FakeStream* stream = nullptr;
  std::vector<Transfer> transfers;
};
thread_local Group group;

[[noreturn]] void wait_for_ever() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Causes the fault that FAKE_NCCL selects; called before each operation.
int misbehave(Communicator* communicator) {
  const auto fault = variable("FAKE_NCCL");
  if (fault == "talk") std::puts("a plug-in that talks");
  if (++communicator->operations < 3) return kSuccess;
  if (fault == "error") return kSystemError;
  if (fault == "die") ::raise(SIGKILL);
  return kSuccess;
}

/// The additional time of an operation: FAKE_NCCL_FAST names the setting without one. It is longer than other work
/// delays a rank on two busy processors.
std::chrono::milliseconds delay() {
  const auto fast = variable("FAKE_NCCL_FAST");
  const auto sign = fast.find('=');
  if (sign == std::string::npos) return std::chrono::milliseconds(0);
  const bool is_fast = variable(fast.substr(0, sign).c_str()) == fast.substr(sign + 1);
  return std::chrono::milliseconds(is_fast ? 0 : 12);
}

/// Enqueues an exchange; `take` receives the other ranks' data.
int enqueue(Communicator* communicator, FakeStream* stream, std::function<Blobs()> give,
            std::function<void(const Blobs&)> take, char* result, std::size_t elements) {
  if (const int refused = misbehave(communicator); refused != kSuccess) return refused;
  const bool hang = variable("FAKE_NCCL") == "hang" && communicator->operations >= 3;
  const bool wrong = variable("FAKE_NCCL") == "wrong";
  const auto more = delay();
  fake_cuda_enqueue(stream, [=] {
    if (hang) wait_for_ever();
    std::this_thread::sleep_for(more);
    Blobs received;
    if (!communicator->exchange(give(), received)) {
      communicator->asynchronous = kRemoteError;
      wait_for_ever();
    }
    take(received);
    if (wrong && elements > 0) reinterpret_cast<float*>(result)[std::min<std::size_t>(17, elements - 1)] += 1;
  });
  return kSuccess;
}

Blobs to_all(const void* data, std::size_t bytes, int ranks) {
  return Blobs(static_cast<std::size_t>(ranks), std::string(static_cast<const char*>(data), bytes));
}

Blobs in_parts(const void* data, std::size_t bytes, int ranks) {
  Blobs blobs;
  for (int i = 0; i < ranks; ++i) {
    blobs.emplace_back(static_cast<const char*>(data) + bytes * static_cast<std::size_t>(i), bytes);
  }
  return blobs;
}

void sum_up(const Blobs& blobs, void* into) {
  auto* sums = static_cast<float*>(into);
  const auto count = blobs[0].size() / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = 0;
    for (const auto& blob : blobs) {
      float value = 0;
      std::memcpy(&value, blob.data() + i * sizeof value, sizeof value);
      sums[i] += value;
    }
  }
}

void put_in_order(const Blobs& blobs, void* into) {
  auto* at = static_cast<char*>(into);
  for (const auto& blob : blobs) {
    std::memcpy(at, blob.data(), blob.size());
    at += blob.size();
  }
}

void log_transport() {
  const auto hcas = variable("FAKE_NCCL_HCAS");
  if (hcas.empty()) {
    log_line("NET/Socket : Using [0]fake0:10.0.0.1<0>");
    log_line("Using network Socket");
    log_line("Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0");
    return;
  }
  std::string line = "NET/IB : Using";
  std::vector<std::string> channels;
  for (std::size_t begin = 0, number = 0; begin <= hcas.size(); ++number) {
    const auto end = std::min(hcas.find(',', begin), hcas.size());
    line += " [" + std::to_string(number) + "]" + hcas.substr(begin, end - begin) + ":1/RoCE";
    channels.push_back("Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/" + std::to_string(number));
    begin = end + 1;
  }
  log_line(line + " [RO]; OOB fake0:10.0.0.1<0>");
  log_line("Using network IB");
  for (const auto& channel : channels) log_line(channel);
}

}  // namespace

extern "C" {

struct FakeUniqueId {
  char internal[128];
};

int ncclGetVersion(int* version) {
  const auto wanted = variable("FAKE_NCCL_VERSION");
  *version = wanted.empty() ? 22809 : std::stoi(wanted);
  return kSuccess;
}

int ncclGetUniqueId(FakeUniqueId* id) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = own_address();
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return kSystemError;
  }
  const Id place{address.sin_addr, address.sin_port};
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &place, sizeof place);
  std::thread(run_hub, listener).detach();
  return kSuccess;
}

int ncclCommInitRank(Communicator** communicator, int ranks, FakeUniqueId id, int rank) {
  Id place{};
  std::memcpy(&place, id.internal, sizeof place);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = place.address;
  address.sin_port = place.port;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return kSystemError;
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto* made = new Communicator{rank, ranks, socket};
  const std::uint64_t hello[3] = {static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks),
                                  static_cast<std::uint64_t>(rank)};
  Blobs nothing(static_cast<std::size_t>(ranks));
  Blobs received;
  if (!write_all(socket, hello, sizeof hello) || !made->exchange(nothing, received)) return kRemoteError;
  log_transport();
  *communicator = made;
  return kSuccess;
}

int ncclCommDestroy(Communicator* communicator) { return ::close(communicator->socket), kSuccess; }
int ncclCommGetAsyncError(Communicator* communicator, int* status) {
  return *status = communicator->asynchronous, kSuccess;
}
const char* ncclGetErrorString(int status) {
  return status == kRemoteError ? "remote process exited or there was a network error" : "unhandled system error";
}
const char* ncclGetLastError(Communicator*) { return ""; }

int ncclAllReduce(const void* send, void* receive, std::size_t count, int, int, Communicator* communicator,
                  FakeStream* stream) {
  return enqueue(
      communicator, stream, [=] { return to_all(send, count * sizeof(float), communicator->ranks); },
      [=](const Blobs& blobs) { sum_up(blobs, receive); }, static_cast<char*>(receive), count);
}

int ncclReduce(const void* send, void* receive, std::size_t count, int, int, int root, Communicator* communicator,
               FakeStream* stream) {
  const bool receives = communicator->rank == root;
  return enqueue(
      communicator, stream,
      [=] {
        Blobs blobs(static_cast<std::size_t>(communicator->ranks));
        blobs[static_cast<std::size_t>(root)].assign(static_cast<const char*>(send), count * sizeof(float));
        return blobs;
      },
      [=](const Blobs& blobs) {
        if (receives) sum_up(blobs, receive);
      },
      static_cast<char*>(receive), receives ? count : 0);
}

int ncclAllGather(const void* send, void* receive, std::size_t count, int, Communicator* communicator,
                  FakeStream* stream) {
  return enqueue(
      communicator, stream, [=] { return to_all(send, count * sizeof(float), communicator->ranks); },
      [=](const Blobs& blobs) { put_in_order(blobs, receive); }, static_cast<char*>(receive), count);
}

int ncclReduceScatter(const void* send, void* receive, std::size_t count, int, int, Communicator* communicator,
                      FakeStream* stream) {
  return enqueue(
      communicator, stream, [=] { return in_parts(send, count * sizeof(float), communicator->ranks); },
      [=](const Blobs& blobs) { sum_up(blobs, receive); }, static_cast<char*>(receive), count);
}

int ncclBroadcast(const void* send, void* receive, std::size_t count, int, int root, Communicator* communicator,
                  FakeStream* stream) {
  const auto bytes = count * sizeof(float);
  return enqueue(
      communicator, stream,
      [=] {
        return communicator->rank == root ? to_all(send, bytes, communicator->ranks)
                                          : Blobs(static_cast<std::size_t>(communicator->ranks));
      },
      [=](const Blobs& blobs) { std::memcpy(receive, blobs[static_cast<std::size_t>(root)].data(), bytes); },
      static_cast<char*>(receive), count);
}

int ncclGroupStart() {
  group = Group{};
  return kSuccess;
}

int ncclSend(const void* send, std::size_t count, int, int peer, Communicator* communicator, FakeStream* stream) {
  group.communicator = communicator;
  group.stream = stream;
  group.transfers.push_back({static_cast<const char*>(send), nullptr, count * sizeof(float), peer});
  return kSuccess;
}

int ncclRecv(void* receive, std::size_t count, int, int peer, Communicator* communicator, FakeStream* stream) {
  group.communicator = communicator;
  group.stream = stream;
  group.transfers.push_back({nullptr, static_cast<char*>(receive), count * sizeof(float), peer});
  return kSuccess;
}

int ncclGroupEnd() {
  auto* communicator = group.communicator;
  const auto transfers = group.transfers;
  char* result = nullptr;
  std::size_t elements = 0;
  for (const auto& one : transfers) {
    if (result != nullptr || one.receive == nullptr) continue;
    result = one.receive;
    elements = one.bytes / sizeof(float);
  }
  return enqueue(
      communicator, group.stream,
      [=] {
        Blobs blobs(static_cast<std::size_t>(communicator->ranks));
        for (const auto& one : transfers) {
          if (one.send != nullptr) blobs[static_cast<std::size_t>(one.peer)].append(one.send, one.bytes);
        }
        return blobs;
      },
      [=](const Blobs& blobs) {
        for (const auto& one : transfers) {
          if (one.receive != nullptr) {
            std::memcpy(one.receive, blobs[static_cast<std::size_t>(one.peer)].data(), one.bytes);
          }
        }
      },
      result, elements);
}
}
