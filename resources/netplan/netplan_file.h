#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan::netplan {

inline constexpr std::string_view kOwnFile = "/etc/netplan/60-sparkplan-fabric.yaml";

/// Who configures an interface from what netplan says. Source: netplan(5), "renderer".
enum class Renderer : std::uint8_t { kNetworkd, kNetworkManager };
/// "networkd", "NetworkManager"
std::string_view to_string(Renderer renderer);
/// By that name; nothing for any other.
std::optional<Renderer> renderer_from(std::string_view name);

/// The highest that NetworkManager knows: at boot no other profile takes the interface instead of ours.
/// Source: nm-settings(5), connection.autoconnect-priority.
inline constexpr int kAutoconnectPriority = 999;

/// What our file says of one interface.
struct Stanza {
  std::optional<int> mtu;              ///< Nothing: the MTU is left alone.
  std::vector<std::string> addresses;  ///< "192.168.100.11/24", sorted.
  bool link_local = false;             ///< Takes an address of 169.254.0.0/16.
  Renderer renderer = Renderer::kNetworkd;

  bool operator==(const Stanza&) const = default;

  /// Of an interface without any only the MTU is ours; what addresses it has is not looked at.
  bool manages_addresses() const { return link_local || !addresses.empty(); }
};

/// Interface name -> what is said of it.
using Stanzas = std::map<std::string, Stanza>;

/// The whole file. DHCP and router advertisements are off where the addresses are ours, so that the
/// RoCE v2 GIDs are those of our addresses and no default route runs over the fabric; `optional`, so
/// that no boot waits for a cable. For NetworkManager, which netplan does not tell all of that, the same
/// in NetworkManager's own settings. Source: netplan(5), nm-settings(5).
std::string render_file(const Stanzas& stanzas);

/// The inverse of render_file(), also of a file edited by hand as far as it has these keys.
/// Errors: kInvalidInput when it is no YAML.
Result<Stanzas> parse_file(std::string_view text);

/// {mtu?, addresses?, link_local: true?, renderer: "NetworkManager"?}: the canonical form in resources.
Value encode(const Stanza& stanza);
Stanza decode_stanza(const Value& value);

}  // namespace sparkplan::netplan
