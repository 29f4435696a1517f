#include "tests/support/fake_networkd.h"

#include <algorithm>
#include <string>

#include "resources/netplan/netplan_file.h"
#include "resources/netplan/network_manager.h"
#include "resources/netplan/yaml_tree.h"

namespace sparkplan::test {
namespace {

const std::string kGenerated = "/run/systemd/network/";
const std::string kPrefix = "10-netplan-";
const std::string kSuffix = ".network";

CommandOutput failed(std::string why) { return {1, {}, std::move(why)}; }

/// Checks that every netplan file below `root` is valid YAML.
Result<CommandOutput> try_out(const FakeNode& node, const std::string& root) {
  for (const char* directory : {"/lib/netplan", "/usr/lib/netplan", "/etc/netplan", "/run/netplan"}) {
    const auto names = node.list_directory(root + directory);
    if (!names) continue;
    for (const std::string& name : *names) {
      const std::string path = root + directory + "/" + name;
      const auto tree = netplan::parse_yaml(node.text_of(path).value_or(""));
      if (!tree) return failed(path + ": " + tree.error().describe());
    }
  }
  return CommandOutput{};
}

/// Writes the files below `root` that netplan generates for networkd and NetworkManager.
Result<CommandOutput> generate(FakeNode& node, const std::string& root) {
  const auto stanzas = netplan::parse_file(node.text_of(root + std::string(netplan::kOwnFile)).value_or(""));
  if (!stanzas) return failed("Invalid YAML");
  for (const auto& [interface, stanza] : *stanzas) {
    const bool network_manager = stanza.renderer == netplan::Renderer::kNetworkManager;
    const std::string path = network_manager ? netplan::generated_for_network_manager(interface)
                                             : kGenerated + kPrefix + interface + kSuffix;
    node.add_file(root + path, netplan::render_file({{interface, stanza}}), network_manager ? 0600 : 0644);
  }
  return CommandOutput{};
}

Result<CommandOutput> reconfigure(FakeNode& node, const std::string& interface) {
  auto link = node.link(interface);
  const auto text = node.text_of(kGenerated + kPrefix + interface + kSuffix);
  if (!link || !text) return failed("Failed to reconfigure: no such interface or file");
  const auto stanzas = netplan::parse_file(*text);
  const netplan::Stanza& stanza = stanzas->at(interface);
  link->up = true;
  if (stanza.mtu) link->mtu = *stanza.mtu;
  if (stanza.manages_addresses()) link->addresses = stanza.addresses;
  if (stanza.link_local) link->addresses.emplace_back("169.254.17.4/16");
  node.add_link(*link);
  return CommandOutput{};
}

Result<CommandOutput> netplan_program(const FakeNode::Call& call) {
  if (call.writable == nullptr) return failed("netplan generate through query()");
  const std::size_t count = call.argv.size();
  if (count < 3 || call.argv[count - 2] != "--root-dir") return failed("netplan generate on the live node");
  const auto tried = try_out(call.node, call.argv.back());
  if (!tried || tried->exit_status != 0) return tried;
  return generate(*call.writable, call.argv.back());
}

Result<CommandOutput> networkctl_program(const FakeNode::Call& call) {
  if (call.writable == nullptr) return failed("networkctl through query()");
  if (call.argv.size() == 3 && call.argv[1] == "reconfigure") return reconfigure(*call.writable, call.argv[2]);
  return CommandOutput{};
}

}  // namespace

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
