#include "resources/netplan/live_link.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/network_manager.h"
#include "resources/netplan/trial.h"

namespace sparkplan::netplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToolDeadline{30'000};
/// networkd configures in the background: well below a second for addresses that are not asked for.
constexpr milliseconds kPatience{10'000};
constexpr milliseconds kPatienceForTheRenderer{2'000};
/// networkd gives addresses back 10 to 35 ms after it has taken them away, on eight hosts that share two CPUs.
constexpr milliseconds kSettled{100};
/// A ConnectX-7 has its carrier about two seconds after it comes up.
constexpr milliseconds kPatienceForCarrier{5'000};
constexpr milliseconds kPause{10};

bool is_ipv4_link_local(const std::string& address) { return address.starts_with("169.254."); }
bool is_ipv6_link_local(const std::string& address) { return address.starts_with("fe80:"); }

Result<std::optional<LinkFacts>> find_link(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto links, node.links());
  const auto found =
      std::find_if(links.begin(), links.end(), [&](const LinkFacts& link) { return link.name == interface; });
  return found == links.end() ? std::optional<LinkFacts>() : std::optional(*found);
}

Result<void> run_tool(std::vector<std::string> argv, Node& node) {
  SPARK_TRY(const CommandOutput output, node.run(argv, kToolDeadline));
  if (output.exit_status == 0) return {};
  const std::string said(trim(output.standard_error));
  return failure(ErrorCode::kFailed,
                 join(argv, " ") + " failed: " + (said.empty() ? "exit " + std::to_string(output.exit_status) : said));
}

/// The links of one fabric are activated one after the other; the files need to be generated once.
bool is_generated(const std::string& interface, const NodeReader& node) {
  const auto ours = node.status(kOwnFile);
  const auto is_newer = [&](const std::string& path) {
    const auto generated = node.status(path);
    return ours && generated && generated->changed_at_nanos > ours->changed_at_nanos;
  };
  return is_newer(generated_for_networkd(interface)) || is_newer(generated_for_network_manager(interface));
}

/// The keys of the profiles for these interfaces in netplan files: those that were taken over and have come back.
Result<std::set<std::string>> profiles_for(const std::set<std::string>& interfaces, const NodeReader& node) {
  SPARK_TRY(const ForeignFiles foreign, read_foreign_files(node));
  SPARK_TRY(const auto links, node.links());
  std::set<std::string> keys;
  for (const std::string& interface : interfaces) {
    for (const Definition& one : definitions_of(interface, links, foreign)) {
      if (one.is_profile && one.section == "ethernets") keys.insert(one.id);
    }
  }
  return keys;
}

/// The files are generated and read anew once for all links of a fabric: the first one to be activated
/// does it. networkd then configures anew the interfaces whose files have changed, and no others;
/// NetworkManager only forgets the profiles that are gone.
Result<void> let_renderer_read_its_files(const std::string& interface, Node& node) {
  if (is_generated(interface, node)) return {};
  std::set<std::string> interfaces{interface};
  if (const auto text = node.read_file(kOwnFile)) {
    if (const auto stanzas = parse_file(*text)) {
      for (const auto& [name, stanza] : *stanzas) interfaces.insert(name);
    }
  }
  SPARK_TRY(const auto profiles, profiles_for(interfaces, node));
  interfaces.insert(profiles.begin(), profiles.end());
  SPARK_TRY(const GeneratedChanges changed, install_generated_files(interfaces, node));
  if (changed.for_networkd) SPARK_CHECK(run_tool({"networkctl", "reload"}, node));
  return changed.profiles.empty() ? Result<void>() : load_profiles(changed.profiles, node);
}

/// networkd gives addresses only to an interface that has a peer: then MTU and "up" are all there is.
bool is_all_without_carrier(const LinkFacts& link, const Value& wanted) {
  return link.up && !link.carrier && wanted.boolean_or("up", false) && link.mtu == wanted.integer_or("mtu", link.mtu);
}

/// What is not in `wanted` is nobody's wish.
bool has_all_of(const Value& state, const Value& wanted) {
  const Value::Map* fields = wanted.entries();
  return fields != nullptr && std::all_of(fields->begin(), fields->end(), [&](const MapEntry& field) {
           const Value* shown = state.find(field.key);
           return shown != nullptr && *shown == field.value;
         });
}

/// Has networkd said since it was given these files that it is done with the interface? What it says there is for
/// libsystemd, so nothing hangs on it: where it says nothing, the kernel is watched for longer.
/// Source: systemd, src/network/networkd-link.c, link_save(); src/libsystemd/sd-network/sd-network.c.
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

/// How it is told that what the kernel shows is no state in between: networkd takes addresses away and gives them
/// back while it configures an interface.
enum class SettledBy : std::uint8_t {
  kTime,      ///< It has been shown for kSettled without a break.
  kNetworkd,  ///< The same, or networkd says that it is done.
};

/// True once the kernel shows it and goes on to.
Result<bool> settles_as(const std::string& interface, const Value& wanted, milliseconds patience,
                        const NodeReader& node, SettledBy by = SettledBy::kTime) {
  milliseconds waited{0};
  milliseconds shown_for{0};
  while (true) {
    SPARK_TRY(const auto link, find_link(interface, node));
    const bool shown = link && has_all_of(encode_link_state(*link), wanted);
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

LinkState state_for_netlink(const std::string& interface, const Value& wanted, const LinkFacts& now) {
  LinkState state{interface, static_cast<int>(wanted.integer_or("mtu", now.mtu)), wanted.boolean_or("up", now.up),
                  texts_in(wanted.find("addresses"))};
  if (wanted.boolean_or("link_local", false)) {
    std::copy_if(now.addresses.begin(), now.addresses.end(), std::back_inserter(state.addresses), is_ipv4_link_local);
  }
  return state;
}

/// What our file says of the interface, if anything.
Result<std::optional<Stanza>> own_stanza(const std::string& interface, const NodeReader& node) {
  const auto text = node.read_file(kOwnFile);
  if (!text) {
    if (text.error().code == ErrorCode::kNotFound) return std::optional<Stanza>();
    return failure(text.error());
  }
  const auto stanzas = parse_file(*text);
  if (!stanzas) return std::optional<Stanza>();  // Not as we write it: a state from before is being put back.
  const auto stanza = stanzas->find(interface);
  return stanza == stanzas->end() ? std::optional<Stanza>() : std::optional(stanza->second);
}

/// Does netplan hand it to NetworkManager, by our file or where that says nothing by all others?
Result<bool> is_network_managers(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto stanza, own_stanza(interface, node));
  if (stanza) return stanza->renderer == Renderer::kNetworkManager;
  SPARK_TRY(const ForeignFiles foreign, read_foreign_files(node));
  return foreign.renderer == Renderer::kNetworkManager;
}

/// Does it ask for this very state?
bool asks_for(const std::optional<Stanza>& stanza, const Value& wanted) {
  return stanza && std::get<Present>(link_state_wanted(*stanza, wanted)).value == wanted;
}

std::string describe(const Value& state) {
  return "mtu " + std::to_string(state.integer_or("mtu", 0)) + ", " + (state.boolean_or("up", false) ? "up" : "down") +
         (state.find("addresses") == nullptr ? "" : ", " + display(*state.find("addresses")));
}

std::string where_to_look(const std::string& interface, Renderer renderer) {
  return renderer == Renderer::kNetworkManager
             ? "nmcli device show " + interface + " and journalctl -u NetworkManager say more"
             : "networkctl status " + interface + " and journalctl -u systemd-networkd say more";
}

/// The kernel's own words for why it does not take the state, when it has any.
Error why_not(const std::string& interface, const Value& wanted, const LinkFacts& now, Renderer renderer, Node& node) {
  Error error{ErrorCode::kVerifyFailed,
              interface + " shows " + describe(encode_link_state(now)) + " 10 s after netplan was to make it " +
                  describe(wanted),
              {},
              {},
              where_to_look(interface, renderer)};
  if (now.mtu != wanted.integer_or("mtu", now.mtu)) {
    LinkState only_mtu{interface, static_cast<int>(wanted.integer_or("mtu", now.mtu)), now.up, now.addresses};
    if (auto tried = node.restore_link(only_mtu); !tried) {
      error.message = "the driver of " + interface + " refuses MTU " + std::to_string(only_mtu.mtu) + ": " +
                      tried.error().describe();
      error.hint = "choose an MTU that both ends, the switch and the driver take";
    }
  }
  return error;
}

Error not_shown(const std::string& interface, const Value& wanted, Renderer renderer, Node& node) {
  const auto now = find_link(interface, node);
  if (!now) return now.error();
  if (!*now) return {ErrorCode::kNotFound, "there is no interface " + interface + " any more", {}, {}, {}};
  return why_not(interface, wanted, **now, renderer, node);
}

Result<void> have_networkd_do_it(const std::string& interface, const Stanza& stanza, const Value& after, Node& node) {
  Value wanted = after;
  if (!stanza.manages_addresses()) {
    wanted.erase("addresses");
    wanted.erase("link_local");
  }
  const bool files_are_old = is_generated(interface, node);
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  // A renderer that has just read a new file is at work; one that is done with it has to be asked.
  const bool at_work = !files_are_old || !networkd_is_done(interface, node);
  const auto patience = at_work ? kPatienceForTheRenderer : milliseconds(0);
  SPARK_TRY(const bool done, settles_as(interface, wanted, patience, node, SettledBy::kNetworkd));
  if (done) return {};
  // Somebody may have changed networkd's own files and not told it.
  SPARK_CHECK(run_tool({"networkctl", "reload"}, node));
  SPARK_CHECK(run_tool({"networkctl", "reconfigure", interface}, node));
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  return settled ? Result<void>() : failure(not_shown(interface, wanted, Renderer::kNetworkd, node));
}

/// NetworkManager does not look at a profile again that is up already: it is brought up anew each time.
Result<void> have_network_manager_do_it(const std::string& interface, const Value& wanted, Node& node) {
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  auto up = bring_up_generated(interface, node);
  SPARK_TRY(const auto link, find_link(interface, node));
  // Without a peer it may wait for one, to ask whether anybody else has the address.
  if (!up && (!link || link->carrier)) return up;
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  return settled ? Result<void>() : failure(not_shown(interface, wanted, Renderer::kNetworkManager, node));
}

/// What the renderer is told in order to have back what was before us.
struct WayBack {
  bool by_netplan = false;  ///< Another netplan file configures the interface by now.
  bool by_profile = false;  ///< A profile of NetworkManager's, which was up before ours.
};

Result<WayBack> ask_renderer_for(const std::string& interface, const Value* profile, Node& node) {
  SPARK_TRY(const bool networkd, node.is_there(generated_for_networkd(interface)));
  if (networkd) {
    SPARK_CHECK(run_tool({"networkctl", "reconfigure", interface}, node));
    return WayBack{true, false};
  }
  SPARK_TRY(const bool network_manager, node.is_there(generated_for_network_manager(interface)));
  if (network_manager) {
    SPARK_CHECK(bring_up_generated(interface, node));
    return WayBack{true, false};
  }
  if (profile == nullptr) return WayBack{};
  SPARK_CHECK(bring_up_again(profile->text_or("uuid", ""), interface, node));
  return WayBack{false, true};
}

/// With our profile gone NetworkManager would bring up another one that was not up before, and as soon
/// as that has waited for an address in vain, take down what is put back past it.
Result<void> keep_network_manager_off(const std::string& interface, const Value& wanted, Node& node) {
  const bool was_left_alone = !wanted.boolean_or("up", true) || !texts_in(wanted.find("addresses")).empty();
  if (!was_left_alone) return {};
  SPARK_TRY(const bool network_manager, is_network_managers(interface, node));
  return network_manager ? leave_alone(interface, node) : Result<void>();
}

Result<void> put_back(const std::string& interface, const Value& before, Node& node) {
  Value wanted = before;
  wanted.erase(kProfileBefore);
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  SPARK_TRY(const auto there, find_link(interface, node));
  if (!there) return {};  // Nothing to put back: it went away.
  SPARK_TRY(const auto ours, own_stanza(interface, node));
  SPARK_TRY(const WayBack way, ask_renderer_for(interface, before.find(kProfileBefore), node));
  // What another netplan file says holds, not what was before us.
  if (way.by_netplan && !ours) return {};
  if (!way.by_netplan && !way.by_profile) SPARK_CHECK(keep_network_manager_off(interface, wanted, node));
  const auto patience = way.by_profile ? kPatience : way.by_netplan ? kPatienceForTheRenderer : milliseconds(0);
  SPARK_TRY(const bool done, settles_as(interface, wanted, patience, node));
  if (done) return {};
  SPARK_TRY(const auto now, find_link(interface, node));
  if (!now) return {};
  SPARK_CHECK(node.restore_link(state_for_netlink(interface, wanted, *now)));
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  if (settled) return {};
  return failure(ErrorCode::kVerifyFailed, interface + " is not as it was before: " + describe(wanted),
                 "networkctl status " + interface + " and nmcli device show who keeps changing it");
}

}  // namespace

ArtifactId link_artifact(const std::string& interface) { return {std::string(kLinkKind), interface}; }

Value encode_link_state(const LinkFacts& link) {
  std::vector<std::string> addresses;
  bool link_local = false;
  for (const std::string& address : link.addresses) {
    link_local = link_local || is_ipv4_link_local(address);
    if (!is_ipv4_link_local(address) && !is_ipv6_link_local(address)) addresses.push_back(address);
  }
  std::sort(addresses.begin(), addresses.end());
  return Value::map(
      {{"mtu", link.mtu}, {"up", link.up}, {"addresses", list_of_texts(addresses)}, {"link_local", link_local}});
}

Observation observe_link(const std::string& interface, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"nothing is running there"};
  const auto link = find_link(interface, node);
  if (!link) return link.error();
  if (!*link) return NotApplicable{"the node does not show the interface: no cable, or powered off"};
  const auto network_manager = is_network_managers(interface, node);
  if (!network_manager) return network_manager.error();
  const auto profile =
      *network_manager ? other_profile_on(interface, node) : Result<std::optional<Profile>>(std::nullopt);
  if (!profile) return profile.error();
  Present present{encode_link_state(**link), {}};
  if (*profile) {
    present.value.set(kProfileBefore, Value::map({{"uuid", (*profile)->uuid}, {"name", (*profile)->name}}));
  }
  if ((*link)->up && !(*link)->carrier) {
    const std::string reason = "no carrier: the cable is out or the other end is off";
    present.not_applicable = {{"addresses", reason}, {"link_local", reason}};
    // Six seconds after the carrier is gone it takes its whole profile down.
    if (*network_manager) present.not_applicable["mtu"] = reason;
  }
  return present;
}

Observation link_state_wanted(const Stanza& stanza, const Value& now) {
  Value wanted = now;
  wanted.erase(kProfileBefore);
  wanted.set("up", true);
  if (stanza.mtu) wanted.set("mtu", *stanza.mtu);
  if (stanza.manages_addresses()) {
    wanted.set("addresses", list_of_texts(stanza.addresses));
    wanted.set("link_local", stanza.link_local);
  } else if (stanza.renderer == Renderer::kNetworkManager) {
    // What it has not set it takes away as soon as it brings its profile up.
    wanted.set("addresses", list_of_texts({}));
    wanted.set("link_local", false);
  }
  return Present{std::move(wanted), {}};
}

Result<void> activate_link(const std::string& interface, const Observation& after, Node& node) {
  const auto* present = std::get_if<Present>(&after);
  if (present == nullptr) return failure(ErrorCode::kBug, "an interface cannot be taken away: " + interface);
  SPARK_TRY(const auto stanza, own_stanza(interface, node));
  if (!asks_for(stanza, present->value)) return put_back(interface, present->value, node);
  return stanza->renderer == Renderer::kNetworkManager ? have_network_manager_do_it(interface, present->value, node)
                                                       : have_networkd_do_it(interface, *stanza, present->value, node);
}

}  // namespace sparkplan::netplan
