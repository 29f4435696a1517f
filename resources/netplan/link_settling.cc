#include "resources/netplan/live_link.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/model/ipv4.h"
#include "resources/netplan/trial.h"

namespace sparkplan::netplan {
namespace {

using std::chrono::milliseconds;

/// networkd removes addresses and restores them 10 to 35 ms later, on eight hosts that share two CPUs.
constexpr milliseconds kSettled{100};
/// A ConnectX-7 has its carrier about two seconds after it comes up.
constexpr milliseconds kPatienceForCarrier{5'000};
constexpr milliseconds kPause{10};

/// networkd gives addresses only to an interface with a carrier: without one, MTU and "up" are all there is.
bool is_all_without_carrier(const LinkFacts& link, const Value& wanted) {
  return link.up && !link.carrier && wanted.boolean_or("up", false) && link.mtu == wanted.integer_or("mtu", link.mtu);
}

/// Fields that are missing in `wanted` are not compared.
bool has_all_of(const Value& state, const Value& wanted) {
  const Value::Map* fields = wanted.entries();
  return fields != nullptr && std::ranges::all_of(*fields, [&](const MapEntry& field) {
           const Value* shown = state.find(field.key);
           return shown != nullptr && *shown == field.value;
         });
}

/// The state of the link, with those of the routes in `wanted` that the kernel has.
Result<Value> state_for(const LinkFacts& link, const Value& wanted, const NodeReader& node, Besides besides) {
  Value state = encode_link_state(
      besides == Besides::kAcquired ? without_acquired(link, texts_in(wanted.find("addresses"))) : link);
  const Value* routes = wanted.find("routes");
  if (routes == nullptr) return state;
  std::vector<Route> declared;
  for (const std::string& text : texts_in(routes)) {
    if (auto route = parse_route(text)) declared.push_back(*std::move(route));
  }
  SPARK_TRY(const auto shown, shown_routes(link.name, declared, node));
  state.set("routes", list_of_texts(shown));
  return state;
}

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

Result<std::optional<LinkFacts>> find_link(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto links, node.links());
  const auto found = std::ranges::find(links, interface, &LinkFacts::name);
  return found == links.end() ? std::optional<LinkFacts>() : std::optional(*found);
}

bool networkd_is_done(const std::string& interface, const NodeReader& node) {
  const auto index = node.read_file("/sys/class/net/" + interface + "/ifindex");
  if (!index) return false;
  const std::string said = "/run/systemd/netif/links/" + std::string(trim(*index));
  const auto given = node.status(generated_for_networkd(interface));
  const auto told = node.status(said);
  if (!given || !told || told->changed_at_nanos <= given->changed_at_nanos) return false;
  const auto text = node.read_file(said);
  if (!text) return false;
  const auto lines = split_lines(*text);
  return std::ranges::find(lines, "ADMIN_STATE=configured") != lines.end();
}

Result<bool> settles_as(const std::string& interface, const Value& wanted, milliseconds patience,
                        const NodeReader& node, SettledBy by, Besides besides) {
  milliseconds waited{0};
  milliseconds shown_for{0};
  while (true) {
    SPARK_TRY(const auto link, find_link(interface, node));
    SPARK_TRY(const Value state, link ? state_for(*link, wanted, node, besides) : Result<Value>(Value()));
    const bool shown = link && has_all_of(state, wanted);
    const bool no_peer = link && waited >= kPatienceForCarrier && is_all_without_carrier(*link, wanted);
    if (!shown && !no_peer) {
      if (waited >= patience) return false;
      shown_for = milliseconds(0);
    } else if (shown_for >= kSettled || (shown && by == SettledBy::kNetworkd && networkd_is_done(interface, node))) {
      return true;
    }
    node.pause(kPause);
    waited += kPause;
    shown_for += kPause;
  }
}

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
