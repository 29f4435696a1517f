#include "engine/cli/discovery.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/draft/fabric_neighbours.h"
#include "engine/remote/mdns_query.h"

namespace sparkplan {
namespace {

/// What a machine announces may be anything: only what could have been typed is taken.
std::optional<HostArgument> argument_for(const AnnouncedHost& host) {
  const std::string& address = host.addresses.front();
  auto parsed = parse_host_argument(address + (host.port == 22 ? "" : ":" + std::to_string(host.port)));
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

bool is_among(const std::vector<HostArgument>& known, const AnnouncedHost& host) {
  return std::any_of(known.begin(), known.end(), [&](const HostArgument& one) {
    const auto& addresses = host.addresses;
    return one.address == host.name || std::find(addresses.begin(), addresses.end(), one.address) != addresses.end();
  });
}

struct Found {
  HostArgument host;
  std::string about;
};

/// Lists them, and asks. Nothing: no; the reason has been told.
std::optional<std::vector<HostArgument>> agreed(const std::vector<Found>& found, const Interrupts& interrupts,
                                                Console& console) {
  std::string shown;
  std::string words;
  std::vector<HostArgument> hosts;
  for (const Found& one : found) {
    shown += "  " + one.host.given + "  " + printable(one.about) + "\n";
    words += " " + one.host.given;
    hosts.push_back(one.host);
  }
  console.question("Found:\n" + shown);
  if (!console.interactive()) {
    console.error(Error{ErrorCode::kInvalidInput,
                        "there is no terminal to ask which of these are meant",
                        {},
                        {},
                        "name them: sparkplan init" + words});
    return std::nullopt;
  }
  if (!console.confirm("Log in to all of them, and read them?", interrupts.token())) {
    console.remark("They are left alone. Name those that are meant: sparkplan init" + words);
    return std::nullopt;
  }
  return hosts;
}

}  // namespace

std::optional<std::vector<HostArgument>> discover(const std::vector<HostArgument>& known, const Interrupts& interrupts,
                                                  Console& console) {
  console.remark("Asking who offers SSH in this machine's networks ...");
  const auto hosts = find_ssh_hosts(interrupts.token());
  if (!hosts) {
    console.error(hosts.error());
    return std::nullopt;
  }
  std::vector<Found> found;
  for (const AnnouncedHost& host : *hosts) {
    auto argument = is_among(known, host) ? std::nullopt : argument_for(host);
    if (argument) found.push_back({*std::move(argument), host.name});
  }
  if (!found.empty()) return agreed(found, interrupts, console);
  console.remark(known.empty() ? "Nobody answered." : "Nobody else answered.");
  return std::vector<HostArgument>();
}

std::vector<HostArgument> discover_neighbours(const std::vector<DraftMachine>& machines, const Interrupts& interrupts,
                                              Console& console) {
  std::vector<Found> found;
  for (const std::string& address : fabric_neighbours(machines)) {
    auto argument = parse_host_argument(address);
    if (argument) found.push_back({*std::move(argument), "has answered on the fabric"});
  }
  if (found.empty()) return {};
  return agreed(found, interrupts, console).value_or(std::vector<HostArgument>());
}

}  // namespace sparkplan
