// Interfaces of the fabric: there, up, connected, as wide and fast as they can be, with the addresses declared.
#include <algorithm>
#include <array>

#include "engine/doctor/examinations.h"

namespace sparkplan {
namespace {

constexpr int kSparkMbps = 200'000;
constexpr int kSparkLanes = 4;
constexpr std::int64_t kManyCarrierChanges = 20;

/// Why nothing can be said of halves; empty when something can.
std::string no_halves(const ExaminedNode& node) {
  if (!node.facts->live) return "nothing is running there";
  return node.halves.empty() ? "no fabric declared" : "";
}

/// Looks at each half that has a link.
template <class Look>
Opinion of_each_link(const ExaminedNode& node, Verdict verdict, Look look) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  bool any = false;
  for (const ExaminedHalf& half : node.halves) {
    if (half.link == nullptr) continue;
    any = true;
    if (auto complaint = look(half, *half.link); !complaint.empty()) complaints.add(complaint);
  }
  return any ? complaints.as(verdict) : skip("no interface of the fabric is there");
}

Opinion absent(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  for (const ExaminedHalf& half : node.halves) {
    if (half.link != nullptr) continue;
    complaints.add(half.interface.empty() ? "nothing is half " + half.label : half.interface + " is not there");
  }
  return complaints.as(Verdict::kFail);
}

Opinion down(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kFail,
                      [](const ExaminedHalf&, const LinkFacts& link) { return link.up ? "" : link.name + " is down"; });
}

/// Another port that has a carrier: the cable may be in that.
std::string other_port(const ExaminedNode& node) {
  for (const LinkFacts& link : node.facts->links) {
    if (link.carrier && !link.port.empty() && half_with(node, link.name) == nullptr) return link.name;
  }
  return "";
}

bool all_without_carrier(const ExaminedNode& node) {
  return std::none_of(node.halves.begin(), node.halves.end(),
                      [](const ExaminedHalf& half) { return half.link != nullptr && half.link->carrier; });
}

Opinion no_carrier(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  // Where the other port has one instead, the row about that says more.
  const bool elsewhere = all_without_carrier(node) && !other_port(node).empty();
  return of_each_link(node, Verdict::kFail, [&](const ExaminedHalf&, const LinkFacts& link) {
    return !link.up || link.carrier || elsewhere ? "" : link.name + " has no carrier";
  });
}

Opinion cabled_elsewhere(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  const auto other = other_port(node);
  if (!all_without_carrier(node) || other.empty()) return pass();
  return fail("no declared interface has a carrier, and " + other + " has one");
}

Opinion member(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kFail, [](const ExaminedHalf&, const LinkFacts& link) {
    return link.master.empty() ? "" : link.name + " belongs to " + link.master;
  });
}

Opinion stale_bond(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!node.facts->live) return skip("nothing is running there");
  Complaints complaints;
  for (const LinkFacts& link : node.facts->links) {
    if (link.kind == "bond" && !link.carrier) complaints.add("the bond " + link.name + " has no carrier");
  }
  return complaints.as(Verdict::kWarn);
}

Opinion mtu(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kFail, [](const ExaminedHalf& half, const LinkFacts& link) {
    if (!half.mtu || link.mtu == *half.mtu) return std::string();
    return link.name + " has an MTU of " + std::to_string(link.mtu) + " instead of " + std::to_string(*half.mtu);
  });
}

bool has(const LinkFacts& link, const ExaminedHalf& half) {
  const auto wanted = half.address + "/" + std::to_string(half.prefix_length);
  return std::find(link.addresses.begin(), link.addresses.end(), wanted) != link.addresses.end();
}

Opinion no_address(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kFail, [](const ExaminedHalf& half, const LinkFacts& link) {
    if (half.link_local || half.address.empty() || has(link, half)) return std::string();
    return link.name + " does not have " + half.address + "/" + std::to_string(half.prefix_length);
  });
}

Opinion extra_address(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kWarn, [](const ExaminedHalf& half, const LinkFacts& link) {
    std::string others;
    for (const std::string& address : link.addresses) {
      const bool ours = address == half.address + "/" + std::to_string(half.prefix_length);
      const bool version_4 = address.find(':') == std::string::npos;
      const bool wanted = ours || (half.link_local && address.starts_with("169.254."));
      if (version_4 && !wanted) others += (others.empty() ? "" : ", ") + address;
    }
    return others.empty() ? others : link.name + " also has " + others;
  });
}

Opinion slow_link(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  return of_each_link(node, Verdict::kFail, [](const ExaminedHalf&, const LinkFacts& link) {
    if (!link.speed_mbps || *link.speed_mbps >= kSparkMbps) return std::string();
    return link.name + " runs at " + std::to_string(*link.speed_mbps / 1000) + " Gb/s";
  });
}

bool any_on_pcie(const ExaminedNode& node) {
  return std::any_of(node.halves.begin(), node.halves.end(),
                     [](const ExaminedHalf& half) { return half.link != nullptr && half.link->pcie; });
}

Opinion narrow_pcie(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!any_on_pcie(node)) return skip("no interface of the fabric is on PCIe");
  const bool spark = is_dgx_spark(*node.facts);
  return of_each_link(node, Verdict::kFail, [&](const ExaminedHalf&, const LinkFacts& link) {
    if (!link.pcie || link.pcie->width == 0) return std::string();
    const int wanted = spark ? kSparkLanes : link.pcie->max_width;
    if (link.pcie->width >= wanted) return std::string();
    return link.name + " has " + std::to_string(link.pcie->width) + " PCIe lanes of " + std::to_string(wanted);
  });
}

Opinion slow_pcie(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!any_on_pcie(node)) return skip("no interface of the fabric is on PCIe");
  return of_each_link(node, Verdict::kWarn, [](const ExaminedHalf&, const LinkFacts& link) {
    const bool known = link.pcie && !link.pcie->speed.empty() && !link.pcie->max_speed.empty();
    if (!known || link.pcie->speed == link.pcie->max_speed) return std::string();
    return link.name + " runs at " + link.pcie->speed + " of " + link.pcie->max_speed;
  });
}

Opinion flapping(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  return of_each_link(node, Verdict::kWarn, [](const ExaminedHalf&, const LinkFacts& link) {
    if (!link.carrier_changes || *link.carrier_changes <= kManyCarrierChanges) return std::string();
    return link.name + " has lost or got its carrier " + std::to_string(*link.carrier_changes) + " times";
  });
}

Opinion no_adapter(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!node.facts->live) return skip("nothing is running there");
  if (!is_dgx_spark(*node.facts)) return skip("no DGX Spark");
  const auto& links = node.facts->links;
  const bool any = std::any_of(links.begin(), links.end(), [](const auto& one) { return one.driver == "mlx5_core"; });
  return any ? pass() : fail("no interface is of a ConnectX-7");
}

constexpr auto kExaminations = std::to_array<Examination>({
    {"adapter-absent", no_adapter},
    {"link-absent", absent},
    {"link-down", down},
    {"link-no-carrier", no_carrier},
    {"cabled-elsewhere", cabled_elsewhere},
    {"link-member", member},
    {"bond-stale", stale_bond},
    {"link-mtu", mtu},
    {"link-no-address", no_address},
    {"address-extra", extra_address},
    {"link-slow", slow_link},
    {"pcie-narrow", narrow_pcie},
    {"pcie-slow", slow_pcie},
    {"link-flapping", flapping},
});

}  // namespace

std::span<const Examination> link_examinations() { return kExaminations; }

}  // namespace sparkplan
