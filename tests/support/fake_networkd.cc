#include "tests/support/fake_networkd.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "engine/core/text.h"
#include "engine/model/ipv4.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"

namespace sparkplan::test {
namespace {

const std::string kGenerated = "/run/systemd/network/";
const std::string kPrefix = "10-netplan-";
const std::string kSuffix = ".network";

const std::string kRoutes = "/proc/net/route";
const std::string kRoutesHeader = "Iface\tDestination\n";

CommandOutput netplan_failed(std::string why) { return {1, {}, std::move(why)}; }

/// Checks that every netplan file below `root` is valid YAML.
Result<CommandOutput> try_out(const FakeNode& node, const std::string& root) {
  for (const char* directory : {"/lib/netplan", "/usr/lib/netplan", "/etc/netplan", "/run/netplan"}) {
    const auto names = node.list_directory(root + directory);
    if (!names) continue;
    for (const std::string& name : *names) {
      const std::string path = root + directory + "/" + name;
      const auto tree = netplan::parse_yaml(node.text_of(path).value_or(""));
      if (!tree) return netplan_failed(path + ": " + tree.error().describe());
    }
  }
  return CommandOutput{};
}

/// Writes the files below `root` that netplan generates for networkd and NetworkManager.
Result<CommandOutput> generate(FakeNode& node, const std::string& root) {
  const auto stanzas = netplan::parse_file(node.text_of(root + std::string(netplan::kOwnFile)).value_or(""));
  if (!stanzas) return netplan_failed("Invalid YAML");
  for (const auto& [interface, stanza] : *stanzas) {
    const bool network_manager = stanza.renderer == netplan::Renderer::kNetworkManager;
    const std::string path = network_manager ? netplan::generated_for_network_manager(interface)
                                             : kGenerated + kPrefix + interface + kSuffix;
    node.add_file(root + path, netplan::render_file({{interface, stanza}}), network_manager ? 0600 : 0644);
  }
  return CommandOutput{};
}

/// As /proc/net/route prints an address: a number in the machine's byte order.
std::string in_hex(std::uint32_t address) {
  std::array<char, 9> text{};
  std::snprintf(text.data(), text.size(), "%08X", htonl(address));
  return text.data();
}

Result<CommandOutput> reconfigure(FakeNode& node, const std::string& interface) {
  auto link = node.link(interface);
  const auto text = node.text_of(kGenerated + kPrefix + interface + kSuffix);
  if (!link || !text) return netplan_failed("Failed to reconfigure: no such interface or file");
  const auto stanzas = netplan::parse_file(*text);
  if (!stanzas) return netplan_failed("Failed to reconfigure: no netplan file");
  const auto found = stanzas->find(interface);
  if (found == stanzas->end()) return netplan_failed("Failed to reconfigure: another interface's file");
  const netplan::Stanza& stanza = found->second;
  link->up = true;
  if (stanza.mtu) link->mtu = *stanza.mtu;
  if (stanza.manages_addresses()) link->addresses = stanza.addresses;
  if (stanza.link_local) link->addresses.emplace_back("169.254.17.4/16");
  node.add_link(*link);
  set_fake_routes(node, interface, stanza.routes);
  return CommandOutput{};
}

Result<CommandOutput> netplan_program(const FakeNode::Call& call) {
  if (call.writable == nullptr) return netplan_failed("netplan generate through query()");
  const std::size_t count = call.argv.size();
  if (count < 3 || call.argv[count - 2] != "--root-dir") return netplan_failed("netplan generate on the live node");
  const auto tried = try_out(call.node, call.argv.back());
  if (!tried || tried->exit_status != 0) return tried;
  return generate(*call.writable, call.argv.back());
}

Result<CommandOutput> networkctl_program(const FakeNode::Call& call) {
  if (call.writable == nullptr) return netplan_failed("networkctl through query()");
  if (call.argv.size() == 3 && call.argv[1] == "reconfigure") return reconfigure(*call.writable, call.argv[2]);
  // Without a file, networkd takes the routes of an interface away.
  const std::string routes = call.node.text_of(kRoutes).value_or("");
  for (const auto line : split_lines(routes)) {
    const std::string interface(line.substr(0, line.find('\t')));
    if (interface == "Iface" || interface.empty()) continue;
    if (!call.node.text_of(kGenerated + kPrefix + interface + kSuffix)) set_fake_routes(*call.writable, interface, {});
  }
  return CommandOutput{};
}

}  // namespace

void set_fake_routes(FakeNode& node, const std::string& interface, const std::vector<netplan::Route>& routes) {
  const auto table = node.text_of(kRoutes);
  if (routes.empty() && !table) return;
  const std::string before = table.value_or(kRoutesHeader);
  std::string text;
  for (const auto line : split_lines(before)) {
    if (!line.empty() && !line.starts_with(interface + "\t")) text += std::string(line) + "\n";
  }
  for (const auto& route : routes) {
    const auto to = parse_ipv4_network(route.to == "default" ? "0.0.0.0/0" : route.to).value_or(Ipv4Network{});
    const std::uint32_t mask = to.prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - to.prefix_length);
    text += interface + "\t" + in_hex(to.base.bits) + "\t" + in_hex(ipv4_number(route.via).value_or(0)) +
            "\t0003\t0\t0\t" + std::to_string(route.metric.value_or(100)) + "\t" + in_hex(mask) + "\t0\t0\t0\n";
  }
  if (text == kRoutesHeader) {
    node.erase(kRoutes);
  } else {
    node.put_file(kRoutes, text);
  }
}

void install_fake_networkd(FakeNode& node) {
  node.add_program("netplan", netplan_program);
  node.add_program("networkctl", networkctl_program);
  node.add_unit("systemd-networkd.service", {{"ActiveState", "active"}});
}

void install_fake_netplan_generator(FakeNode& node, const std::string& path) {
  node.add_file(path, "", 0755);
  node.add_program(path, netplan_program);
  node.add_unit("systemd-networkd.service", {{"ActiveState", "active"}});
}

}  // namespace sparkplan::test
