#include "resources/netplan/adoption.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/refusals.h"
#include "resources/netplan/take_over.h"

namespace sparkplan::netplan {
namespace {

/// The mode of a new file; an existing file keeps its mode.
constexpr std::uint32_t kAdoptedMode = 0600;

/// Each key costs several passes over the text. An interface has one definition in a file.
constexpr std::size_t kMostKeys = 8;

/// The keys of the definitions in this text that were observed for `resource`; empty if they are not taken over.
std::vector<std::string> keys_to_empty(const std::string& path, const std::string& text, const Resource& resource,
                                       const StepsInput& input) {
  std::vector<std::string> keys;
  const Value* wanted = resource.desired.find(kAlsoDefinedIn);
  if (wanted == nullptr || wanted->list_items() == nullptr || !wanted->list_items()->empty()) return keys;
  const Present* present = input.seen(resource.id.name);
  const auto tree = parse_yaml(text);
  if (present == nullptr || !tree) return keys;
  const auto sources = texts_in(present->value.find(kAlsoDefinedIn));
  for (const Definition& one : definitions_in(path, *tree)) {
    if (keys.size() == kMostKeys) break;
    if (std::ranges::find(sources, one.source) != sources.end()) keys.push_back(one.id);
  }
  return keys;
}

/// "NetworkManager's "Wired connection 1""
std::string in_words(const Value& profile) { return "NetworkManager's \"" + profile.text_or("name", "") + "\""; }

ForeignClaim claim_about(const ResourceId& id, std::string field, std::string source, std::string message) {
  return {id, std::move(field), Value(), std::move(source), std::move(message)};
}

}  // namespace

Adopt adopt_of(const std::string& interface, const Value& section, const ClusterView& view, const Facts& own) {
  const bool carries_us = !why_untouchable(interface, own.ssh_server_address, own.links).empty();
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

std::optional<Step> shared_file_step(const ArtifactId& artifact, const Stanzas& stanzas, const StepsInput& input,
                                     const TypeInfo& info) {
  const Observation* now = input.seen(artifact);
  const auto text = now == nullptr ? std::nullopt : content_of(*now);
  if (!text) return std::nullopt;
  const Observation* found = input.original(artifact);
  const auto original = found == nullptr ? std::nullopt : content_of(*found);
  std::string wanted = *text;
  std::set<std::string> touched;
  for (const Resource& resource : input.target) {
    for (const std::string& key : keys_to_empty(artifact.name, *text, resource, input)) {
      const auto emptied = with_emptied(wanted, key, resource.id.name);
      if (!emptied || *emptied == wanted) continue;
      wanted = *emptied;
      touched.insert(resource.id.name);
    }
  }
  for (const auto& [key, interface] : emptied_in(*text)) {
    if (stanzas.contains(interface)) continue;
    wanted = with_restored(wanted, key);
    touched.insert(interface);
  }
  TextArtifact file{artifact, wanted, kAdoptedMode, "",
                    [touched](const Change& change) { return touched.contains(change.id.name); }};
  if (original && wanted == *original) file.content.reset();
  if (const auto file_now = decode_file_content(present_value(*now))) file.mode = file_now->mode;
  return text_artifact_step(file, input, info);
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
