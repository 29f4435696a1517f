#include "resources/netplan/link_settling.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/live_routes.h"
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
  return fields != nullptr && std::all_of(fields->begin(), fields->end(), [&](const MapEntry& field) {
           const Value* shown = state.find(field.key);
           return shown != nullptr && *shown == field.value;
         });
}

/// The state of the link, with those of the routes in `wanted` that the kernel has.
Result<Value> state_for(const LinkFacts& link, const Value& wanted, const NodeReader& node) {
  Value state = encode_link_state(link);
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

}  // namespace

Result<std::optional<LinkFacts>> find_link(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto links, node.links());
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const LinkFacts& link) { return link.name == interface; });
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
  return std::find(lines.begin(), lines.end(), "ADMIN_STATE=configured") != lines.end();
}

Result<bool> settles_as(const std::string& interface, const Value& wanted, milliseconds patience,
                        const NodeReader& node, SettledBy by) {
  milliseconds waited{0};
  milliseconds shown_for{0};
  while (true) {
    SPARK_TRY(const auto link, find_link(interface, node));
    SPARK_TRY(const Value state, link ? state_for(*link, wanted, node) : Result<Value>(Value()));
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

}  // namespace sparkplan::netplan
