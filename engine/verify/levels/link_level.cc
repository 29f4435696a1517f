#include "engine/verify/levels/levels.h"

#include <algorithm>

namespace sparkplan {
namespace {

bool has_address(const LinkFacts& link, const ObservedPort& half) {
  return std::find(link.addresses.begin(), link.addresses.end(), half.address_text()) != link.addresses.end();
}

/// Another interface of the same kind that has a carrier: the cable may be plugged in there.
std::string hint_at_other_port(const Facts& facts, const VerifyNode& node) {
  const auto others = other_interface_names(*node.spec);
  for (const LinkFacts& link : facts.links) {
    if (std::find(others.begin(), others.end(), link.name) != others.end()) continue;
    const bool declared = std::any_of(node.halves.begin(), node.halves.end(),
                                      [&](const ObservedPort& half) { return half.interface == link.name; });
    if (!declared && link.carrier && !link.port.empty()) return ", while " + link.name + " has one";
  }
  return "";
}

/// The lowest fault decides: faults above it would only follow from it.
void judge(Check& check, const VerifyNode& node, const ObservedPort& half) {
  const auto fail = [&](RowId row, const std::string& details) { diagnose(check, CheckStatus::kFail, row, details); };
  if (half.link == nullptr) {
    if (half.interface.empty()) return fail("link-unnamed", half.absent_because);
    return fail("link-absent", half.interface + " is missing");
  }
  const LinkFacts& link = *half.link;
  if (!link.up) return fail("link-down", link.name + " is down");
  if (!link.carrier)
    return fail("link-no-carrier", link.name + " has no carrier" + hint_at_other_port(*node.facts, node));
  if (!link.master.empty()) return fail("link-member", link.name + " belongs to " + link.master);
  if (half.mtu && link.mtu != *half.mtu) {
    return fail("link-mtu",
                link.name + " has an MTU of " + std::to_string(link.mtu) + " instead of " + std::to_string(*half.mtu));
  }
  if (half.link_local && half.address.empty()) {
    return fail("link-no-link-local", link.name + " has no link-local address");
  }
  if (!half.address.empty() && !has_address(link, half)) {
    return fail("link-no-address", link.name + " does not have " + half.address_text());
  }
  check.status = CheckStatus::kPass;
}

std::string seen(const ObservedPort& half) {
  if (half.link == nullptr) return "missing";
  const LinkFacts& link = *half.link;
  return link.name + (link.up ? " up" : " down") + (link.carrier ? "" : ", no carrier") + ", MTU " +
         std::to_string(link.mtu);
}

Check check_half(const VerifyNode& node, const ObservedPort& half) {
  Check check = skipped(Level::kLink, {node.name()}, half.label(), "");
  check.text = seen(half);
  judge(check, node, half);
  return check;
}

std::string reason_for_none(const VerifyNode& node) {
  if (!node.can_be_asked()) return node.absence();
  if (!node.facts->live) return "the node is not a running system";
  return node.halves.empty() ? "no fabric declared" : "";
}

}  // namespace

std::vector<Check> verify_links(VerifyContext& context) {
  std::vector<Check> checks;
  for (const VerifyNode& node : context.nodes) {
    if (const auto reason = reason_for_none(node); !reason.empty()) {
      checks.push_back(skipped(Level::kLink, {node.name()}, "", reason));
      // A node that was not read may have one.
      const bool was_read = node.can_be_asked() && node.facts->live;
      if (was_read && node.spec->fabric.empty()) checks.back().fix = kDeclareFabric;
      continue;
    }
    for (const ObservedPort& half : node.halves) checks.push_back(check_half(node, half));
  }
  return checks;
}

}  // namespace sparkplan
