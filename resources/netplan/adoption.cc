#include "resources/netplan/adoption.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/refusals.h"

namespace sparkplan::netplan {
namespace {

/// "NetworkManager's "Wired connection 1""
std::string in_words(const Value& profile) { return "NetworkManager's \"" + profile.text_or("name", "") + "\""; }

ForeignClaim claim_about(const ResourceId& id, std::string field, std::string source, std::string message) {
  return {id, std::move(field), Value(), std::move(source), std::move(message)};
}

}  // namespace

Adopt adopt_of(const std::string& interface, const Value& section, const ClusterView& view,
               const OwnConnection& connection) {
  const bool carries_us = !connection.why_untouchable(interface).empty();
  if (view.allow_management_change && carries_us) return Adopt::kTakeOver;
  const std::string adopt = section.text_or("adopt", "");
  if (adopt == "take-over") return Adopt::kTakeOver;
  if (adopt == "keep") return Adopt::kKeep;
  return adopt == "refuse" ? Adopt::kRefuse : Adopt::kUnsaid;
}

bool takes_over(Adopt adopt, const std::vector<Definition>& others) {
  if (adopt == Adopt::kTakeOver) return true;
  return adopt == Adopt::kUnsaid && !others.empty() &&
         std::ranges::all_of(others, [](const Definition& one) { return one.generated; });
}

std::vector<Definition> in_the_way_of(const Stanza& stanza, std::vector<Definition> others) {
  if (stanza.manages_addresses()) return others;
  std::erase_if(others, [](const Definition& one) { return one.is_profile && one.members.empty(); });
  return others;
}

std::optional<Error> why_not_ours(const std::string& interface, const std::vector<Definition>& others, Adopt adopt) {
  for (const Definition& one : others) {
    const bool taken_over = adopt == Adopt::kTakeOver || (adopt == Adopt::kUnsaid && one.generated);
    if (!taken_over) return refused_for(interface, one);
    if (!one.why_not_taken_over.empty()) return not_taken_over(interface, one);
  }
  return std::nullopt;
}

void add_claims(const ResourceId& id, const Observation& link, const std::vector<LinkFacts>& links,
                const ForeignFiles& foreign, std::vector<ForeignClaim>& claims) {
  for (const Definition& one : definitions_of(id.name, links, foreign)) {
    if (!one.generated || gives_way(one)) continue;
    claims.push_back(claim_about(id, "addresses", one.source, "is a profile that NetworkManager generated for it"));
  }
  const Value* profile = present_value(link).find(kProfileBefore);
  if (profile != nullptr) claims.push_back(claim_about(id, "addresses", in_words(*profile), "is active on it"));
}

void add_stale_bonds(const ResourceId& id, const std::vector<LinkFacts>& links, std::vector<ForeignClaim>& claims) {
  for (const LinkFacts& bond : links) {
    if (bond.kind != "bond" || bond.carrier || !bond.up) continue;
    std::vector<std::string> kept;
    std::ranges::copy_if(bond.addresses, std::back_inserter(kept),
                         [](const std::string& address) { return !address.starts_with("fe80:"); });
    if (kept.empty()) continue;
    claims.push_back(claim_about(
        id, "", bond.name,
        "is a bond without a carrier that still has " + join(kept, ", ") + ": traffic to that network is lost"));
  }
}

}  // namespace sparkplan::netplan
