// Whether the nodes' packet filters let in what comes through the fabric.
#include <algorithm>
#include <map>
#include <optional>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

/// Both ends of what a verdict is about; what stands for all addresses contains them.
struct ReadVerdict {
  const InputVerdictFacts* told = nullptr;
  Ipv4Network from;
  Ipv4Network to;
};

struct ReadChain {
  std::string name;
  std::vector<ReadVerdict> verdicts;
};

/// Once for all halves, nodes and verdicts. What nobody here can read is about nobody.
ReadChain read_chain(const InputChainFacts& chain) {
  const auto read = [](const std::string& text) {
    return text.empty() ? std::optional(Ipv4Network{}) : parse_ipv4_network(text);
  };
  ReadChain result{chain.name, {}};
  for (const InputVerdictFacts& one : chain.verdicts) {
    const auto from = read(one.from);
    const auto to = read(one.to);
    if (from && to) result.verdicts.push_back({&one, *from, *to});
  }
  return result;
}

const Ipv4Network kLinkLocal{{(169U << 24) | (254U << 16)}, 16};

/// The verdict that holds for what comes from there to the half; null: it is let in, as no rule decides.
const InputVerdictFacts* verdict_on(const ReadChain& chain, const ObservedPort& half, const Ipv4Network& from) {
  const auto own = parse_ipv4_network(half.address);
  const Ipv4Network to = half.link_local ? kLinkLocal : own.value_or(Ipv4Network{});
  for (const ReadVerdict& one : chain.verdicts) {
    const InputVerdictFacts& told = *one.told;
    // "enp*" stands for all that begin so.
    if (!told.interface.empty() && !glob_match(told.interface, half.interface)) continue;
    if (!one.to.contains(to)) continue;
    if (one.from.contains(from)) return &told;
    // A rule for a part of them that lets it in says nothing of the others.
    if (one.from.overlaps(from) && told.verdict != "accept") return &told;
  }
  return nullptr;
}

/// Who else is in the network of the half; where nobody is known, all of that network.
std::vector<Ipv4Network> sources_of(const ExaminedCluster& cluster, const ExaminedNode& node,
                                    const ObservedPort& half) {
  if (half.link_local) return {kLinkLocal};
  const auto own = parse_ipv4(half.address);
  if (!own) return {};
  const Ipv4Network network = Ipv4Interface{*own, half.prefix_length}.network();
  std::vector<Ipv4Network> sources;
  for (const ExaminedNode& other : cluster.nodes) {
    if (other.name == node.name) continue;
    for (const ObservedPort& end : other.halves) {
      const auto address = parse_ipv4_network(end.address);
      if (address && network.overlaps(*address)) sources.push_back(*address);
    }
  }
  if (sources.empty()) sources.push_back(network);
  return sources;
}

std::string described(const ReadChain& chain, const InputVerdictFacts& verdict) {
  return chain.name + " (" + verdict.rule + ")";
}

/// What the chain makes of one half, told once for each of its rules.
void look_at_half(const ExaminedCluster& cluster, const ExaminedNode& node, const ObservedPort& half,
                  const ReadChain& chain, Complaints& dropped, Complaints& unclear) {
  std::map<const InputVerdictFacts*, std::vector<std::string>> stopped;
  const auto sources = sources_of(cluster, node, half);
  for (const Ipv4Network& from : sources) {
    const InputVerdictFacts* verdict = verdict_on(chain, half, from);
    if (verdict != nullptr && verdict->verdict != "accept") stopped[verdict].push_back(from.base.str());
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

Verdict firewall_drops(const ExaminedCluster& cluster, const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (!extended.firewall) return skip("there is no firewall");
  Complaints dropped;
  Complaints unclear;
  for (const InputChainFacts& told : extended.firewall->input_chains) {
    const ReadChain chain = read_chain(told);
    for (const ObservedPort& half : node.halves) {
      if (!half.interface.empty()) look_at_half(cluster, node, half, chain, dropped, unclear);
    }
  }
  if (!dropped.any() && unclear.any()) return unclear.as(CheckStatus::kSkip);
  const std::string& ufw = extended.firewall->ufw;
  return dropped.as(CheckStatus::kFail, ufw.empty() ? "" : "ufw is " + ufw);
}

}  // namespace sparkplan
