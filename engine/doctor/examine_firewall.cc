// Whether the nodes' packet filters accept the traffic of the fabric.
#include <optional>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

std::optional<Ipv4Network> network_of(const ObservedPort& half) {
  if (half.link_local) return Ipv4Network{{(169U << 24) | (254U << 16)}, 16};
  const auto own = parse_ipv4(half.address);
  return own ? std::optional(Ipv4Interface{*own, half.prefix_length}.network()) : std::nullopt;
}

Ipv4Network source_of(const InputVerdictFacts& verdict) {
  return parse_ipv4_network(verdict.from).value_or(Ipv4Network{});
}

/// The first verdict on a part of the half's incoming traffic; null: all of it is accepted.
const InputVerdictFacts* verdict_on(const InputChainFacts& chain, const std::string& interface,
                                    const Ipv4Network& network) {
  for (const InputVerdictFacts& one : chain.verdicts) {
    const bool fits = one.interface.empty() || glob_match(one.interface, interface);
    if (fits && source_of(one).overlaps(network)) return &one;
  }
  return nullptr;
}

}  // namespace

Verdict firewall_drops(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (!extended.firewall) return skip("there is no firewall");
  Complaints dropped;
  Complaints unclear;
  for (const InputChainFacts& chain : extended.firewall->input_chains) {
    for (const ObservedPort& half : node.halves) {
      const auto network = network_of(half);
      const auto* verdict = network && !half.interface.empty() ? verdict_on(chain, half.interface, *network) : nullptr;
      if (verdict == nullptr) continue;
      const bool whole = source_of(*verdict).contains(*network);
      if (whole && verdict->verdict == "accept") continue;
      const bool drops = whole && verdict->verdict == "drop";
      (drops ? dropped : unclear)
          .add(chain.name + " (" + verdict->rule + ") " + (drops ? "drops" : "may drop") + " incoming traffic of " +
               half.interface);
    }
  }
  if (!dropped.any() && unclear.any()) {
    unclear.add("`sparkplan verify --level tcp` measures it");
    return unclear.as(CheckStatus::kSkip);
  }
  const std::string& ufw = extended.firewall->ufw;
  return dropped.as(CheckStatus::kFail, ufw.empty() ? "" : "ufw is " + ufw);
}

}  // namespace sparkplan
