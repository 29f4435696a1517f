#include "engine/domain/fabric/fabric_interfaces.h"

#include <algorithm>
#include <charconv>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/model/ipv4.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

constexpr std::string_view kLinkLocal = "169.254.";

const LinkFacts* find_link(const Facts& facts, const std::string& name) {
  const auto found = std::ranges::find_if(facts.links, [&](const LinkFacts& link) { return link.name == name; });
  return found == facts.links.end() ? nullptr : &*found;
}

/// Half A first.
std::vector<const LinkFacts*> halves_of_port(const Facts& facts, int port) {
  std::vector<const LinkFacts*> halves;
  for (const LinkFacts& link : facts.links) {
    if (port_of(link) == port) halves.push_back(&link);
  }
  std::ranges::sort(halves, [](const auto* a, const auto* b) { return order_in_port(*a) < order_in_port(*b); });
  return halves;
}

class Search {
 public:
  Search(const NodeSpec& node, const Facts& facts, const std::string& profile)
      : node_(node), facts_(facts), is_spark_(facts.live ? is_dgx_spark(facts) : profile == "dgx-spark") {}

  FabricInterfaces run() {
    for (const FabricPort& wanted : node_.fabric) {
      if (wanted.interface.empty()) {
        find_by_port(wanted);
      } else {
        find_by_name(wanted);
      }
    }
    return std::move(result_);
  }

 private:
  void find_by_name(const FabricPort& wanted) {
    const LinkFacts* link = find_link(facts_, wanted.interface);
    if (link == nullptr && facts_.live && !(is_spark_ && port_in_name(wanted.interface))) {
      return report(wanted, "fabric.no-interface", "there is no interface " + wanted.interface + " on this node",
                    "it has " + names_of_links());
    }
    add(wanted.interface, wanted, link);
  }

  void find_by_port(const FabricPort& wanted) {
    const int port = port_of_half(node_, wanted.half);
    const int half = wanted.half % kHalvesOfAPort;
    const auto halves = halves_of_port(facts_, port);
    if (halves.size() == kHalvesOfAPort) {
      const LinkFacts* link = halves[static_cast<std::size_t>(half)];
      add(link->name, wanted, link);
    } else if (halves.empty() && is_spark_) {
      add(spark_interface(port, half), wanted, nullptr);
    } else {
      report_port(wanted, port, halves);
    }
  }

  void add(const std::string& name, const FabricPort& wanted, const LinkFacts* link) {
    ObservedPort port{wanted};
    port.interface = name;
    port.link = link;
    if (link != nullptr) {
      port.hcas = link->rdma_devices;
    } else {
      port.absent_because = why_absent();
      if (is_spark_) port.hcas = spark_hcas(name);
    }
    result_.interfaces.push_back(std::move(port));
  }

  void report_port(const FabricPort& wanted, int port, const std::vector<const LinkFacts*>& halves) {
    if (half_reported_) return;
    half_reported_ = true;
    std::string found = halves.empty() ? "no interface" : "";
    for (const LinkFacts* link : halves) found += (found.empty() ? "" : ", ") + link->name;
    report(wanted, "fabric.no-port",
           "QSFP port " + std::to_string(port) + " should have two interfaces, but this node has " + found,
           "list them for this node: fabric: {interfaces: [{name: ...}, ...]}");
  }

  void report(const FabricPort& wanted, std::string code, std::string message, std::string hint) {
    result_.diagnostics.push_back(finding(std::move(code), std::move(message), std::move(hint), wanted.where));
  }

  std::string why_absent() const {
    if (!facts_.live) return "the node is not a running system";
    return "no cable in that port, or the ConnectX-7 is powered off";
  }

  std::string names_of_links() const {
    std::string names;
    for (const LinkFacts& link : facts_.links) names += (names.empty() ? "" : ", ") + link.name;
    return names.empty() ? "none" : names;
  }

  const NodeSpec& node_;
  const Facts& facts_;
  bool is_spark_ = false;
  bool half_reported_ = false;
  FabricInterfaces result_;
};

void take_link_local(ObservedPort& port) {
  if (port.link == nullptr) return;
  for (const std::string& one : port.link->addresses) {
    if (!one.starts_with(kLinkLocal)) continue;
    const auto slash = std::min(one.find('/'), one.size());
    port.address = one.substr(0, slash);
    const std::string length = slash < one.size() ? one.substr(slash + 1) : "";
    std::from_chars(length.data(), length.data() + length.size(), port.prefix_length);
    return;
  }
}

}  // namespace

FabricInterfaces fabric_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile) {
  return Search(node, facts, profile).run();
}

FabricInterfaces other_interfaces(const NodeSpec& node, const Facts& facts, const std::string& profile) {
  const auto section = node.sections.find("fabric");
  if (section == node.sections.end()) return {};
  NodeSpec others{node.name, node.id, {}, {}, node.transport, {}, false, {}, {}, {}};
  for (const Value& record : items_of(section->second.find(kOtherInterfaces))) {
    FabricPort port;
    port.interface = record.text_or("name", "");
    port.half = static_cast<int>(others.fabric.size());
    port.where = place_of(record, "name");
    port.read(record);
    if (const auto address = parse_ipv4_interface(record.text_or("address", ""))) {
      port.address = address->address.str();
      port.prefix_length = address->prefix_length;
    }
    others.fabric.push_back(std::move(port));
  }
  return Search(others, facts, profile).run();
}

std::vector<std::string> other_interface_names(const NodeSpec& node) {
  std::vector<std::string> names;
  const auto section = node.sections.find("fabric");
  if (section == node.sections.end()) return names;
  for (const Value& one : items_of(section->second.find(kOtherInterfaces))) names.push_back(one.text_or("name", ""));
  return names;
}

std::vector<std::string> declared_hcas(const NodeSpec& node) {
  const auto section = node.sections.find("fabric");
  return texts_in(section == node.sections.end() ? nullptr : section->second.find("hcas"));
}

bool declares_fabric(const NodeSpec& node) {
  const auto section = node.sections.find("fabric");
  if (!node.fabric.empty()) return true;
  if (section == node.sections.end() || section->second.is_null()) return false;
  const bool has_others = section->second.find(kOtherInterfaces) != nullptr;
  return !has_others || entries_of(section->second).size() > 1;
}

std::vector<ObservedPort> observed_ports(const NodeSpec& node, const Facts& facts, const std::string& profile) {
  const FabricInterfaces found = fabric_interfaces(node, facts, profile);
  std::vector<ObservedPort> ports;
  for (const FabricPort& declared : node.fabric) {
    const auto named = std::find_if(found.interfaces.begin(), found.interfaces.end(),
                                    [&](const ObservedPort& one) { return one.half == declared.half; });
    ObservedPort& port = ports.emplace_back(named == found.interfaces.end() ? ObservedPort{declared} : *named);
    if (named == found.interfaces.end()) {
      port.interface.clear();
      for (const Diagnostic& why : found.diagnostics) {
        port.absent_because += (port.absent_because.empty() ? "" : "; ") + why.message;
      }
    }
    if (port.link_local && port.address.empty()) take_link_local(port);
  }
  return ports;
}

}  // namespace sparkplan
