#include "engine/agent/cable_ears.h"

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
/// Everybody has called before anybody is asked what was heard: what comes now is on its way already.
constexpr int kQuietMs = 100;
/// However many there are, a look ends.
constexpr int kMostFrames = 100'000;
constexpr std::size_t kMaxFrame = 2'048;
/// Of a rack's worth of callers; the kernel counts what it keeps of a frame, not its bytes.
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

}  // namespace

Result<CableEars> CableEars::open(const ListenToCablesRequest& request) {
  CableEars ears;
  ears.token_ = request.token;
  for (const std::string& interface : request.interfaces) {
    const auto index = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (index == 0) {
      ears.mute_[interface] = "there is no such interface";
      continue;
    }
    FileDescriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(kEtherType)));
    if (socket.get() < 0) return failure(system_error("listen to the cable at " + interface, errno));
    const auto address = at_interface(index);
    if (::bind(socket.get(), generic(address), sizeof address) != 0) {
      return failure(system_error("listen to the cable at " + interface, errno));
    }
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
    ears.ears_.push_back({interface, index, std::move(socket)});
  }
  return ears;
}

void CableEars::call(const std::string& node) {
  std::map<std::string, std::string> failed;
  std::set<std::string> sent;
  for (int copy = 0; copy < kCopies; ++copy) {
    for (const Ear& ear : ears_) {
      auto everybody = at_interface(ear.index);
      everybody.sll_halen = 6;
      std::fill_n(std::begin(everybody.sll_addr), everybody.sll_halen, static_cast<unsigned char>(0xFF));
      const std::string frame = token_ + node + "\n" + ear.interface + "\n";
      if (::sendto(ear.socket.get(), frame.data(), frame.size(), 0, generic(everybody), sizeof everybody) >= 0) {
        sent.insert(ear.interface);
      } else {
        failed[ear.interface] = system_error("call into the cable", errno).describe();
      }
    }
  }
  for (auto& [interface, why] : failed) {
    if (!sent.contains(interface)) mute_[interface] = std::move(why);
  }
}

HearCablesReply CableEars::hear(const std::string& node) const {
  std::set<CableCall> heard;
  std::vector<pollfd> waiting;
  for (const Ear& ear : ears_) waiting.push_back({ear.socket.get(), POLLIN, 0});
  int frames = 0;
  while (frames<kMostFrames&& ::poll(waiting.data(), waiting.size(), kQuietMs)> 0) {
    bool anything = false;
    for (const Ear& ear : ears_) {
      std::array<char, kMaxFrame> frame{};
      for (ssize_t size = 0; frames < kMostFrames; ++frames) {
        size = ::recv(ear.socket.get(), frame.data(), frame.size(), 0);
        if (size < 0) break;
        anything = true;
        auto call = call_in({frame.data(), static_cast<std::size_t>(size)}, token_, ear.interface);
        if (call && call->node != node) heard.insert(*std::move(call));
      }
    }
    // An interface that went away meanwhile is ready for ever and has nothing to say.
    if (!anything) break;
  }
  return HearCablesReply{{heard.begin(), heard.end()}, mute_};
}

}  // namespace sparkplan
