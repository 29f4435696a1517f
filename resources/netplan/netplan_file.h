#pragma once

#include <compare>
#include <cstddef>
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

/// The service that configures an interface for netplan. Source: netplan(5), "renderer".
enum class Renderer : std::uint8_t { kNetworkd, kNetworkManager };
/// "networkd", "NetworkManager"
std::string_view to_string(Renderer renderer);
/// The renderer of that name; nothing for any other name.
std::optional<Renderer> renderer_from(std::string_view name);

/// The highest priority in NetworkManager: at boot our profile takes the interface, and no other does.
/// Source: nm-settings(5), connection.autoconnect-priority.
inline constexpr int kAutoconnectPriority = 999;

/// A route through an interface of `interfaces`.
struct Route {
  std::string to;   ///< "10.9.0.0/16", "default"
  std::string via;  ///< "10.0.20.1"
  std::optional<std::int64_t> metric;

  auto operator<=>(const Route&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
  /// "10.9.0.0/16 via 10.0.20.9 metric 50": the canonical form in resources.
  std::string str() const;
};

/// The inverse of Route::str(); nothing for other texts.
std::optional<Route> parse_route(std::string_view text);

/// The settings of one interface in our file.
struct Stanza {
  std::optional<int> mtu;              ///< Nothing: the MTU is not managed.
  std::vector<std::string> addresses;  ///< "192.168.100.11/24", sorted.
  bool link_local = false;             ///< Takes an address of 169.254.0.0/16.
  Renderer renderer = Renderer::kNetworkd;
  bool fabric = true;              ///< False: of `interfaces`, such as a LAN.
  std::vector<Route> routes = {};  ///< Sorted; the fabric has none.

  bool operator==(const Stanza&) const = default;

  /// Without addresses, only the MTU and the up state are managed; the interface's addresses are not compared.
  bool manages_addresses() const { return link_local || !addresses.empty(); }
};

/// Interface name to stanza.
using Stanzas = std::map<std::string, Stanza>;

/// The whole file. DHCP and router advertisements are off if the addresses are managed: the RoCE v2 GIDs are then those
/// of our addresses, and no default route uses the fabric. With `optional`, no boot waits for a cable. netplan does not
/// pass all of that on to NetworkManager, which gets it in its own settings. With only an MTU, NetworkManager keeps the
/// profile that it has, and udev sets the MTU at boot. Source: netplan(5), nm-settings(5), systemd.link(5).
std::string render_file(const Stanzas& stanzas);

/// The inverse of render_file(). Other keys, such as those added by hand, are ignored.
/// Errors: as parse_yaml().
Result<Stanzas> parse_file(std::string_view text);

/// {mtu?, addresses?, link_local: true?, routes?, fabric: false?, renderer: "NetworkManager"?}: the canonical form in
/// resources.
Value encode(const Stanza& stanza);
Stanza decode_stanza(const Value& value);

/// Route::str() of each.
Value texts_of(const std::vector<Route>& routes);

/// Larger files are not read. A definition has a few hundred bytes.
inline constexpr std::size_t kLargestNetplanText = std::size_t{256} << 10;

/// A netplan file as netplan's own parser (libyaml) reads it: maps, lists, and every scalar as text, quoted or not,
/// each with its line in Value::where. An alias becomes a copy of its value. An empty file is null.
/// Errors: kInvalidInput with "line N" as context; kUnsupported for a file beyond the limits. These are
/// kLargestNetplanText, 64 levels and 32,768 values, also with all aliases replaced.
Result<Value> parse_yaml(std::string_view text);

struct ParsedYaml {
  Value tree;
  /// The last line of each definition below `network: ethernets`, from 1, by its key. Those in an alias are missing.
  std::map<std::string, int> last_lines = {};
};
/// As parse_yaml().
Result<ParsedYaml> parse_yaml_with_lines(std::string_view text);

}  // namespace sparkplan::netplan
