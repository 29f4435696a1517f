#include "engine/cli/discovery.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/text.h"
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

}  // namespace

std::optional<std::vector<HostArgument>> discover(const std::vector<HostArgument>& known, const Interrupts& interrupts,
                                                  Console& console) {
  console.remark("Asking who offers SSH in this machine's networks ...");
  const auto hosts = find_ssh_hosts(interrupts.token());
  if (!hosts) {
    console.error(hosts.error());
    return std::nullopt;
  }
  std::vector<HostArgument> found;
  std::string shown;
  std::string words;
  for (const AnnouncedHost& host : *hosts) {
    if (is_among(known, host)) continue;
    auto argument = argument_for(host);
    if (!argument) continue;
    shown += "  " + argument->given + "  " + printable(host.name) + "\n";
    words += " " + argument->given;
    found.push_back(*std::move(argument));
  }
  if (found.empty()) {
    console.remark(known.empty() ? "Nobody answered." : "Nobody else answered.");
    return found;
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
    console.remark("Nothing was contacted. Name those that are meant: sparkplan init" + words);
    return std::nullopt;
  }
  return found;
}

}  // namespace sparkplan
