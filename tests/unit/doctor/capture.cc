#include "tests/unit/doctor/capture.h"
#include "tests/support/source_folder.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/facts/node_text.h"
#include "engine/agent/node/systemd_bus.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/fake_node.h"

namespace sparkplan::test {
namespace {

constexpr std::string_view kMark = "== ";
constexpr const char* kSession = "/proc/4242";

struct Section {
  std::vector<std::string> head;  ///< "file", path, mode
  std::string text;
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const auto word : split(line, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

/// Paths may contain blanks, as "Wired connection 1.nmconnection" does; modes begin with 0.
Section head_of(std::string_view line) {
  Section section{words_of(line.substr(kMark.size())), ""};
  auto& head = section.head;
  if (head.at(0) != "file") return section;
  const std::string mode = head.back().starts_with('0') ? head.back() : "0644";
  std::string path;
  for (std::size_t i = 1; i < head.size() && head[i] != mode; ++i) path += (path.empty() ? "" : " ") + head[i];
  head = {"file", path, mode};
  return section;
}

std::vector<Section> sections_of(const std::string& capture) {
  std::vector<Section> sections;
  for (const auto line : split_lines(capture)) {
    if (line.starts_with(kMark)) {
      sections.push_back(head_of(line));
    } else if (!sections.empty()) {
      sections.back().text += std::string(line) + "\n";
    }
  }
  return sections;
}

int octal(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 8);
  return number;
}

void add_program(FakeNode& node, const Section& section) {
  const int status = std::stoi(section.head.at(1));
  const CommandOutput output{status, status == 0 ? section.text : "", status == 0 ? "" : section.text};
  node.add_program(section.head.at(2), [output](const FakeNode::Call&) { return output; });
}

/// As `systemctl show` prints them.
void add_units(FakeNode& node, const std::string& text) {
  node.set_unit_reader([](const FakeNode&, const std::string& name) -> Result<UnitProperties> {
    return UnitProperties{{"Id", name}, {"LoadState", "not-found"}};
  });
  for (const UnitProperties& unit : parse_units(text)) node.add_unit(unit.at("Id"), unit);
}

FakeNode node_of(const std::vector<Section>& sections) {
  FakeNode node;
  for (Section section : sections) {
    if (section.head.at(0) == "units") add_units(node, section.text);
    if (section.head.at(0) == "program") add_program(node, section);
    if (section.head.at(0) != "file") continue;
    const auto& path = section.head.at(1);
    if (path.ends_with("/environ")) std::replace(section.text.begin(), section.text.end(), '\n', '\0');
    node.add_file(path, section.text, static_cast<std::uint32_t>(octal(section.head.at(2))));
  }
  return node;
}

const std::string& text_of(const std::vector<Section>& sections, const std::vector<std::string>& head) {
  for (const Section& section : sections) {
    if (section.head == head) return section.text;
  }
  throw std::out_of_range("no section " + head.back());
}

Value json_of(const std::vector<Section>& sections, const std::string& name) {
  const auto value = parse_plain_json(text_of(sections, {name}));
  if (!value) throw std::invalid_argument(name + ": " + value.error().describe());
  return *value;
}

bool contains(const Value* list, const std::string& text) {
  if (list == nullptr) return false;
  const auto& items = *list->list_items();
  return std::any_of(items.begin(), items.end(), [&](const Value& one) { return *one.string() == text; });
}

LinkFacts link_in(const Value& value, const FakeNode& node) {
  LinkFacts link;
  link.name = value.text_or("ifname", "");
  link.mac = value.text_or("address", "");
  link.mtu = static_cast<int>(value.integer_or("mtu", 0));
  link.up = contains(value.find("flags"), "UP");
  link.carrier = contains(value.find("flags"), "LOWER_UP");
  link.master = value.text_or("master", "");
  link.port = value.text_or("phys_port_name", "");
  if (const Value* info = value.find("linkinfo")) link.kind = info->text_or("info_kind", "");
  for (const Value& address : *value.find("addr_info")->list_items()) {
    link.addresses.push_back(address.text_or("local", "") + "/" + std::to_string(address.integer_or("prefixlen", 0)));
  }
  const auto directory = "/sys/class/net/" + link.name + "/";
  const auto uevent = node.read_file(directory + "device/uevent");
  const auto device = uevent ? key_file(*uevent) : std::map<std::string, std::string>();
  if (const auto driver = device.find("DRIVER"); driver != device.end()) link.driver = driver->second;
  if (const auto slot = device.find("PCI_SLOT_NAME"); slot != device.end()) link.pci = slot->second;
  if (const auto hcas = node.list_directory(directory + "device/infiniband")) link.rdma_devices = *hcas;
  const auto speed = number_in_text(first_line_of(node, directory + "speed"));
  if (link.carrier && speed) link.speed_mbps = static_cast<int>(*speed);
  return link;
}

RouteFacts route_in(const Value& value) {
  RouteFacts route;
  route.interface = value.text_or("dev", "");
  route.destination = value.text_or("dst", "");
  if (route.destination == "default") route.destination = "0.0.0.0/0";
  route.gateway = value.text_or("gateway", "");
  route.protocol = value.text_or("protocol", "");
  route.metric = value.integer_or("metric", 0);
  route.link_down = contains(value.find("flags"), "linkdown");
  return route;
}

/// sysfs writes the long form: "0000:0000:0000:0000:0000:ffff:c0a8:640b".
std::string short_gid(const std::string& gid) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, gid.c_str(), &address) != 1) throw std::invalid_argument("gid " + gid);
  return ::inet_ntop(AF_INET6, &address, text.data(), text.size());
}

/// The "active_mtu: 4096 (5)" below "hca_id: DEVICE".
std::optional<int> active_mtu(const std::string& devinfo, const std::string& device) {
  bool here = false;
  for (const auto line : split_lines(devinfo)) {
    if (line.starts_with("hca_id:")) here = trim(line.substr(7)) == device;
    const auto at = line.find("active_mtu:");
    if (here && at != std::string_view::npos) return static_cast<int>(*number_in_text(line.substr(at)));
  }
  return std::nullopt;
}

RdmaDeviceFacts rdma_device(const std::string& name, const FakeNode& node, const std::string& devinfo) {
  const auto port_directory = "/sys/class/infiniband/" + name + "/ports/1/";
  RdmaPortFacts port;
  const auto state = first_line_of(node, port_directory + "state");
  port.state = state.substr(std::min(state.size(), state.find(": ") + 2));
  port.link_layer = first_line_of(node, port_directory + "link_layer");
  port.active_mtu = active_mtu(devinfo, name);
  if (const auto gids = node.list_directory(port_directory + "gids")) {
    for (const auto& index : *gids) {
      port.gids.push_back({std::stoi(index), first_line_of(node, port_directory + "gid_attrs/types/" + index),
                           short_gid(first_line_of(node, port_directory + "gids/" + index)),
                           first_line_of(node, port_directory + "gid_attrs/ndevs/" + index)});
    }
  }
  RdmaDeviceFacts device;
  device.name = name;
  device.ports = 1;
  device.port_facts = {std::move(port)};
  return device;
}

std::vector<ObservedPort> halves_in(const std::string& text) {
  std::vector<ObservedPort> halves;
  for (const auto line : split_lines(text)) {
    const auto words = words_of(line);
    ObservedPort half;
    half.half = words.at(0).front() - 'A';
    half.interface = words.at(1);
    half.address = words.at(2).substr(0, words.at(2).find('/'));
    half.prefix_length = 24;
    half.mtu = std::stoi(words.at(3));
    half.hcas = {words.at(4)};
    halves.push_back(std::move(half));
  }
  return halves;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string read_capture(const std::string& name) {
  std::ifstream file(source_folder() + "/tests/unit/doctor/captures/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string as_second_node(std::string capture) {
  const std::vector<std::pair<std::string, std::string>> differences{
      {"spark-01", "spark-02"},
      {"10.0.0.11", "10.0.0.12"},
      {"192.168.100.11/", "192.168.100.12/"},
      {"192.168.101.11/", "192.168.101.12/"},
      {"\"192.168.100.11\"", "\"192.168.100.12\""},
      {"\"192.168.101.11\"", "\"192.168.101.12\""},
      {"c0a8:640b", "c0a8:640c"},
      {"c0a8:650b", "c0a8:650c"},
      {"4c:bb:47:00:01", "4c:bb:47:00:02"},
      {"cdef0123456789abc001", "cdef0123456789abc002"},
      {"000000000001", "000000000002"},
      {"AQEBAQEB", "AgICAgIC"},
  };
  for (const auto& [from, to] : differences) replace_all(capture, from, to);
  return capture;
}

ExaminedNode CapturedNode::examined() const {
  ExaminedNode node{name, &facts, declared};
  node.nccl_declared = true;
  if (!declared.empty()) {
    node.frameworks = {{"GLOO_SOCKET_IFNAME", declared.front().interface}, {"VLLM_HOST_IP", declared.front().address}};
  }
  for (ObservedPort& half : node.halves) {
    for (const LinkFacts& link : facts.links) {
      if (link.name == half.interface) half.link = &link;
    }
  }
  return node;
}

CapturedNode captured_node(const std::string& capture) {
  const auto sections = sections_of(capture);
  const FakeNode node = node_of(sections);
  CapturedNode captured;
  captured.name = trim(text_of(sections, {"name"}));
  captured.declared = halves_in(text_of(sections, {"declared"}));
  Facts& facts = captured.facts;
  read_installed_software(node, facts);
  facts.hostname = trim(text_of(sections, {"program", "0", "hostname"}));
  facts.kernel = trim(text_of(sections, {"program", "0", "uname"}));
  facts.machine_id = first_line_of(node, "/etc/machine-id");
  facts.memory_total_bytes = number_in_text(first_line_of(node, "/proc/meminfo")).value_or(0) * 1024;
  facts.ssh_server_address = "10.0.0.1" + captured.name.substr(captured.name.size() - 1);
  const Value links = json_of(sections, "ip-address");
  for (const Value& link : *links.list_items()) facts.links.push_back(link_in(link, node));
  const Value routes = json_of(sections, "ip-route");
  for (const Value& route : *routes.list_items()) facts.host.routes.push_back(route_in(route));
  const auto devices = node.list_directory("/sys/class/infiniband");
  for (const auto& name : devices ? *devices : std::vector<std::string>()) {
    facts.rdma_devices.push_back(rdma_device(name, node, text_of(sections, {"program", "0", "ibv_devinfo"})));
  }
  read_link_details(node, facts.links);
  read_machine(node, facts.host);
  read_network_configuration(node, facts.host);
  facts.extended.emplace();
  read_login(node, kSession, *facts.extended);
  read_programs(node, *facts.extended);
  read_firewall(node, *facts.extended);
  read_containers(node, *facts.extended);
  read_software(node, *facts.extended);
  read_files(node, facts.links, *facts.extended);
  return captured;
}

}  // namespace sparkplan::test
