#include "engine/domain/fabric/fabric_interfaces.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "engine/core/finding.h"

namespace sparkplan {
namespace {

constexpr int kHalvesOfAPort = 2;
constexpr std::string_view kLinkLocal = "169.254.";

const LinkFacts* find_link(const Facts& facts, const std::string& name) {
  const auto found =
      std::find_if(facts.links.begin(), facts.links.end(), [&](const LinkFacts& link) { return link.name == name; });
  return found == facts.links.end() ? nullptr : &*found;
}

/// The number behind the last "np" of "enp1s0f1np1": the QSFP port, as udev puts it into the name.
std::optional<int> port_in_name(const std::string& name) {
  const auto at = name.rfind("np");
  if (at == std::string::npos || at < 2) return std::nullopt;
  int port = 0;
  const auto [end, error] = std::from_chars(name.data() + at + 2, name.data() + name.size(), port);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return port;
}

bool is_of_port(const LinkFacts& link, int port) {
  if (!link.kind.empty() && link.kind != "veth") return false;  // A bond or VLAN on top of it.
  if (!link.port.empty()) return link.port == "p" + std::to_string(port);
  return port_in_name(link.name) == port;
}

/// Half A is the one at the lower PCI address; without any, "enp..." comes before "enP2p...".
std::vector<const LinkFacts*> halves_of_port(const Facts& facts, int port) {
  std::vector<const LinkFacts*> halves;
  for (const LinkFacts& link : facts.links) {
    if (is_of_port(link, port)) halves.push_back(&link);
  }
  const auto key = [](const LinkFacts* link) {
    return std::tuple(link->pci, !link->name.starts_with("enp"), link->name);
  };
  std::sort(halves.begin(), halves.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  return halves;
}

/// Source: the interface names of DGX OS on a DGX Spark.
std::string well_known_name(int port, int half) {
  const std::string number = std::to_string(port);
  return (half == 0 ? "enp1s0f" : "enP2p1s0f") + number + "np" + number;
}

/// enP2p1s0f1np1 -> roceP2p1s0f1; nothing for other names.
std::vector<std::string> well_known_hcas(const std::string& interface) {
  const auto end = interface.rfind("np");
  if (!interface.starts_with("en") || end == std::string::npos || end <= 2) return {};
  return {"roce" + interface.substr(2, end - 2)};
}

class Search {
 public:
  Search(const NodeSpec& node, const Facts& facts, const std::string& profile)
      : node_(node), facts_(facts), is_spark_(facts.live ? is_dgx_spark(facts) : profile == "dgx-spark") {
    const auto section = node.sections.find("fabric");
    if (section == node.sections.end()) return;
    one_port_ = section->second.find("port") != nullptr;
    port_ = static_cast<int>(section->second.integer_or("port", 1));
  }

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

  /// In a fabric of one port all halves are of that port; else they count on from port 0.
  void find_by_port(const FabricPort& wanted) {
    const int port = one_port_ ? port_ : wanted.half / kHalvesOfAPort;
    const int half = wanted.half % kHalvesOfAPort;
    const auto halves = halves_of_port(facts_, port);
    if (halves.size() == kHalvesOfAPort) {
      const LinkFacts* link = halves[static_cast<std::size_t>(half)];
      add(link->name, wanted, link);
    } else if (halves.empty() && is_spark_) {
      add(well_known_name(port, half), wanted, nullptr);
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
      if (is_spark_) port.hcas = well_known_hcas(name);
    }
    result_.interfaces.push_back(std::move(port));
  }

  void report_port(const FabricPort& wanted, int port, const std::vector<const LinkFacts*>& halves) {
    if (half_reported_) return;
    half_reported_ = true;
    std::string found = halves.empty() ? "no interface" : "";
    for (const LinkFacts* link : halves) found += (found.empty() ? "" : ", ") + link->name;
    report(wanted, "fabric.no-port",
           "QSFP port " + std::to_string(port) + " should be two interfaces, and this node shows " + found,
           "name them below this node: fabric: {interfaces: [{name: ...}, ...]}");
  }

  void report(const FabricPort& wanted, std::string code, std::string message, std::string hint) {
    result_.diagnostics.push_back(finding(std::move(code), std::move(message), std::move(hint), wanted.where));
  }

  std::string why_absent() const {
    if (!facts_.live) return "nothing is running there";
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
  bool one_port_ = false;
  int port_ = 1;
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
    if (port.link_local) take_link_local(port);
  }
  return ports;
}

}  // namespace sparkplan
