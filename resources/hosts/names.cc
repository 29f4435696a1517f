#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/finding.h"
#include "engine/core/text.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "resources/hosts/hosts.h"

namespace sparkplan::hosts {
namespace {

constexpr std::size_t kLongestSuffix = 32;
constexpr std::size_t kLongestLabel = 63;  ///< RFC 1035, 2.3.4

bool is_address(int family, std::string_view text) {
  in6_addr buffer{};
  return inet_pton(family, std::string(text).c_str(), &buffer) == 1;
}

bool has_fabric(const Cluster& cluster) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(), declares_fabric);
}

/// The address that a node's fabric name resolves to, or why it has none.
tl::expected<std::string, Diagnostic> address_of(const NodeSpec& node, bool cluster_has_fabric) {
  const std::string& name = node.name.str();
  for (const FabricPort& fabric : node.fabric) {
    if (!fabric.address.empty()) return fabric.address;
  }
  if (!node.fabric.empty()) {
    return tl::unexpected(finding(Severity::kWarning, "hosts.link-local",
                                  "node " + name + " has only link-local fabric addresses, and a name cannot use them",
                                  "give it an address, or remove hosts", node.fabric.front().where));
  }
  if (cluster_has_fabric) {
    return tl::unexpected(finding(Severity::kWarning, "hosts.no-fabric-address",
                                  "node " + name + " has no fabric address and gets no name", {}, node.where));
  }
  if (is_ipv4(node.address) || is_ipv6(node.address)) return node.address;
  if (node.transport == TransportKind::kLocal) {
    return tl::unexpected(finding(Severity::kWarning, "hosts.no-address",
                                  "node " + name + " gets no name: without a fabric its management address is used, " +
                                      "and a directory has none",
                                  "add a fabric section", node.where));
  }
  return tl::unexpected(finding(Severity::kWarning, "hosts.no-address",
                                "node " + name +
                                    " gets no name: without a fabric its management address is used, which is " +
                                    (node.address.empty() ? "not given" : "a name itself"),
                                "add a fabric section, or write the address as an IP address", node.where));
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
  const bool fabric = has_fabric(cluster);
  for (const NodeSpec& node : cluster.nodes) {
    const std::string name = node.name.str() + std::string(suffix);
    const std::vector<std::string_view> labels = split(name, '.');
    if (std::any_of(labels.begin(), labels.end(),
                    [](std::string_view label) { return label.size() > kLongestLabel; })) {
      names.diagnostics.push_back(finding(Severity::kError, "hosts.name-too-long",
                                          "\"" + name + "\" is longer than a host name may be", "use a shorter suffix",
                                          node.where));
      continue;
    }
    auto address = address_of(node, fabric);
    if (address) {
      names.addresses[name] = *std::move(address);
    } else {
      names.diagnostics.push_back(std::move(address).error());
    }
  }
  return names;
}

}  // namespace sparkplan::hosts
