// A receiver and a sender on this machine's loopback interface: accepted senders, and reported errors.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "engine/agent/measure/echo_packet.h"
#include "engine/agent/measure/fabric_socket.h"
#include "engine/agent/measure/link_probe.h"
#include "engine/agent/measure/measurements.h"
#include "engine/agent/measure/traffic_receiver.h"
#include "engine/core/arrival_limit.h"
#include "engine/core/digest.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/no_threads.h"

namespace sparkplan {
namespace {

const std::string kToken(32, 'a');
const std::string kOtherToken(32, 'b');
const TrafficEndpoint kHere{"127.0.0.1", "lo"};

std::unique_ptr<TrafficReceiver> open_receiver(const std::string& peer = "127.0.0.1") {
  auto receiver = TrafficReceiver::open({kHere, peer, kToken});
  REQUIRE(receiver);
  return std::move(*receiver);
}

MeasureTcpRequest tcp_to(std::int64_t port, const std::string& token = kToken) {
  return {kHere, "127.0.0.1", port, token, 4, 50};
}

bool never() { return false; }

/// Receivers, and the sockets at the far ends of their cables.
struct Cables {
  std::vector<LinkProbeSocket> sockets;
  std::vector<FileDescriptor> far_ends;

  void add(const std::string& interface) {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    sockets.push_back({interface, 1, FileDescriptor(ends[0])});
    far_ends.emplace_back(ends[1]);
  }

  void add_broken(const std::string& interface) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    sockets.push_back({interface, 1, FileDescriptor(ends[0])});
    far_ends.emplace_back(ends[1]);
    REQUIRE(::write(ends[1], "x", 1) == 1);  // The pipe is readable, but not a socket.
  }

  void send(const std::string& frame) const {
    CHECK(::send(far_ends.back().get(), frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size()));
  }
};

const std::string kCall = kToken + "spark-02\nenp1s0f1np1\n";
const std::vector<ReceivedProbe> kHeardCall{{"enp1s0f1np1", "spark-02", "enp1s0f1np1"}};
const AwaitedProbes kAwaited{kToken, "spark-01", {sha256("spark-02"), sha256("spark-03")}};
const std::vector<std::string> kOverrun{"enp1s0f1np1"};

bool nothing_lost(const LinkProbeSocket& /*socket*/) { return false; }

/// Probes with that name and different interfaces.
std::string invented(const std::string& node, int number) {
  return kToken + node + "\ne" + std::to_string(number) + "\n";
}

}  // namespace

TEST_CASE("data sent over several connections arrives and is measured") {
  const auto receiver = open_receiver();
  const auto reply = measure_tcp(tcp_to(receiver->ports().port), never);
  REQUIRE(reply);
  CHECK(reply->outcome == TcpOutcome::kDone);
  CHECK(reply->bytes > 0);
  CHECK(reply->nanoseconds >= 50'000'000);
}

TEST_CASE("a receiver accepts only the peer's address and only with the token") {
  CHECK(measure_tcp(tcp_to(open_receiver()->ports().port, kOtherToken), never)->outcome != TcpOutcome::kDone);
  const auto strict = open_receiver("127.0.0.2");
  CHECK(measure_tcp(tcp_to(strict->ports().port), never)->outcome == TcpOutcome::kBroken);
  REQUIRE(send_datagrams({kHere, "127.0.0.1", strict->ports().datagram_port, kToken, {84}}));
  CHECK(strict->await({{84}, 50}).received.empty());
  const auto receiver = open_receiver();
  REQUIRE(send_datagrams({kHere, "127.0.0.1", receiver->ports().datagram_port, kOtherToken, {84}}));
  CHECK(receiver->await({{84}, 50}).received.empty());
}

TEST_CASE("a receiver waits for datagrams and reports their sizes") {
  const auto receiver = open_receiver();
  REQUIRE(send_datagrams({kHere, "127.0.0.1", receiver->ports().datagram_port, kToken, {1500, 84, 9000}}));
  CHECK(receiver->await({{84, 1500, 9000}, 10'000}).received == std::vector<std::int64_t>{84, 1500, 9000});
}

TEST_CASE("a sender of many other sizes does not spoil the answer of its receiver") {
  const auto receiver = open_receiver();
  const auto port = receiver->ports().datagram_port;
  for (std::int64_t size = 1000; size < 1300; ++size) {
    REQUIRE(send_datagrams({kHere, "127.0.0.1", port, kToken, {size}}));
    CHECK(receiver->await({{size}, 10'000}).received == std::vector<std::int64_t>{size});
  }
  REQUIRE(send_datagrams({kHere, "127.0.0.1", port, kToken, {84}}));
  const auto reply = receiver->await({{84, 9000}, 200});
  CHECK(reply.received == std::vector<std::int64_t>{84});
  CHECK(decode<CloseReceiverReply>(encode(reply)));
}

TEST_CASE("a flood of arrivals at a receiver's socket is read at a bounded rate") {
  ArrivalLimit limit(3);
  const ArrivalLimit::Time begin(std::chrono::hours(1));
  const auto after = [&](int milliseconds) { return begin + std::chrono::milliseconds(milliseconds); };
  int read = 0;
  // An arrival is ready at each moment of one second.
  for (int moment = 0; moment < 1'000; ++moment) {
    if (limit.pause(after(moment)).count() > 0) continue;
    limit.count(after(moment));
    ++read;
  }
  CHECK(read == 300);
  // The pause ends with the window, and is never a wait of zero.
  ArrivalLimit other(1);
  CHECK(other.pause(begin).count() == 0);
  other.count(begin);
  CHECK(other.pause(begin) == ArrivalLimit::kWindow);
  CHECK(other.pause(after(10) - std::chrono::nanoseconds(1)).count() == 1);
  CHECK(other.pause(after(10)).count() == 0);
}

TEST_CASE("a receiver accepts its peer's data after a flood of foreign connections and datagrams") {
  const auto receiver = open_receiver();
  for (int i = 0; i < 200; ++i) {
    CHECK(measure_tcp({kHere, "127.0.0.1", receiver->ports().port, kOtherToken, 1, 1}, never));
    CHECK(send_datagrams({kHere, "127.0.0.1", receiver->ports().datagram_port, kOtherToken, {84, 84, 84, 84}}));
  }
  const auto reply = measure_tcp(tcp_to(receiver->ports().port), never);
  REQUIRE(reply);
  CHECK(reply->outcome == TcpOutcome::kDone);
  REQUIRE(send_datagrams({kHere, "127.0.0.1", receiver->ports().datagram_port, kToken, {1500}}));
  CHECK(receiver->await({{1500}, 10'000}).received == std::vector<std::int64_t>{1500});
}

TEST_CASE("a receiver's silent connections do not shut out those with the token") {
  const auto receiver = open_receiver();
  const auto to = socket_address("127.0.0.1", receiver->ports().port);
  REQUIRE(to);
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 100; ++i) {
    auto socket = open_fabric_socket(kHere, SOCK_STREAM);
    REQUIRE(socket);
    (void)::connect(socket->get(), generic(*to), sizeof *to);
    pollfd connected{socket->get(), POLLOUT, 0};
    CHECK(::poll(&connected, 1, 10'000) == 1);
    silent.push_back(std::move(*socket));
  }
  const auto reply = measure_tcp(tcp_to(receiver->ports().port), never);
  REQUIRE(reply);
  CHECK(reply->outcome == TcpOutcome::kDone);
}

TEST_CASE("probe: an echo reply counts only with the random token of its request") {
  const auto mark = new_echo_mark(7);
  REQUIRE(mark);
  const auto request = echo_request(*mark, 84);
  CHECK(request.size() == 64);
  CHECK(echo_request(*mark, 0).size() == 24);  // The token needs its room.
  CHECK(echo_request(*mark, 9000).size() == 8980);
  const auto reply_with = [&](std::size_t changed, std::size_t size) {
    std::vector<unsigned char> packet(20);
    packet[0] = 0x45;
    packet.insert(packet.end(), request.begin(), request.end());
    packet[20] = 0;  // ICMP_ECHOREPLY
    packet.resize(size);
    if (changed < size) packet[changed] ^= 1U;
    return is_echo_reply(packet, *mark);
  };
  constexpr std::size_t kUnchanged = 1'000;
  CHECK(reply_with(kUnchanged, 84));
  CHECK(reply_with(kUnchanged, 44));
  for (std::size_t at = 24; at < 44; ++at) CHECK_FALSE(reply_with(at, 84));  // The id, the sequence, the token.
  CHECK_FALSE(reply_with(20, 84));
  for (std::size_t size = 0; size < 44; ++size) CHECK_FALSE(reply_with(kUnchanged, size));
  const auto other = new_echo_mark(7);
  REQUIRE(other);
  CHECK(other->token != mark->token);
}

TEST_CASE("verify ssh: a machine that prints without end fails its own login, and the other logins go on") {
  test::FakeNode node;
  int logins = 0;
  node.add_program("runuser", [&](const test::FakeNode::Call& call) -> Result<CommandOutput> {
    ++logins;
    const auto& argv = call.argv;
    if (argv[argv.size() - 2] != "spark-02") return CommandOutput{};
    return failure(ErrorCode::kFailed, "runuser prints more than 4194304 bytes");
  });
  const auto reply = try_logins({"nvidia", {{"spark-02", 22}, {"spark-03", 22}}}, node, never);
  REQUIRE(reply);
  REQUIRE(reply->logins.size() == 2);
  CHECK_FALSE(reply->logins[0].succeeded);
  CHECK(reply->logins[0].complaint == "ssh: runuser prints more than 4194304 bytes");
  CHECK(reply->logins[1].succeeded);
  CHECK(logins == 2);
}

TEST_CASE("a closed port refuses, and a stop ends a measurement early") {
  const auto port = open_receiver()->ports().port;
  const auto refused = measure_tcp(tcp_to(port), never);
  REQUIRE(refused);
  CHECK(refused->outcome == TcpOutcome::kRefused);
  CHECK_FALSE(refused->reason.empty());
  const auto receiver = open_receiver();
  auto long_one = tcp_to(receiver->ports().port);
  long_one.duration_ms = 30'000;
  const auto stopped = measure_tcp(long_one, [] { return true; });
  REQUIRE(stopped);
  CHECK(stopped->nanoseconds < 15'000'000'000);
}

TEST_CASE("a receiver or a sender whose threads cannot start is an error") {
  const auto receiver = open_receiver();
  const test::NoThreads none;
  const auto second = TrafficReceiver::open({kHere, "127.0.0.1", kToken});
  REQUIRE_FALSE(second);
  CHECK(second.error().sys_errno == EAGAIN);
  const auto sent = measure_tcp(tcp_to(receiver->ports().port), never);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().sys_errno == EAGAIN);
}

TEST_CASE("a missing address or interface is an error") {
  CHECK_FALSE(TrafficReceiver::open({{"192.0.2.1", "lo"}, "127.0.0.1", kToken}));
  CHECK_FALSE(TrafficReceiver::open({{"127.0.0.1", "none0"}, "127.0.0.1", kToken}));
  CHECK_FALSE(TrafficReceiver::open({kHere, "nobody", kToken}));
  CHECK_FALSE(measure_tcp({{"192.0.2.1", "lo"}, "127.0.0.1", 1, kToken, 1, 10}, never));
}

TEST_CASE("a missing interface is reported with the reason") {
  auto sockets = LinkProbe::open({{"none0"}, kToken});
  REQUIRE(sockets);
  sockets->send("spark-01");
  const auto reply = sockets->read("spark-01", {});
  CHECK(reply.received.empty());
  CHECK(reply.send_errors == std::map<std::string, std::string>{{"none0", "there is no such interface"}});
}

TEST_CASE("an endless stream of foreign frames does not delay the receiver") {
  Cables cables;
  cables.add("enp1s0f1np1");
  cables.send(kCall);
  // A frame arrives before each poll, so that the receiver is never idle.
  int asked = 0;
  const SteadyTime now = [&] {
    if (++asked < 1'000) cables.send("a frame of somebody else");
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(90) * asked);
  };
  CHECK(received_probes(cables.sockets, kAwaited, now, nothing_lost).received == kHeardCall);
  CHECK(asked < 20);
}

TEST_CASE("link probes: a forged probe with a name that no node can have does not spoil the answer of its receiver") {
  for (const std::string names : {"\nenp1s0f1np1\n", "spark-03\n\n", "spark 03\nenp1s0f1np1\n", "\xff\nenp1s0f1np1\n",
                                  "spark-03\nan-interface-with-a-long-name\n", "spark-03\ne\x1b[2J\n"}) {
    Cables cables;
    cables.add("enp1s0f1np1");
    cables.send(kToken + names);
    cables.send(kToken + std::string(300, 'x') + "\nenp1s0f1np1\n");
    cables.send(kCall);
    const SteadyTime now = [] { return std::chrono::steady_clock::time_point(); };
    CHECK(received_probes(cables.sockets, kAwaited, now, nothing_lost).received == kHeardCall);
  }
}

TEST_CASE("link probes: a flood of forged probes before the awaited ones does not displace them") {
  Cables cables;
  cables.add("enp1s0f1np1");
  int sent = 0;
  const SteadyTime now = [&] {
    if (++sent < 6'000) cables.send(kToken + std::string(50, 'x') + std::to_string(sent) + "\nenp1s0f1np1\n");
    if (sent == 6'000) cables.send(kCall);
    return std::chrono::steady_clock::time_point();
  };
  const auto reply = received_probes(cables.sockets, kAwaited, now, nothing_lost);
  CHECK(reply.received == kHeardCall);
  CHECK(reply.overrun.empty());
}

TEST_CASE("link probes: a flood in the name of one node does not displace the probes of another, and is reported") {
  Cables cables;
  cables.add("enp1s0f1np1");
  int sent = 0;
  const SteadyTime now = [&] {
    if (++sent < 6'000) cables.send(invented("spark-03", sent));
    if (sent == 6'000) cables.send(kCall);
    return std::chrono::steady_clock::time_point();
  };
  const auto reply = received_probes(cables.sockets, kAwaited, now, nothing_lost);
  CHECK(std::count(reply.received.begin(), reply.received.end(), kHeardCall.front()) == 1);
  CHECK(reply.received.size() < 100);
  CHECK(reply.overrun == kOverrun);
}

TEST_CASE("link probes: frames that the kernel dropped, or that were not read in time, are reported") {
  Cables cables;
  cables.add("enp1s0f1np1");
  cables.send(kCall);
  const SteadyTime now = [] { return std::chrono::steady_clock::time_point(); };
  const auto all_lost = [](const LinkProbeSocket&) { return true; };
  const auto dropped = received_probes(cables.sockets, kAwaited, now, all_lost);
  CHECK(dropped.received == kHeardCall);
  CHECK(dropped.overrun == kOverrun);
  cables.send(kCall);
  int asked = 0;
  const SteadyTime late = [&] { return std::chrono::steady_clock::time_point(std::chrono::seconds(2) * asked++); };
  CHECK(received_probes(cables.sockets, kAwaited, late, nothing_lost).overrun == kOverrun);
}

TEST_CASE("link probes: a flood of forged probes fits into the answer of its receiver") {
  // Of a controller that names no senders, and of one whose senders are many.
  const bool any_sender = GENERATE(true, false);
  AwaitedProbes awaited{kToken, "spark-01"};
  if (!any_sender) {
    for (int node = 0; node < 400; ++node)
      awaited.senders.push_back(sha256(std::string(50, 'x') + std::to_string(node)));
  }
  Cables cables;
  cables.add("enp1s0f1np1");
  int sent = 0;
  const SteadyTime now = [&] {
    const int node = any_sender ? sent : sent % 400;
    if (++sent < 6'000) cables.send(invented(std::string(50, 'x') + std::to_string(node), sent));
    return std::chrono::steady_clock::time_point();
  };
  const auto received = received_probes(cables.sockets, awaited, now, nothing_lost);
  CHECK(received.received.size() > 1'000);
  CHECK(received.overrun == kOverrun);
  const auto reply = encode_frame(encode(NumberedReply{1, encode(received)}));
  REQUIRE(reply);
  FrameReader reader;
  reader.feed(std::string(kPreamble) + *reply);
  const auto read = reader.next(kSmallMessage);
  REQUIRE(read);
  CHECK(read->has_value());
}

TEST_CASE("a broken socket does not affect the other sockets") {
  Cables cables;
  cables.add_broken("gone0");
  cables.add("enp1s0f1np1");
  int asked = 0;
  const SteadyTime now = [&] {
    if (++asked == 3) cables.send(kCall);  // After the first poll of both sockets.
    return std::chrono::steady_clock::time_point();
  };
  CHECK(received_probes(cables.sockets, kAwaited, now, nothing_lost).received == kHeardCall);
}

}  // namespace sparkplan
