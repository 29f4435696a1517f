#include "resources/netplan/live_link.h"

#include <arpa/inet.h>

#include <algorithm>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/model/ipv4.h"

namespace sparkplan::netplan {
namespace {

/// 128 bytes per route; a node with more routes is a router of the Internet.
constexpr std::size_t kLongestTable = std::size_t{32} << 20;
/// Columns: interface, destination, gateway, flags, references, uses, metric, mask.
constexpr std::size_t kColumns = 8;

struct KernelRoute {
  std::uint32_t destination = 0;
  std::uint32_t gateway = 0;
  std::uint32_t mask = 0;
  std::int64_t metric = 0;
};

/// The kernel prints addresses as numbers in the byte order of the machine.
std::optional<std::uint32_t> address_in(std::string_view text) {
  const auto number = parse_number<std::uint32_t>(text, 16);
  return number ? std::optional(ntohl(*number)) : std::nullopt;
}

std::optional<KernelRoute> route_in(std::string_view line, const std::string& interface) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, '\t')) words.push_back(trim(word));
  if (words.size() < kColumns || words[0] != interface) return std::nullopt;
  const auto destination = address_in(words[1]);
  const auto gateway = address_in(words[2]);
  const auto metric = parse_number(words[6]);
  const auto mask = address_in(words[7]);
  if (!destination || !gateway || !metric || !mask) return std::nullopt;
  return KernelRoute{*destination, *gateway, *mask, *metric};
}

bool is(const Route& declared, const KernelRoute& shown) {
  const auto network = parse_ipv4_network(declared.to == "default" ? "0.0.0.0/0" : declared.to);
  const auto gateway = ipv4_number(declared.via);
  if (!network || !gateway || (declared.metric && *declared.metric != shown.metric)) return false;
  const std::uint32_t mask = network->prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - network->prefix_length);
  return shown.destination == network->base.bits && shown.mask == mask && shown.gateway == *gateway;
}

}  // namespace

Result<std::vector<std::string>> shown_routes(const std::string& interface, const std::vector<Route>& declared,
                                              const NodeReader& node) {
  std::vector<std::string> shown;
  if (declared.empty()) return shown;
  SPARK_TRY(const std::string table, node.read_file("/proc/net/route", kLongestTable));
  std::vector<KernelRoute> routes;
  for (const std::string_view line : split_lines(table)) {
    if (const auto route = route_in(line, interface)) routes.push_back(*route);
  }
  for (const Route& one : declared) {
    if (std::ranges::any_of(routes, [&](const KernelRoute& route) { return is(one, route); })) {
      shown.push_back(one.str());
    }
  }
  return shown;
}

}  // namespace sparkplan::netplan
