// Interfaces of the fabric: existence, state, carrier, PCIe width and speed, declared addresses.
#include <algorithm>
#include <array>

#include "engine/doctor/examinations.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

constexpr Needs kFabric{Need::kRunning, Need::kFabric};
constexpr int kSparkMbps = 200'000;
constexpr int kSparkLanes = 4;
constexpr std::int64_t kManyCarrierChanges = 20;

/// A fault of one half's link; empty: none.
using LinkFault = std::string (*)(const ObservedPort& half, const LinkFacts& link);

/// The faults of all halves that have a link.
template <CheckStatus kStatus, LinkFault kFault>
Verdict each_link(const ExaminedNode& node) {
  Complaints complaints;
  bool any = false;
  for (const ObservedPort& half : node.halves) {
    if (half.link == nullptr) continue;
    any = true;
    if (const auto complaint = kFault(half, *half.link); !complaint.empty()) complaints.add(complaint);
  }
  return any ? complaints.as(kStatus) : skip("the fabric has no interface on this node");
}

Verdict absent(const ExaminedNode& node) {
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    if (half.link != nullptr) continue;
    complaints.add(half.interface.empty() ? "no interface is half " + half.label() : half.interface + " is missing");
  }
  return complaints.as(CheckStatus::kFail);
}

std::string down(const ObservedPort&, const LinkFacts& link) { return link.up ? "" : link.name + " is down"; }

/// Another port that has a carrier: the cable may be plugged in there.
std::string other_port(const ExaminedNode& node) {
  for (const LinkFacts& link : node.facts->links) {
    if (std::find(node.others.begin(), node.others.end(), link.name) != node.others.end()) continue;
    if (link.carrier && !link.port.empty() && half_with(node, link.name) == nullptr) return link.name;
  }
  return "";
}

bool all_without_carrier(const ExaminedNode& node) {
  return std::none_of(node.halves.begin(), node.halves.end(),
                      [](const ObservedPort& half) { return half.link != nullptr && half.link->carrier; });
}

std::string without_carrier(const ObservedPort&, const LinkFacts& link) {
  return !link.up || link.carrier ? "" : link.name + " has no carrier";
}

Verdict no_carrier(const ExaminedNode& node) {
  auto verdict = each_link<CheckStatus::kFail, without_carrier>(node);
  // If the other port has a carrier instead, row cabled-elsewhere applies.
  const bool elsewhere = all_without_carrier(node) && !other_port(node).empty();
  return verdict.status == CheckStatus::kFail && elsewhere ? pass() : verdict;
}

Verdict cabled_elsewhere(const ExaminedNode& node) {
  const auto other = other_port(node);
  if (!all_without_carrier(node) || other.empty()) return pass();
  return fail("no declared interface has a carrier, but " + other + " has one");
}

std::string member(const ObservedPort&, const LinkFacts& link) {
  return link.master.empty() ? "" : link.name + " belongs to " + link.master;
}

Verdict stale_bond(const ExaminedNode& node) {
  Complaints complaints;
  for (const LinkFacts& link : node.facts->links) {
    if (link.kind == "bond" && !link.carrier) complaints.add("the bond " + link.name + " has no carrier");
  }
  return complaints.as(CheckStatus::kWarn);
}

std::string mtu(const ObservedPort& half, const LinkFacts& link) {
  if (!half.mtu || link.mtu == *half.mtu) return "";
  return link.name + " has an MTU of " + std::to_string(link.mtu) + " instead of " + std::to_string(*half.mtu);
}

bool has(const LinkFacts& link, const ObservedPort& half) {
  return std::find(link.addresses.begin(), link.addresses.end(), half.address_text()) != link.addresses.end();
}

std::string no_address(const ObservedPort& half, const LinkFacts& link) {
  if (half.address.empty() || has(link, half)) return "";
  return link.name + " does not have " + half.address_text();
}

std::string extra_address(const ObservedPort& half, const LinkFacts& link) {
  std::string others;
  for (const std::string& address : link.addresses) {
    const bool wanted = address == half.address_text() || (half.link_local && address.starts_with("169.254."));
    if (!is_version_6(address) && !wanted) others += (others.empty() ? "" : ", ") + address;
  }
  return others.empty() ? others : link.name + " also has " + others;
}

std::string slow_link(const ObservedPort&, const LinkFacts& link) {
  if (!link.speed_mbps || *link.speed_mbps >= kSparkMbps) return "";
  return link.name + " runs at " + std::to_string(*link.speed_mbps / 1000) + " Gb/s";
}

Verdict narrow_pcie(const ExaminedNode& node) {
  const bool spark = is_dgx_spark(*node.facts);
  Complaints complaints;
  for (const ObservedPort& half : node.halves) {
    if (half.link == nullptr || !half.link->pcie || half.link->pcie->width == 0) continue;
    const PcieLink& pcie = *half.link->pcie;
    const int wanted = spark ? kSparkLanes : pcie.max_width;
    if (pcie.width >= wanted) continue;
    complaints.add(half.link->name + " has " + std::to_string(pcie.width) + " PCIe lanes of " + std::to_string(wanted));
  }
  return complaints.as(CheckStatus::kFail);
}

std::string slow_pcie(const ObservedPort&, const LinkFacts& link) {
  const bool known = link.pcie && !link.pcie->speed.empty() && !link.pcie->max_speed.empty();
  if (!known || link.pcie->speed == link.pcie->max_speed) return "";
  return link.name + " runs at " + link.pcie->speed + " of " + link.pcie->max_speed;
}

std::string flapping(const ObservedPort&, const LinkFacts& link) {
  if (!link.carrier_changes || *link.carrier_changes <= kManyCarrierChanges) return "";
  return link.name + " has lost or gained its carrier " + std::to_string(*link.carrier_changes) + " times";
}

Verdict no_adapter(const ExaminedNode& node) {
  const auto& links = node.facts->links;
  const bool any = std::any_of(links.begin(), links.end(), [](const auto& one) { return one.driver == "mlx5_core"; });
  return any ? pass() : fail("no interface belongs to a ConnectX-7");
}

constexpr auto kLinksExaminations = std::to_array<Examination>({
    {"adapter-absent", no_adapter, {Need::kRunning, Need::kSpark, Need::kFabric}},
    {"link-absent", absent, kFabric},
    {"link-down", each_link<CheckStatus::kFail, down>, kFabric},
    {"link-no-carrier", no_carrier, kFabric},
    {"cabled-elsewhere", cabled_elsewhere, kFabric},
    {"link-member", each_link<CheckStatus::kFail, member>, kFabric},
    {"bond-stale", stale_bond, {Need::kRunning}},
    {"link-mtu", each_link<CheckStatus::kFail, mtu>, kFabric},
    {"link-no-address", each_link<CheckStatus::kFail, no_address>, kFabric},
    {"address-extra", each_link<CheckStatus::kWarn, extra_address>, kFabric},
    {"link-slow", each_link<CheckStatus::kFail, slow_link>, {Need::kSpark, Need::kRunning, Need::kFabric}},
    {"pcie-narrow", narrow_pcie, {Need::kPcie, Need::kRunning, Need::kFabric}},
    {"pcie-slow", each_link<CheckStatus::kWarn, slow_pcie>, {Need::kPcie, Need::kRunning, Need::kFabric}},
    {"link-flapping", each_link<CheckStatus::kWarn, flapping>, kFabric},
});

}  // namespace

std::span<const Examination> link_examinations() { return kLinksExaminations; }

}  // namespace sparkplan
