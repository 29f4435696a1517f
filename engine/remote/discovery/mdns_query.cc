#include "engine/remote/discovery/mdns_query.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <memory>
#include <utility>

#include "engine/core/file_descriptor.h"
#include "engine/model/ipv4.h"
#include "engine/process/child_process.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kService = "_ssh._tcp.local";
constexpr std::chrono::milliseconds kAnswersArriveIn{2500};
constexpr std::chrono::milliseconds kAnswerPause{100};

bool send_question(const FileDescriptor& socket, const MdnsDestination& destination) {
  in_addr from{};
  ::inet_pton(AF_INET, destination.from.c_str(), &from);
  // Answers from other networks would name addresses that this machine cannot reach.
  const unsigned char hops = 1;
  ::setsockopt(socket.get(), IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof from);
  ::setsockopt(socket.get(), IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(destination.port);
  if (::inet_pton(AF_INET, destination.address.c_str(), &to.sin_addr) != 1) return false;
  const auto question = encode_mdns_query(kService);
  const auto sent =
      ::sendto(socket.get(), question.data(), question.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return sent == static_cast<ssize_t>(question.size());
}

void receive(const FileDescriptor& socket, std::vector<AnnouncedHost>& into) {
  std::array<char, 9000> buffer{};
  const auto size = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) return;
  const auto hosts = decode_mdns_answer({buffer.data(), static_cast<std::size_t>(size)}, kService);
  if (hosts) into.insert(into.end(), hosts->begin(), hosts->end());
  // A flood of answers must not fill the memory.
  if (into.size() > 2 * kMostAnnouncedHosts) into = merged(into);
}

}  // namespace

std::vector<MdnsDestination> mdns_destinations() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<MdnsDestination> destinations;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool usable = (one->ifa_flags & (IFF_UP | IFF_MULTICAST)) == (IFF_UP | IFF_MULTICAST) &&
                        (one->ifa_flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) == 0;
    if (!usable || one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    MdnsDestination destination;
    destination.from = text.data();
    const auto* mask = reinterpret_cast<const sockaddr_in*>(one->ifa_netmask);
    if (mask != nullptr) destination.prefix_length = std::popcount(mask->sin_addr.s_addr);
    destinations.push_back(std::move(destination));
  }
  return destinations;
}

std::vector<std::string> within_networks(const std::vector<std::string>& addresses,
                                         const std::vector<MdnsDestination>& networks) {
  std::vector<std::string> within;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(within), [&](const std::string& address) {
    return std::any_of(networks.begin(), networks.end(), [&](const MdnsDestination& network) {
      return in_one_network(address, network.from, network.prefix_length);
    });
  });
  return within;
}

std::vector<AnnouncedHost> other_hosts(std::vector<AnnouncedHost> hosts, const std::vector<MdnsDestination>& ours) {
  for (AnnouncedHost& host : hosts) {
    std::erase_if(host.addresses, [&](const std::string& address) {
      return std::ranges::any_of(ours, [&](const MdnsDestination& here) { return here.from == address; });
    });
    // Its other addresses belong to its internal networks: a container bridge, a VPN, the fabric.
    host.addresses = within_networks(host.addresses, ours);
  }
  std::erase_if(hosts, [](const AnnouncedHost& host) { return host.addresses.empty(); });
  return hosts;
}

bool may_be_cut(const std::vector<AnnouncedHost>& merged) {
  return merged.size() >= kMostAnnouncedHosts || std::ranges::any_of(merged, [](const AnnouncedHost& host) {
           return host.addresses.size() >= kMostAnnouncedAddresses;
         });
}

Result<std::vector<AnnouncedHost>> ask_mdns(const std::vector<MdnsDestination>& destinations,
                                            std::chrono::milliseconds patience, const std::stop_token& stop) {
  std::vector<FileDescriptor> sockets;
  for (const auto& destination : destinations) {
    FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket.valid() && send_question(socket, destination)) sockets.push_back(std::move(socket));
  }
  if (sockets.empty()) {
    return failure(ErrorCode::kFailed, "this machine has no network for multicast DNS", "name the machines instead");
  }
  std::vector<AnnouncedHost> hosts;
  const auto end = Clock::now() + patience;
  while (Clock::now() < end) {
    if (stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    std::vector<pollfd> readable;
    for (const FileDescriptor& socket : sockets) readable.push_back({socket.get(), POLLIN, 0});
    if (::poll(readable.data(), readable.size(), static_cast<int>(kAnswerPause.count())) <= 0) continue;
    for (const FileDescriptor& socket : sockets) receive(socket, hosts);
  }
  return merged(hosts);
}

Result<SshHosts> find_ssh_hosts(const std::stop_token& stop) {
  const std::vector<std::string> browse{"avahi-browse", "--parsable", "--resolve", "--terminate", "_ssh._tcp"};
  const auto output = run_and_capture(browse, CaptureLimits{std::chrono::seconds(15)});
  std::vector<AnnouncedHost> hosts;
  // Without its daemon, avahi-browse fails at once.
  if (output && output->exit_status == 0) {
    hosts = merged(hosts_in_avahi_output(output->standard_output));
  } else {
    SPARK_TRY(hosts, ask_mdns(mdns_destinations(), kAnswersArriveIn, stop));
  }
  const bool cut = may_be_cut(hosts);
  return SshHosts{other_hosts(std::move(hosts), mdns_destinations()), cut};
}

}  // namespace sparkplan
