#include "engine/cli/discovery/discovery.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/init/fabric_found.h"
#include "engine/remote/discovery/mdns_query.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan {
namespace {

/// A machine may announce any text, so only text that a user could type is accepted.
std::optional<HostArgument> argument_for(const AnnouncedHost& host) {
  const std::string& address = host.addresses.front();
  auto parsed = parse_host_argument(address + (host.port == 22 ? "" : ":" + std::to_string(host.port)));
  if (!parsed) return std::nullopt;
  parsed->announced = true;
  return *std::move(parsed);
}

/// The names of the machines that the user listed, and the addresses of these names: "spark-01" may announce itself as
/// spark-01.local.
std::set<std::string> names_and_addresses_of(const std::vector<HostArgument>& known) {
  std::set<std::string> all;
  for (const HostArgument& host : known) {
    all.insert(host.address);
    addrinfo wanted{};
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.address.c_str(), nullptr, &wanted, &list) != 0) continue;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
      std::array<char, INET_ADDRSTRLEN> text{};
      const auto* address = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
      if (::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr) all.insert(text.data());
    }
  }
  return all;
}

struct Found {
  HostArgument host;
  std::string about;
  std::vector<std::string> addresses = {};  ///< All announced addresses.
};

/// Lists the machines and asks the user. Nothing if the user declined or cannot be asked; the reason has been printed.
std::optional<std::vector<HostArgument>> agreed(const std::vector<Found>& found, const Interrupts& interrupts,
                                                Console& console) {
  std::string shown;
  std::string words;
  std::vector<HostArgument> hosts;
  for (const Found& one : found) {
    shown += "  " + printable(shown_place(one.host.given, one.addresses)) + "  " + printable(one.about) + "\n";
    words += " " + one.host.given;
    hosts.push_back(one.host);
  }
  console.question("Found:\n" + shown);
  if (!console.interactive()) {
    console.error(make_error(ErrorCode::kInvalidInput, "there is no terminal to ask which of these machines to use",
                             "name the machines to use: sparkplan init" + words));
    return std::nullopt;
  }
  if (!console.confirm("Log in to all of these machines and read them?", interrupts.token())) {
    console.remark("These machines are skipped. Name the ones to use: sparkplan init" + words);
    return std::nullopt;
  }
  return hosts;
}

/// Selects for each machine an address that answers. Some announced addresses are not reachable from the controller: a
/// bridge there may have the same network as a bridge here.
void go_where_they_answer(std::vector<Found>& found, std::vector<HostArgument>& agreed_on, const GlobalOptions& global,
                          const Interrupts& interrupts) {
  std::vector<std::size_t> places(found.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  fan_out(places, global.workers, [&](std::size_t at) {
    HostArgument& host = agreed_on[at];
    host.address = first_that_answers(found[at].addresses, [&](const std::string& address) {
      HostArgument there = host;
      there.address = address;
      return !interrupts.token().stop_requested() &&
             offered_host_key(node_at(there, login_name()), {global.timeout, interrupts.token()}).has_value();
    });
  });
}

}  // namespace

std::string shown_place(const std::string& given, const std::vector<std::string>& addresses) {
  std::string text = given;
  for (std::size_t at = 1; at < addresses.size(); ++at) text += ", or " + addresses[at];
  return text;
}

std::string first_that_answers(const std::vector<std::string>& addresses,
                               const std::function<bool(const std::string& address)>& answers) {
  if (addresses.size() < 2) return addresses.empty() ? std::string() : addresses.front();
  const auto found = std::find_if(addresses.begin(), addresses.end(), answers);
  return found == addresses.end() ? addresses.front() : *found;
}

std::vector<AnnouncedHost> hosts_besides(const std::set<std::string>& known, std::vector<AnnouncedHost> hosts) {
  for (AnnouncedHost& host : hosts) {
    std::erase_if(host.addresses, [&](const std::string& address) { return known.contains(address); });
  }
  std::erase_if(hosts, [&](const AnnouncedHost& host) { return host.addresses.empty() || known.contains(host.name); });
  return hosts;
}

std::vector<AnnouncedHost> own_addresses_first(std::vector<AnnouncedHost> hosts) {
  std::map<std::string, std::set<std::string>> names;
  for (const AnnouncedHost& host : hosts) {
    for (const std::string& address : host.addresses) names[address].insert(host.name);
  }
  for (AnnouncedHost& host : hosts) {
    std::stable_partition(host.addresses.begin(), host.addresses.end(),
                          [&](const std::string& address) { return names[address].size() == 1; });
  }
  return hosts;
}

std::vector<HostArgument> each_place_once(const std::vector<HostArgument>& hosts, std::vector<std::size_t>& others) {
  std::vector<HostArgument> once;
  std::set<std::pair<std::string, std::uint16_t>> seen;
  for (std::size_t at = 0; at < hosts.size(); ++at) {
    if (seen.emplace(hosts[at].address, hosts[at].port).second) {
      once.push_back(hosts[at]);
    } else {
      others.push_back(at);
    }
  }
  return once;
}

std::optional<std::vector<HostArgument>> discover(const std::vector<HostArgument>& known, const GlobalOptions& global,
                                                  const Interrupts& interrupts, Console& console) {
  console.remark("Searching this machine's networks for SSH servers ...");
  const auto announced = find_ssh_hosts(interrupts.token());
  if (!announced) {
    console.error(announced.error());
    return std::nullopt;
  }
  if (announced->cut) {
    console.remark("More is announced than is listed here: at most " + std::to_string(kMostAnnouncedHosts) +
                   " machines, each with " + std::to_string(kMostAnnouncedAddresses) +
                   " addresses. Name the machines that are missing.");
  }
  std::vector<Found> found;
  for (const AnnouncedHost& host :
       own_addresses_first(hosts_besides(names_and_addresses_of(known), announced->hosts))) {
    auto argument = argument_for(host);
    if (argument) found.push_back({*std::move(argument), host.name, host.addresses});
  }
  if (found.empty()) {
    console.remark(known.empty() ? "No machine answered." : "No other machine answered.");
    return std::vector<HostArgument>();
  }
  auto hosts_agreed_on = agreed(found, interrupts, console);
  if (!hosts_agreed_on) return std::nullopt;
  const bool has_choice =
      std::any_of(found.begin(), found.end(), [](const Found& one) { return one.addresses.size() > 1; });
  if (has_choice) console.remark("Trying the addresses of these machines ...");
  go_where_they_answer(found, *hosts_agreed_on, global, interrupts);
  std::vector<std::size_t> others;
  auto once = each_place_once(*hosts_agreed_on, others);
  for (const std::size_t at : others) {
    console.remark(printable(found[at].about) + " is not read: another machine of the list has its address, " +
                   (*hosts_agreed_on)[at].address);
  }
  return once;
}

std::vector<HostArgument> discover_neighbours(const std::vector<InitMachine>& machines, const Interrupts& interrupts,
                                              Console& console) {
  std::vector<Found> found;
  for (const std::string& address : fabric_neighbours(machines)) {
    auto argument = parse_host_argument(address);
    if (!argument) continue;
    argument->announced = true;
    found.push_back({*std::move(argument), "answered on the fabric"});
  }
  if (found.empty()) return {};
  return agreed(found, interrupts, console).value_or(std::vector<HostArgument>());
}

}  // namespace sparkplan
