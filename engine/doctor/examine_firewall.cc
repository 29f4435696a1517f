// Whether the nodes' packet filters let in what comes through the fabric.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestRule = 160;

/// A stretch of addresses; the length is 32 for a single one.
struct Addresses {
  std::string base;
  int length = 32;
};

Addresses addresses_in(const std::string& text) {
  Addresses addresses;
  const auto slash = text.find('/');
  addresses.base = text.substr(0, slash);
  if (slash != std::string::npos) {
    std::from_chars(text.data() + slash + 1, text.data() + text.size(), addresses.length);
  }
  return addresses;
}

bool overlap(const Addresses& one, const Addresses& other) {
  const int length = std::min(one.length, other.length);
  return length <= 0 || in_one_network(one.base, other.base, length);
}

bool holds_all(const Addresses& outer, const Addresses& inner) {
  return outer.length <= inner.length && overlap(outer, inner);
}

/// "enp*" stands for all that begin so.
bool is_named(const std::string& interface, const std::string& pattern) {
  if (!pattern.ends_with('*')) return interface == pattern;
  return interface.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

const Addresses kLinkLocal{"169.254.0.0", 16};

/// The verdict that holds for what comes from there to the half; null: it is let in, as no rule decides.
const InputVerdictFacts* verdict_on(const InputChainFacts& chain, const ExaminedHalf& half, const Addresses& from) {
  const Addresses to = half.link_local ? kLinkLocal : Addresses{half.address};
  for (const InputVerdictFacts& one : chain.verdicts) {
    if (!one.interface.empty() && !is_named(half.interface, one.interface)) continue;
    if (!one.to.empty() && !holds_all(addresses_in(one.to), to)) continue;
    const Addresses wanted = one.from.empty() ? Addresses{"", 0} : addresses_in(one.from);
    if (holds_all(wanted, from)) return &one;
    // A rule for a part of them that lets it in says nothing of the others.
    if (overlap(wanted, from) && one.verdict != "accept") return &one;
  }
  return nullptr;
}

/// Who else is in the network of the half; where nobody is known, all of that network.
std::vector<Addresses> sources_of(const ExaminedCluster& cluster, const ExaminedNode& node, const ExaminedHalf& half) {
  if (half.link_local) return {kLinkLocal};
  if (half.address.empty()) return {};
  std::vector<Addresses> sources;
  for (const ExaminedNode& other : cluster.nodes) {
    if (other.name == node.name) continue;
    for (const ExaminedHalf& end : other.halves) {
      if (overlap({half.address, half.prefix_length}, {end.address})) sources.push_back({end.address});
    }
  }
  if (sources.empty()) sources.push_back({half.address, half.prefix_length});
  return sources;
}

std::string described(const InputChainFacts& chain, const InputVerdictFacts& verdict) {
  const bool cut = verdict.rule.size() > kLongestRule;
  return chain.name + " (" + verdict.rule.substr(0, kLongestRule) + (cut ? " ..." : "") + ")";
}

/// What the chain makes of one half, told once for each of its rules.
void look_at_half(const ExaminedCluster& cluster, const ExaminedNode& node, const ExaminedHalf& half,
                  const InputChainFacts& chain, Complaints& dropped, Complaints& unclear) {
  std::map<const InputVerdictFacts*, std::vector<std::string>> stopped;
  const auto sources = sources_of(cluster, node, half);
  for (const Addresses& from : sources) {
    const InputVerdictFacts* verdict = verdict_on(chain, half, from);
    if (verdict != nullptr && verdict->verdict != "accept") stopped[verdict].push_back(from.base);
  }
  for (const auto& [verdict, from] : stopped) {
    if (verdict->verdict == "drop") {
      dropped.add(described(chain, *verdict) + " drops what comes through " + half.interface +
                  (from.size() == sources.size() ? "" : " from " + join(from, ", ")));
    } else {
      unclear.add("what " + described(chain, *verdict) + " does to what comes through " + half.interface +
                  " is not understood");
    }
  }
}

}  // namespace

Opinion firewall_drops(const ExaminedCluster& cluster, const ExaminedNode& node) {
  if (!node.facts->live) return skip("nothing is running there");
  if (node.halves.empty()) return skip("no fabric declared");
  const auto* survey = survey_of(node);
  if (survey == nullptr) return skip("not asked");
  if (!survey->firewall) return skip("there is no firewall");
  Complaints dropped;
  Complaints unclear;
  for (const InputChainFacts& chain : survey->firewall->input_chains) {
    for (const ExaminedHalf& half : node.halves) {
      if (!half.interface.empty()) look_at_half(cluster, node, half, chain, dropped, unclear);
    }
  }
  if (!dropped.any() && unclear.any()) return unclear.as(Verdict::kSkip);
  const std::string& ufw = survey->firewall->ufw;
  return dropped.as(Verdict::kFail, ufw.empty() ? "" : "ufw is " + ufw);
}

}  // namespace sparkplan
