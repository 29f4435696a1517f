#include "engine/agent/facts/facts_reader.h"

#include <array>
#include <string>
#include <utility>

#include "engine/agent/facts/node_text.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kGeneratedDirectory = "/run/NetworkManager/system-connections";
/// Source: NetworkManager.conf(5), keyfile.path.
constexpr std::array<std::string_view, 3> kProfileDirectories{
    "/usr/lib/NetworkManager/system-connections", kGeneratedDirectory, "/etc/NetworkManager/system-connections"};
/// Of several files with the same name, netplan reads the last. Source: netplan(5).
constexpr std::array<std::string_view, 4> kNetplanDirectories{"/usr/lib/netplan", "/lib/netplan", "/etc/netplan",
                                                              "/run/netplan"};

/// The value of the first of these keys that is set. Some settings have two names.
std::string one_of(const std::map<std::string, std::string>& settings, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = settings.find(key); found != settings.end()) return found->second;
  }
  return "";
}

std::optional<PcieLink> pcie_link(const NodeReader& node, const std::string& device) {
  if (first_line_of(node, device + "current_link_width").empty()) return std::nullopt;
  return pcie_link_from([&](const char* file) { return first_line_of(node, device + file); });
}

bool managed_by_networkd(const NodeReader& node, const std::string& index) {
  const auto text = node.read_file("/run/systemd/netif/links/" + index);
  if (!text) return false;
  const auto settings = key_file(*text);
  const auto state = one_of(settings, {"ADMIN_STATE"});
  return state == "configured" || state == "configuring" || state == "degraded" || state == "failed";
}

void read_manager(const NodeReader& node, LinkFacts& link, const std::string& index) {
  if (managed_by_networkd(node, index)) link.managed_by = "networkd";
  const auto text = node.read_file("/run/NetworkManager/devices/" + index);
  if (!text) return;
  const auto settings = key_file(*text);
  const auto managed = one_of(settings, {"device.managed"});
  if (managed == "true" || managed == "1" || managed == "yes") link.managed_by = "NetworkManager";
  link.profile = one_of(settings, {"device.connection-uuid"});
}

ProfileOrigin origin_of(const std::string& file, const std::map<std::string, std::string>& settings) {
  const bool made = file.starts_with(kGeneratedDirectory);
  if (made && file.substr(kGeneratedDirectory.size()).starts_with("/netplan-")) return ProfileOrigin::kNetplan;
  return made || one_of(settings, {".nmmeta.nm-generated"}) == "true" ? ProfileOrigin::kGenerated
                                                                      : ProfileOrigin::kHandWritten;
}

void read_profiles(const NodeReader& node, HostFacts& facts) {
  for (const auto directory : kProfileDirectories) {
    for (const auto& name : names_or_reason(node, std::string(directory), "network_profiles", facts.unreadable)) {
      const auto file = std::string(directory) + "/" + name;
      const auto text = text_or_reason(node, file, "network_profiles", facts.unreadable);
      if (text) facts.network_profiles.push_back(network_profile_in(file, *text));
    }
  }
}

void read_netplan_files(const NodeReader& node, HostFacts& facts) {
  std::map<std::string, NetplanFileFacts> by_name;
  for (const auto directory : kNetplanDirectories) {
    for (const auto& name : names_or_reason(node, std::string(directory), "netplan_files", facts.unreadable)) {
      if (!name.ends_with(".yaml")) continue;
      const auto path = std::string(directory) + "/" + name;
      if (const auto status = node.status(path)) by_name[name] = {path, status->mode};
    }
  }
  for (auto& [name, file] : by_name) facts.netplan_files.push_back(std::move(file));
}

}  // namespace

NetworkProfile network_profile_in(const std::string& file, std::string_view text) {
  const auto settings = key_file(text);
  NetworkProfile profile;
  profile.file = file;
  profile.id = one_of(settings, {"connection.id"});
  profile.uuid = one_of(settings, {"connection.uuid"});
  profile.type = one_of(settings, {"connection.type"});
  if (profile.type == "802-3-ethernet") profile.type = "ethernet";
  profile.interface = one_of(settings, {"connection.interface-name"});
  profile.mac = lower_case(one_of(settings, {"ethernet.mac-address", "802-3-ethernet.mac-address"}));
  profile.method = one_of(settings, {"ipv4.method"});
  const auto autoconnect = one_of(settings, {"connection.autoconnect"});
  profile.autoconnect = autoconnect != "false" && autoconnect != "0" && autoconnect != "no";
  profile.origin = origin_of(file, settings);
  return profile;
}

void read_link_details(const NodeReader& node, std::vector<LinkFacts>& links) {
  for (LinkFacts& link : links) {
    const auto directory = "/sys/class/net/" + link.name + "/";
    link.carrier_changes = number_in_text(first_line_of(node, directory + "carrier_changes"));
    if (!link.pci.empty()) link.pcie = pcie_link(node, directory + "device/");
    const auto index = first_line_of(node, directory + "ifindex");
    if (!index.empty()) read_manager(node, link, index);
  }
}

void read_network_configuration(const NodeReader& node, HostFacts& facts) {
  if (node.live()) {
    if (node.status("/run/systemd/netif/state")) facts.renderers.emplace_back("networkd");
    if (node.status("/run/NetworkManager/devices")) facts.renderers.emplace_back("NetworkManager");
  }
  read_profiles(node, facts);
  read_netplan_files(node, facts);
}

}  // namespace sparkplan
