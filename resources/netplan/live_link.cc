#include "resources/netplan/live_link.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/network_manager.h"
#include "resources/netplan/trial.h"

namespace sparkplan::netplan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToolDeadline{30'000};
/// networkd configures in the background: well below a second for static addresses.
constexpr milliseconds kPatience{10'000};
constexpr milliseconds kPatienceForTheRenderer{2'000};
/// The kernel shows at once what netlink has set. A renderer may still change it, and a carrier may be missing.
constexpr milliseconds kPatienceForNetlink{6'000};

bool is_ipv4_link_local(const std::string& address) { return address.starts_with("169.254."); }
bool is_ipv6_link_local(const std::string& address) { return address.starts_with("fe80:"); }

Result<void> run_tool(std::vector<std::string> argv, Node& node) {
  SPARK_TRY(const CommandOutput output, node.run(argv, kToolDeadline));
  if (output.exit_status == 0) return {};
  const std::string said(trim(output.standard_error));
  return failure(ErrorCode::kFailed,
                 join(argv, " ") + " failed: " + (said.empty() ? "exit " + std::to_string(output.exit_status) : said));
}

/// Whether the generated files are newer than ours. The links of a fabric are activated one by one; the first generates
/// the files for all.
bool is_generated(const std::string& interface, const NodeReader& node) {
  const auto ours = node.status(kOwnFile);
  const auto is_newer = [&](const std::string& path) {
    const auto generated = node.status(path);
    return ours && generated && generated->changed_at_nanos > ours->changed_at_nanos;
  };
  return is_newer(generated_for_networkd(interface)) || is_newer(generated_for_network_manager(interface));
}

/// The keys of the profiles for these interfaces in netplan files: they were taken over and have been restored.
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

/// The first link of a fabric to be activated generates and loads the files for all of them. networkd then reconfigures
/// only interfaces whose files have changed. NetworkManager activates nothing, and drops profiles whose files are gone.
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

LinkState state_for_netlink(const std::string& interface, const Value& wanted, const LinkFacts& now) {
  LinkState state{interface, static_cast<int>(wanted.integer_or("mtu", now.mtu)), wanted.boolean_or("up", now.up),
                  texts_in(wanted.find("addresses"))};
  if (wanted.boolean_or("link_local", false)) {
    std::ranges::copy_if(now.addresses, std::back_inserter(state.addresses), is_ipv4_link_local);
  }
  return state;
}

/// The stanza of the interface in our file, if there is one.
Result<std::optional<Stanza>> own_stanza(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto text, if_there(node.read_file(kOwnFile)));
  if (!text) return std::optional<Stanza>();
  const auto stanzas = parse_file(*text);
  if (!stanzas) return std::optional<Stanza>();  // Not our format: an earlier file is being restored.
  const auto stanza = stanzas->find(interface);
  return stanza == stanzas->end() ? std::optional<Stanza>() : std::optional(stanza->second);
}

/// Whether netplan assigns the interface to NetworkManager, by our file or, without a stanza there, by all others.
Result<bool> is_network_managers(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto stanza, own_stanza(interface, node));
  if (stanza) return stanza->renderer == Renderer::kNetworkManager;
  SPARK_TRY(const ForeignFiles foreign, read_foreign_files(node));
  return foreign.renderer == Renderer::kNetworkManager;
}

/// Whether the stanza asks for exactly this state.
bool asks_for(const std::optional<Stanza>& stanza, const Value& wanted) {
  return stanza && std::get<Present>(link_state_wanted(*stanza, wanted)).value == wanted;
}

std::string describe(const Value& state) {
  return "mtu " + std::to_string(state.integer_or("mtu", 0)) + ", " + (state.boolean_or("up", false) ? "up" : "down") +
         (state.find("addresses") == nullptr ? "" : ", " + display(*state.find("addresses"))) +
         (state.find("routes") == nullptr ? "" : ", routes " + display(*state.find("routes")));
}

/// The error for a state that the kernel does not show, with the kernel's reason if it refuses the MTU.
Error not_shown(const std::string& interface, const Value& wanted, Renderer renderer, Node& node) {
  const auto now = find_link(interface, node);
  if (!now) return now.error();
  if (!*now) return make_error(ErrorCode::kNotFound, "there is no interface " + interface + " any more");
  const LinkFacts& link = **now;
  Error error =
      make_error(ErrorCode::kVerifyFailed, interface + " shows " + describe(encode_link_state(link)) +
                                               " 10 s after netplan should have set it to " + describe(wanted));
  error.hint = renderer == Renderer::kNetworkManager
                   ? "nmcli device show " + interface + " and journalctl -u NetworkManager show details"
                   : "networkctl status " + interface + " and journalctl -u systemd-networkd show details";
  if (link.mtu != wanted.integer_or("mtu", link.mtu)) {
    LinkState only_mtu{interface, static_cast<int>(wanted.integer_or("mtu", link.mtu)), link.up,
                       without_acquired(link, {}).addresses};
    if (auto tried = node.restore_link(only_mtu); !tried) {
      error.message = "the driver of " + interface + " refuses MTU " + std::to_string(only_mtu.mtu) + ": " +
                      tried.error().describe();
      error.hint = "choose an MTU that both ends, the switch and the driver support";
    }
  }
  return error;
}

/// An interface with an acquired address may have the MTU of its lease, which ends with the lease.
Result<bool> has_lease(const std::string& interface, const NodeReader& node) {
  SPARK_TRY(const auto link, find_link(interface, node));
  return link && !link->acquired.empty();
}

/// Sets the MTU of `state` where our file has none: no renderer takes back the one that a later file has set.
Result<void> set_mtu(const std::string& interface, const Value& state, Node& node) {
  SPARK_TRY(const auto link, find_link(interface, node));
  if (!link) return {};
  const auto mtu = static_cast<int>(state.integer_or("mtu", link->mtu));
  if (mtu == link->mtu) return {};
  return node.restore_link({interface, mtu, link->up, without_acquired(*link, {}).addresses});
}

Result<void> have_networkd_do_it(const std::string& interface, const Value& wanted, Node& node) {
  const bool files_are_old = is_generated(interface, node);
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  // networkd is at work after it has loaded a new file. Once it is done, it must be asked to reconfigure.
  const bool at_work = !files_are_old || !networkd_is_done(interface, node);
  const auto patience = at_work ? kPatienceForTheRenderer : milliseconds(0);
  SPARK_TRY(const bool done, settles_as(interface, wanted, patience, node, SettledBy::kNetworkd));
  if (done) return {};
  // networkd's own files may have changed without a reload.
  SPARK_CHECK(run_tool({"networkctl", "reload"}, node));
  SPARK_CHECK(run_tool({"networkctl", "reconfigure", interface}, node));
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  return settled ? Result<void>() : failure(not_shown(interface, wanted, Renderer::kNetworkd, node));
}

/// Sets only the MTU: the profile of NetworkManager that is active on the interface stays, with its addresses.
Result<void> set_mtu_beside_network_manager(const std::string& interface, const Value& after, Node& node) {
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  SPARK_CHECK(take_down_generated(interface, node));
  SPARK_TRY(const auto link, find_link(interface, node));
  if (!link) return failure(ErrorCode::kNotFound, "there is no interface " + interface + " any more");
  const LinkState state{interface, static_cast<int>(after.integer_or("mtu", link->mtu)), true,
                        without_acquired(*link, {}).addresses};
  SPARK_CHECK(node.restore_link(state));
  const Value wanted = Value::map({{"mtu", state.mtu}, {"up", true}});
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  return settled ? Result<void>() : failure(not_shown(interface, wanted, Renderer::kNetworkManager, node));
}

/// NetworkManager does not reread a profile that is already active, so each call activates it again.
Result<void> have_network_manager_do_it(const std::string& interface, const Value& wanted, Node& node) {
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  auto up = bring_up_generated(interface, node);
  SPARK_TRY(const auto link, find_link(interface, node));
  // Without a carrier, NetworkManager may wait for a peer, to detect duplicate addresses.
  if (!up && (!link || link->carrier)) return up;
  SPARK_TRY(const bool settled, settles_as(interface, wanted, kPatience, node));
  return settled ? Result<void>() : failure(not_shown(interface, wanted, Renderer::kNetworkManager, node));
}

/// Has the renderer of our file configure the interface.
Result<void> have_renderer_do_it(const std::string& interface, const Stanza& stanza, const Value& after, Node& node) {
  const bool networkd = stanza.renderer == Renderer::kNetworkd;
  if (!networkd && !stanza.manages_addresses()) return set_mtu_beside_network_manager(interface, after, node);
  Value wanted = after;
  if (!stanza.manages_addresses()) {
    wanted.erase("addresses");
    wanted.erase("link_local");
  }
  if (!stanza.mtu) wanted.erase("mtu");
  SPARK_TRY(const bool leased, has_lease(interface, node));
  auto done =
      networkd ? have_networkd_do_it(interface, wanted, node) : have_network_manager_do_it(interface, wanted, node);
  if (stanza.mtu || leased) return done;
  auto set = set_mtu(interface, after, node);
  return done ? set : done;
}

/// How the renderer restores the state before ours.
struct WayBack {
  bool by_netplan = false;  ///< A netplan file configures the interface, ours or another one.
  bool by_profile = false;  ///< NetworkManager activates the profile that was active before ours.
  milliseconds patience{0};
};

Result<WayBack> ask_renderer_for(const std::string& interface, const Value* profile, Node& node) {
  SPARK_TRY(const bool networkd, node.is_there(generated_for_networkd(interface)));
  if (networkd) {
    SPARK_CHECK(run_tool({"networkctl", "reconfigure", interface}, node));
    return WayBack{true, false, kPatienceForTheRenderer};
  }
  SPARK_TRY(const bool network_manager, node.is_there(generated_for_network_manager(interface)));
  if (network_manager) {
    SPARK_CHECK(begin_generated(interface, node));
    return WayBack{true, false, kPatience};
  }
  if (profile == nullptr) return WayBack{};
  SPARK_CHECK(bring_up_again(profile->text_or("uuid", ""), interface, node));
  return WayBack{false, true, kPatience};
}

/// Without our profile, NetworkManager would activate another one that was not active before. If that one waited for an
/// address in vain, NetworkManager would remove the settings restored past it.
Result<void> keep_network_manager_off(const std::string& interface, const Value& wanted, Node& node) {
  const bool was_left_alone = !wanted.boolean_or("up", true) || !texts_in(wanted.find("addresses")).empty();
  if (!was_left_alone) return {};
  SPARK_TRY(const bool network_manager, is_network_managers(interface, node));
  return network_manager ? leave_alone(interface, node) : Result<void>();
}

Result<void> put_back(const std::string& interface, const Value& before, Node& node) {
  Value wanted = before;
  wanted.erase(kProfileBefore);
  // The renderer asks its neighbours for such an address: whether it gets one is up to them.
  if (wanted.boolean_or("link_local", false)) wanted.erase("link_local");
  SPARK_CHECK(let_renderer_read_its_files(interface, node));
  SPARK_TRY(const auto there, find_link(interface, node));
  if (!there) return {};  // Nothing to restore: the interface is gone.
  SPARK_TRY(const auto ours, own_stanza(interface, node));
  SPARK_TRY(const WayBack way, ask_renderer_for(interface, before.find(kProfileBefore), node));
  // The other netplan file applies, not the state before ours.
  if (way.by_netplan && !ours) return {};
  if (!way.by_netplan && !way.by_profile) SPARK_CHECK(keep_network_manager_off(interface, wanted, node));
  SPARK_TRY(const bool done, settles_as(interface, wanted, way.patience, node, SettledBy::kTime, Besides::kAcquired));
  if (done) return {};
  SPARK_TRY(const auto now, find_link(interface, node));
  if (!now) return {};
  SPARK_CHECK(node.restore_link(state_for_netlink(interface, before, *now)));
  SPARK_TRY(const bool settled,
            settles_as(interface, wanted, kPatienceForNetlink, node, SettledBy::kTime, Besides::kAcquired));
  if (settled) return {};
  return failure(ErrorCode::kVerifyFailed, interface + " did not return to its earlier state: " + describe(wanted),
                 "networkctl status " + interface + " and nmcli device show what keeps changing it");
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
  std::ranges::sort(addresses);
  return Value::map(
      {{"mtu", link.mtu}, {"up", link.up}, {"addresses", list_of_texts(addresses)}, {"link_local", link_local}});
}

LinkFacts without_acquired(LinkFacts link, const std::vector<std::string>& kept) {
  std::erase_if(link.addresses, [&](const std::string& address) {
    return link.acquired.contains(address) && std::ranges::find(kept, address) == kept.end();
  });
  return link;
}

Observation observe_link(const std::string& interface, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"the node is not a running system"};
  const auto link = find_link(interface, node);
  if (!link) return link.error();
  if (!*link) return NotApplicable{"the node does not have the interface: no cable, or powered off"};
  const auto network_manager = is_network_managers(interface, node);
  if (!network_manager) return network_manager.error();
  const auto stanza = own_stanza(interface, node);
  if (!stanza) return stanza.error();
  const bool left_to_it = *stanza && !(*stanza)->manages_addresses();
  const auto profile = *network_manager && !left_to_it ? other_profile_on(interface, node)
                                                       : Result<std::optional<Profile>>(std::nullopt);
  if (!profile) return profile.error();
  Present present{encode_link_state(without_acquired(**link, {})), {}};
  if (*stanza && !(*stanza)->routes.empty()) {
    const auto routes = shown_routes(interface, (*stanza)->routes, node);
    if (!routes) return routes.error();
    present.value.set("routes", list_of_texts(*routes));
  }
  if (*profile) {
    present.value.set(kProfileBefore, Value::map({{"uuid", (*profile)->uuid}, {"name", (*profile)->name}}));
  }
  if ((*link)->up && !(*link)->carrier) {
    const std::string reason = "no carrier: the cable is unplugged or the other end is off";
    present.not_applicable = {{"addresses", reason}, {"link_local", reason}};
    if (present.value.find("routes") != nullptr) present.not_applicable["routes"] = reason;
    // NetworkManager deactivates its whole profile six seconds after the carrier is lost.
    if (*network_manager) present.not_applicable["mtu"] = reason;
  }
  return present;
}

Observation link_state_wanted(const Stanza& stanza, const Value& now) {
  Value wanted = now;
  wanted.erase(kProfileBefore);
  wanted.erase("routes");
  if (!stanza.routes.empty()) wanted.set("routes", texts_of(stanza.routes));
  wanted.set("up", true);
  if (stanza.mtu) wanted.set("mtu", *stanza.mtu);
  if (stanza.manages_addresses()) {
    wanted.set("addresses", list_of_texts(stanza.addresses));
    wanted.set("link_local", stanza.link_local);
  }
  return Present{std::move(wanted), {}};
}

Result<void> activate_link(const std::string& interface, const Observation& after, Node& node) {
  const auto* present = std::get_if<Present>(&after);
  if (present == nullptr) return failure(ErrorCode::kBug, "an interface cannot be removed: " + interface);
  SPARK_TRY(const auto stanza, own_stanza(interface, node));
  if (!asks_for(stanza, present->value)) return put_back(interface, present->value, node);
  SPARK_TRY(const auto link, find_link(interface, node));
  if (!link) return failure(ErrorCode::kVerifyFailed, "there is no interface " + interface + " any more");
  return have_renderer_do_it(interface, *stanza, present->value, node);
}

}  // namespace sparkplan::netplan
