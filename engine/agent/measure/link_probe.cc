#include "engine/agent/measure/link_probe.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sparkplan {
namespace {

constexpr std::uint16_t kEtherType = 0x88B5;
/// A wire that is in order loses none.
constexpr int kCopies = 3;
/// All nodes have sent before the first one is asked: frames that arrive now are on their way already.
constexpr int kQuietMs = 100;
/// Receiving ends after that time, whatever still comes in.
constexpr std::chrono::seconds kLongest{1};
/// From one interface before the next one is read.
constexpr int kFramesInTurn = 1'000;
constexpr std::size_t kMaxFrame = 2'048;
/// For the frames of a rack of nodes; the kernel counts what it keeps of a frame, not its bytes.
constexpr int kBuffer = 8 << 20;

sockaddr_ll at_interface(int index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(kEtherType);
  address.sll_ifindex = index;
  return address;
}

const sockaddr* generic(const sockaddr_ll& address) { return reinterpret_cast<const sockaddr*>(&address); }

/// "TOKENspark-02\nenp1s0f1np1\n", and what pads a frame to the least that Ethernet carries.
std::optional<CableCall> call_in(std::string_view frame, const std::string& token, const std::string& at) {
  if (!frame.starts_with(token)) return std::nullopt;
  frame.remove_prefix(token.size());
  const auto end_of_node = frame.find('\n');
  if (end_of_node == std::string_view::npos) return std::nullopt;
  const auto end = frame.find('\n', end_of_node + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return CableCall{at, std::string(frame.substr(0, end_of_node)),
                   std::string(frame.substr(end_of_node + 1, end - end_of_node - 1))};
}

/// False when the socket cannot be read any more.
bool take_in(const LinkProbeSocket& at, const std::string& token, const std::string& node, std::set<CableCall>& heard) {
  std::array<char, kMaxFrame> frame{};
  for (int frames = 0; frames < kFramesInTurn; ++frames) {
    const ssize_t size = ::recv(at.socket.get(), frame.data(), frame.size(), 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    auto call = call_in({frame.data(), static_cast<std::size_t>(size)}, token, at.interface);
    if (call && call->node != node) heard.insert(*std::move(call));
  }
  return true;
}

}  // namespace

std::vector<CableCall> calls_heard(std::span<const LinkProbeSocket> sockets, const std::string& token,
                                   const std::string& node, const SteadyTime& now) {
  std::set<CableCall> heard;
  std::vector<pollfd> waiting;
  for (const LinkProbeSocket& one : sockets) waiting.push_back({one.socket.get(), POLLIN, 0});
  const auto end = now() + kLongest;
  while (now() < end && ::poll(waiting.data(), waiting.size(), kQuietMs) > 0) {
    for (std::size_t at = 0; at < sockets.size(); ++at) {
      // poll() passes over what is below 0.
      if (waiting[at].revents != 0 && !take_in(sockets[at], token, node, heard)) waiting[at].fd = -1;
    }
  }
  return {heard.begin(), heard.end()};
}

Result<LinkProbe> LinkProbe::open(const ListenToCablesRequest& request) {
  LinkProbe probe;
  probe.token_ = request.token;
  for (const std::string& interface : request.interfaces) {
    const auto index = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (index == 0) {
      probe.unusable_[interface] = "there is no such interface";
      continue;
    }
    FileDescriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(kEtherType)));
    if (socket.get() < 0) return failure(system_error("listen to the cable at " + interface, errno));
    const auto address = at_interface(index);
    if (::bind(socket.get(), generic(address), sizeof address) != 0) {
      if (errno == ENODEV) {
        probe.unusable_[interface] = "it went away";
        continue;
      }
      return failure(system_error("listen to the cable at " + interface, errno));
    }
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
    probe.sockets_.push_back({interface, index, std::move(socket)});
  }
  return probe;
}

void LinkProbe::call(const std::string& node) {
  std::map<std::string, std::string> failed;
  std::set<std::string> sent;
  for (int copy = 0; copy < kCopies; ++copy) {
    for (const LinkProbeSocket& one : sockets_) {
      auto broadcast = at_interface(one.index);
      broadcast.sll_halen = 6;
      std::fill_n(std::begin(broadcast.sll_addr), broadcast.sll_halen, static_cast<unsigned char>(0xFF));
      const std::string frame = token_ + node + "\n" + one.interface + "\n";
      if (::sendto(one.socket.get(), frame.data(), frame.size(), 0, generic(broadcast), sizeof broadcast) >= 0) {
        sent.insert(one.interface);
      } else {
        failed[one.interface] = system_error("send into the cable", errno).describe();
      }
    }
  }
  for (auto& [interface, why] : failed) {
    if (!sent.contains(interface)) unusable_[interface] = std::move(why);
  }
}

HearCablesReply LinkProbe::hear(const std::string& node) const {
  return HearCablesReply{calls_heard(sockets_, token_, node, std::chrono::steady_clock::now), unusable_};
}

}  // namespace sparkplan
