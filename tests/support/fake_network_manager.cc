#include "tests/support/fake_network_manager.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "resources/netplan/netplan_file.h"
#include "tests/support/fake_networkd.h"

namespace sparkplan::test {
namespace {

using Words = std::vector<std::string>;

/// The state of NetworkManager: one file per interface with the path of its active profile.
const std::string kState = "/run/NetworkManager/fake-active";
const std::string kRefusing = "/run/NetworkManager/fake-refusing";
const std::string kStopped = "/run/NetworkManager/fake-stopped";

CommandOutput nmcli_failed(int status, std::string why) { return {status, {}, "Error: " + std::move(why)}; }

Words profile_files(const FakeNode& node) {
  Words files;
  for (const std::string directory :
       {"/run/NetworkManager/system-connections", "/etc/NetworkManager/system-connections"}) {
    const auto names = node.list_directory(directory);
    if (!names) continue;
    for (const auto& name : *names) files.push_back(directory + "/" + name);
  }
  return files;
}

/// The value of KEY= in a keyfile, or `otherwise`.
std::string setting(const std::string& text, const std::string& key, const std::string& otherwise) {
  for (const auto line : split_lines(text)) {
    if (line.starts_with(key + "=")) return std::string(line.substr(key.size() + 1));
  }
  return otherwise;
}

std::string uuid_of(const FakeNode& node, const std::string& file) {
  return setting(node.text_of(file).value_or(""), "uuid", "uuid-of-" + file.substr(file.rfind('/') + 1));
}

std::string interface_of(const FakeNode& node, const std::string& file) {
  for (const auto& path : node.list_directory(kState).value_or(Words())) {
    if (node.text_of(kState + "/" + path) == file) return path;
  }
  return "";
}

/// nmcli's `--terse --fields`.
Result<CommandOutput> show(const FakeNode& node, const std::string& fields, bool only_active) {
  std::string lines;
  for (const auto& file : profile_files(node)) {
    const std::string interface = interface_of(node, file);
    if (only_active && interface.empty()) continue;
    Words words;
    for (const auto field : split(fields, ',')) {
      if (field == "UUID") words.push_back(uuid_of(node, file));
      if (field == "DEVICE") words.push_back(interface);
      if (field == "STATE") words.emplace_back("activated");
      if (field == "FILENAME") words.push_back(file);
      if (field == "NAME") words.push_back(setting(node.text_of(file).value_or(""), "id", "a profile"));
    }
    lines += join(words, ":") + "\n";
  }
  return CommandOutput{0, lines, {}};
}

Result<CommandOutput> bring_up(FakeNode& node, const std::string& uuid, const std::string& interface) {
  const auto files = profile_files(node);
  const auto file =
      std::find_if(files.begin(), files.end(), [&](const auto& one) { return uuid_of(node, one) == uuid; });
  if (file == files.end()) return nmcli_failed(10, "unknown connection '" + uuid + "'.");
  auto link = node.link(interface);
  if (!link) return nmcli_failed(10, "Device '" + interface + "' not found.");
  const std::string text = node.text_of(*file).value_or("");
  const auto stanzas = netplan::parse_file(text);
  const bool waits_for_dhcp = !(stanzas && stanzas->contains(interface)) && setting(text, "address1", "").empty();
  if (node.text_of(kRefusing))
    return nmcli_failed(4, "Connection activation failed: IP configuration could not be reserved");
  if (waits_for_dhcp && !link->carrier) return nmcli_failed(4, "Connection activation failed: device has no carrier");
  link->up = true;
  link->addresses.clear();
  if (stanzas && stanzas->contains(interface)) {
    const netplan::Stanza& stanza = stanzas->at(interface);
    if (stanza.mtu) link->mtu = *stanza.mtu;
    link->addresses = stanza.addresses;
    if (stanza.link_local) link->addresses.emplace_back("169.254.17.4/16");
    set_fake_routes(node, interface, stanza.routes);
  } else {
    link->mtu = std::stoi(setting(text, "mtu", "1500"));
    if (const auto address = setting(text, "address1", ""); !address.empty()) link->addresses.push_back(address);
  }
  node.add_link(*link);
  node.put_file(kState + "/" + interface, *file);
  return CommandOutput{};
}

void take_down(FakeNode& node, const std::string& interface) {
  auto link = node.link(interface);
  if (!link) return;
  link->addresses.clear();
  link->mtu = 1500;
  node.add_link(*link);
  node.erase(kState + "/" + interface);
}

Result<CommandOutput> load(FakeNode& node, const Words& files) {
  for (const auto& file : files) {
    const std::string interface = interface_of(node, file);
    if (!node.text_of(file) && !interface.empty()) take_down(node, interface);
  }
  return CommandOutput{};
}

Result<CommandOutput> change(const Words& words, FakeNode& node) {
  if (words.size() > 2 && words[0] == "connection" && words[1] == "load") {
    return load(node, Words(words.begin() + 2, words.end()));
  }
  if (words.size() == 4 && words[1] == "down" && words[2] == "uuid") {
    for (const auto& file : profile_files(node)) {
      if (uuid_of(node, file) == words[3]) take_down(node, interface_of(node, file));
    }
    return CommandOutput{};
  }
  if (words.size() == 6 && words[1] == "up" && words[2] == "uuid") return bring_up(node, words[3], words[5]);
  if (words.size() == 5 && words[0] == "device" && words[1] == "set") return CommandOutput{};
  if (words.size() == 3 && words[0] == "device" && words[1] == "disconnect") {
    take_down(node, words[2]);
    return CommandOutput{};
  }
  return nmcli_failed(2, "argument not understood: " + join(words, " "));
}

Result<CommandOutput> nmcli(const FakeNode::Call& call) {
  Words words(call.argv.begin() + 1, call.argv.end());
  if (call.node.text_of(kStopped)) return nmcli_failed(8, "NetworkManager is not running.");
  if (words == Words{"-t", "-f", "RUNNING", "general"}) return CommandOutput{0, "running\n", {}};
  if (words.size() >= 5 && words[0] == "-t" && words[3] == "connection" && words[4] == "show") {
    return show(call.node, words[2], words.size() == 6 && words[5] == "--active");
  }
  if (call.writable == nullptr) return nmcli_failed(2, "a change through query()");
  if (words[0] == "--wait") words.erase(words.begin(), words.begin() + 2);
  return change(words, *call.writable);
}

}  // namespace

void install_fake_network_manager(FakeNode& node) { node.add_program("nmcli", nmcli); }

void stop_fake_network_manager(FakeNode& node) { node.put_file(kStopped, ""); }

void refuse_activations(FakeNode& node) { node.put_file(kRefusing, ""); }

void make_active(FakeNode& node, const std::string& interface, const std::string& file) {
  node.put_file(kState + "/" + interface, file);
}

std::string active_profile(const FakeNode& node, const std::string& interface) {
  return node.text_of(kState + "/" + interface).value_or("");
}

}  // namespace sparkplan::test
