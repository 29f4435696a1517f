#include "engine/agent/measure/link_probe.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/ids.h"

namespace sparkplan {
namespace {

constexpr std::uint16_t kEtherType = 0x88B5;
/// A healthy cable loses none of them.
constexpr int kCopies = 3;
/// All nodes have sent before the first one is read: an incoming probe is already on its way.
constexpr int kQuietMs = 100;
/// The time limit, however many frames arrive.
constexpr std::chrono::seconds kLongest{1};
/// The most frames read from one interface before the other interfaces have their turn.
constexpr int kFramesInTurn = 1'000;
constexpr std::size_t kMaxFrame = 2'048;
/// Enough for the probes of a rack. The kernel counts its own memory for a frame, not the bytes of the frame.
constexpr int kBuffer = 8 << 20;

sockaddr_ll at_interface(int index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(kEtherType);
  address.sll_ifindex = index;
  return address;
}

const sockaddr* generic_link(const sockaddr_ll& address) { return reinterpret_cast<const sockaddr*>(&address); }

/// The most bytes of all received probes in the reply: any machine on the cables that knows the token may send any
/// number of them.
constexpr std::size_t kMostReplyBytes = std::size_t{200} << 10;
/// Of one probe in the reply, beside its names.
constexpr std::size_t kReplyOverhead = 40;
/// The interfaces of one sender that one interface can reach through a switch. A machine that has received a name can
/// send any number of others with it.
constexpr std::size_t kMostOfSender = 16;
/// The most pairs of a receiving interface and a sender. 64 interfaces with 256 senders are as many.
constexpr std::size_t kMostPairs = 16'384;

/// True for a name that the kernel gives to an interface.
bool can_be_interface(std::string_view name) {
  constexpr std::size_t kLongestInterface = 15;
  return !name.empty() && name.size() <= kLongestInterface &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

/// "TOKENspark-02\nenp1s0f1np1\n", and padding to Ethernet's smallest frame.
std::optional<ReceivedProbe> probe_in(std::string_view frame, const std::string& token, const std::string& at) {
  if (!frame.starts_with(token)) return std::nullopt;
  frame.remove_prefix(token.size());
  const auto end_of_node = frame.find('\n');
  if (end_of_node == std::string_view::npos) return std::nullopt;
  const auto end = frame.find('\n', end_of_node + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto node = frame.substr(0, end_of_node);
  const auto interface = frame.substr(end_of_node + 1, end - end_of_node - 1);
  // With another name, the controller would refuse the whole reply of this node.
  if (!NodeName::parse(node) || !can_be_interface(interface)) return std::nullopt;
  return ReceivedProbe{at, std::string(node), std::string(interface)};
}

/// Different probes, up to the size of a reply. Each sender has its own room at each interface, which no flood of
/// other frames takes.
class Received {
 public:
  explicit Received(const AwaitedProbes& awaited)
      : awaited_(awaited), senders_(awaited.senders.begin(), awaited.senders.end()) {}

  void add(ReceivedProbe probe) {
    auto found = kept_.find({probe.at, probe.node});
    if (found == kept_.end()) {
      if (!is_awaited(probe.node)) return;
      if (kept_.size() == kMostPairs) return miss(probe.at);
      found = kept_.try_emplace({probe.at, probe.node}).first;
    }
    auto& interfaces = found->second;
    if (std::find(interfaces.begin(), interfaces.end(), probe.interface) != interfaces.end()) return;
    if (interfaces.size() == kMostOfSender) return miss(probe.at);
    interfaces.push_back(std::move(probe.interface));
  }

  /// Notes that probes at that interface may be missing.
  void miss(const std::string& at) { overrun_.insert(at); }

  /// The first probe of each sender, then the second ones, as far as the reply has room.
  ReadLinkProbesReply reply() {
    ReadLinkProbesReply reply;
    std::size_t bytes = 0;
    for (std::size_t turn = 0; turn < kMostOfSender; ++turn) {
      for (const auto& [pair, interfaces] : kept_) {
        if (turn >= interfaces.size()) continue;
        ReceivedProbe probe{pair.first, pair.second, interfaces[turn]};
        const std::size_t size = probe.at.size() + probe.node.size() + probe.interface.size() + kReplyOverhead;
        if (bytes + size > kMostReplyBytes) {
          miss(probe.at);
          continue;
        }
        bytes += size;
        reply.received.push_back(std::move(probe));
      }
    }
    std::sort(reply.received.begin(), reply.received.end());
    reply.overrun.assign(overrun_.begin(), overrun_.end());
    return reply;
  }

 private:
  bool is_awaited(const std::string& name) const {
    return name != awaited_.node && (senders_.empty() || senders_.contains(sha256(name)));
  }

  const AwaitedProbes& awaited_;
  std::set<std::string> senders_;
  /// The receiving interface and the sender -> the sender's interfaces, in the order of arrival.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> kept_;
  std::set<std::string> overrun_;
};

enum class SocketState : std::uint8_t { kEmpty, kHasMore, kBroken };

/// Reads as many frames as one socket may have before the others.
SocketState receive(const LinkProbeSocket& from, const std::string& token, Received& received) {
  std::array<char, kMaxFrame> frame{};
  for (int frames = 0; frames < kFramesInTurn; ++frames) {
    const ssize_t size = ::recv(from.socket.get(), frame.data(), frame.size(), 0);
    if (size < 0 && errno == EINTR) return SocketState::kHasMore;
    if (size < 0) return errno == EAGAIN ? SocketState::kEmpty : SocketState::kBroken;
    auto probe = probe_in({frame.data(), static_cast<std::size_t>(size)}, token, from.interface);
    if (probe) received.add(*std::move(probe));
  }
  return SocketState::kHasMore;
}

/// Source: packet(7), PACKET_STATISTICS.
bool kernel_dropped_frames(const LinkProbeSocket& socket) {
  tpacket_stats counted{};
  socklen_t size = sizeof counted;
  return ::getsockopt(socket.socket.get(), SOL_PACKET, PACKET_STATISTICS, &counted, &size) == 0 && counted.tp_drops > 0;
}

}  // namespace

ReadLinkProbesReply received_probes(std::span<const LinkProbeSocket> sockets, const AwaitedProbes& awaited,
                                    const SteadyTime& now, const FrameLosses& lost) {
  Received received(awaited);
  std::vector<pollfd> waiting;
  for (const LinkProbeSocket& one : sockets) waiting.push_back({one.socket.get(), POLLIN, 0});
  // All awaited probes are in the sockets already: a socket that was empty once has given all of them.
  std::vector<bool> read_out(sockets.size(), false);
  const auto end = now() + kLongest;
  bool quiet = false;
  while (!quiet && now() < end) {
    quiet = ::poll(waiting.data(), waiting.size(), kQuietMs) <= 0;
    for (std::size_t at = 0; at < sockets.size(); ++at) {
      const auto state = waiting[at].revents == 0 ? SocketState::kEmpty : receive(sockets[at], awaited.token, received);
      if (state != SocketState::kHasMore) read_out[at] = true;
      // poll() skips negative descriptors.
      if (state == SocketState::kBroken) waiting[at].fd = -1;
    }
  }
  for (std::size_t at = 0; at < sockets.size(); ++at) {
    if (!read_out[at] || lost(sockets[at])) received.miss(sockets[at].interface);
  }
  return received.reply();
}

Result<LinkProbe> LinkProbe::open(const StartLinkProbeRequest& request) {
  LinkProbe probe;
  probe.token_ = request.token;
  for (const std::string& interface : request.interfaces) {
    const auto index = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (index == 0) {
      probe.send_errors_[interface] = "there is no such interface";
      continue;
    }
    FileDescriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(kEtherType)));
    if (socket.get() < 0) return failure(system_error("open a link probe at " + interface, errno));
    const auto address = at_interface(index);
    if (::bind(socket.get(), generic_link(address), sizeof address) != 0) {
      if (errno == ENODEV) {
        probe.send_errors_[interface] = "the interface disappeared";
        continue;
      }
      return failure(system_error("open a link probe at " + interface, errno));
    }
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
    probe.sockets_.push_back({interface, index, std::move(socket)});
  }
  return probe;
}

void LinkProbe::send(const std::string& node) {
  std::map<std::string, std::string> failed;
  std::set<std::string> sent;
  for (int copy = 0; copy < kCopies; ++copy) {
    for (const LinkProbeSocket& from : sockets_) {
      auto broadcast = at_interface(from.index);
      broadcast.sll_halen = 6;
      std::fill_n(std::begin(broadcast.sll_addr), broadcast.sll_halen, static_cast<unsigned char>(0xFF));
      const std::string frame = token_ + node + "\n" + from.interface + "\n";
      if (::sendto(from.socket.get(), frame.data(), frame.size(), 0, generic_link(broadcast), sizeof broadcast) >= 0) {
        sent.insert(from.interface);
      } else {
        failed[from.interface] = system_error("send a link probe", errno).describe();
      }
    }
  }
  for (auto& [interface, why] : failed) {
    if (!sent.contains(interface)) send_errors_[interface] = std::move(why);
  }
}

ReadLinkProbesReply LinkProbe::read(const std::string& node, const std::vector<std::string>& senders) const {
  auto reply =
      received_probes(sockets_, {token_, node, senders}, std::chrono::steady_clock::now, kernel_dropped_frames);
  reply.send_errors = send_errors_;
  return reply;
}

}  // namespace sparkplan
