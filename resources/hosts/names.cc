#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/resource/managed_block.h"
#include "resources/hosts/hosts.h"

namespace sparkplan::hosts {
namespace {

constexpr std::size_t kLongestSuffix = 32;
constexpr std::size_t kLongestLabel = 63;  ///< RFC 1035, 2.3.4

bool is_address(int family, std::string_view text) {
  in6_addr buffer{};
  return inet_pton(family, std::string(text).c_str(), &buffer) == 1;
}

bool has_fabric(const Cluster& cluster) { return std::ranges::any_of(cluster.nodes, declares_fabric); }

/// Why nodes get no name: the end of a sentence about one node, and of one about several.
struct Reason {
  const char* code;
  const char* of_one;
  const char* of_several;
  const char* hint;
};

constexpr Reason kLinkLocal{"hosts.link-local", " has only link-local fabric addresses, and a name cannot use them",
                            " have only link-local fabric addresses, and names cannot use them",
                            "give each node an address, or remove hosts"};
constexpr Reason kNoFabricAddress{"hosts.no-fabric-address", " has no fabric address and gets no name",
                                  " have no fabric address and get no names", ""};
constexpr Reason kDirectory{
    "hosts.no-address", " gets no name in /etc/hosts: there is no fabric, and a directory has no address",
    " get no names in /etc/hosts: there is no fabric, and a directory has no address", "add a fabric section"};
constexpr Reason kNotGiven{"hosts.no-address",
                           " gets no name in /etc/hosts: there is no fabric, and the file gives it no address",
                           " get no names in /etc/hosts: there is no fabric, and the file gives them no addresses",
                           "add a fabric section, or write the address as an IP address"};
// An IP address in place of an alias would lose the alias's key, user and port.
constexpr Reason kIsAName{
    "hosts.no-address", " gets no name in /etc/hosts: there is no fabric, and its address is a name, not an IP address",
    " get no names in /etc/hosts: there is no fabric, and their addresses are names, not IP addresses",
    "add a fabric section, or write the IP address; in place of an alias of ~/.ssh/config, also add the IP address to "
    "the alias's Host line, as in `Host spark 10.0.0.11`"};

/// The address that a node's fabric name resolves to, or why it has none.
tl::expected<std::string, const Reason*> address_of(const NodeSpec& node, bool cluster_has_fabric) {
  for (const FabricPort& fabric : node.fabric) {
    if (!fabric.address.empty()) return fabric.address;
  }
  if (!node.fabric.empty()) return tl::unexpected(&kLinkLocal);
  if (cluster_has_fabric) return tl::unexpected(&kNoFabricAddress);
  if (is_ipv4(node.address) || is_ipv6(node.address)) return node.address;
  if (node.transport == TransportKind::kLocal) return tl::unexpected(&kDirectory);
  return tl::unexpected(node.address.empty() ? &kNotGiven : &kIsAName);
}

/// Nodes that get no name for the same reason.
struct Unnamed {
  const Reason* reason = nullptr;
  std::vector<std::string> nodes;
  SourceRange where;  ///< Of the first one in the file.
};

void add_unnamed(std::vector<Unnamed>& all, const Reason* reason, const NodeSpec& node) {
  auto known = std::ranges::find(all, reason, &Unnamed::reason);
  if (known == all.end()) {
    known = all.insert(all.end(), Unnamed{reason, {}, node.fabric.empty() ? node.where : node.fabric.front().where});
  }
  known->nodes.push_back(node.name.str());
}

Diagnostic warning_of(const Unnamed& unnamed) {
  const bool several = unnamed.nodes.size() > 1;
  return finding(Severity::kWarning, unnamed.reason->code,
                 (several ? "nodes " : "node ") + fold_names(unnamed.nodes) +
                     (several ? unnamed.reason->of_several : unnamed.reason->of_one),
                 unnamed.reason->hint, unnamed.where);
}

}  // namespace

bool is_suffix(std::string_view suffix) {
  if (suffix.empty() || suffix.size() > kLongestSuffix || !is_alphanumeric(suffix.back())) return false;
  char previous = 'x';  // The suffix follows the end of a node's name.
  for (const char c : suffix) {
    if (c != '-' && c != '.' && !is_alphanumeric(c)) return false;
    const bool label_edge = (c == '.' && !is_alphanumeric(previous)) || (previous == '.' && !is_alphanumeric(c));
    if (label_edge) return false;
    previous = c;
  }
  return true;
}

bool is_ipv4(std::string_view address) { return is_address(AF_INET, address); }

bool is_ipv6(std::string_view address) { return is_address(AF_INET6, address); }

Names names_of(const Cluster& cluster, std::string_view suffix) {
  Names names;
  std::vector<Unnamed> unnamed;
  const bool fabric = has_fabric(cluster);
  for (const NodeSpec& node : cluster.nodes) {
    const std::string name = node.name.str() + std::string(suffix);
    const std::vector<std::string_view> labels = split(name, '.');
    if (std::ranges::any_of(labels, [](std::string_view label) { return label.size() > kLongestLabel; })) {
      names.diagnostics.push_back(finding("hosts.name-too-long", "\"" + name + "\" is longer than a host name may be",
                                          "use a shorter suffix", node.where));
      continue;
    }
    auto address = address_of(node, fabric);
    if (address) {
      names.addresses[name] = *std::move(address);
    } else {
      add_unnamed(unnamed, address.error(), node);
    }
  }
  for (const Unnamed& nodes : unnamed) names.diagnostics.push_back(warning_of(nodes));
  return names;
}

std::vector<Entry> parse_hosts(std::string_view text) {
  std::vector<Entry> entries;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    for (std::size_t i = 1; i < words.size(); ++i) {
      entries.push_back({words.front(), words[i], number});
    }
  }
  return entries;
}

std::string render_block(const std::map<std::string, std::string>& addresses) {
  std::string text;
  for (const auto& [name, address] : addresses) text += address + " " + name + "\n";
  return text;
}

std::optional<Entry> claimed_above(std::string_view text, std::string_view name, bool ipv6) {
  for (const Entry& entry : parse_hosts(text_above_block(text))) {
    const bool same_family = ipv6 ? is_ipv6(entry.address) : is_ipv4(entry.address);
    if (same_family && lower_case(entry.name) == lower_case(name)) return entry;
  }
  return std::nullopt;
}

}  // namespace sparkplan::hosts
