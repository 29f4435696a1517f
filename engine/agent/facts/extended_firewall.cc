// The packet filter's rules for input. Source: ufw-framework(8).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/agent/facts/extended_facts.h"
#include "engine/agent/facts/node_text.h"
#include "engine/core/text.h"

namespace sparkplan {

namespace {

constexpr const char* kFirewall = "firewall";

/// The chains of one listing.
struct Listed {
  std::vector<InputChainFacts> input;
  std::vector<InputChainFacts> forward;
};
Listed nft_listed(std::string_view ruleset) {
  return {nft_chains(ruleset, Hook::kInput), nft_chains(ruleset, Hook::kForward)};
}
Listed iptables_listed(std::string_view rules) {
  return {iptables_chains(rules, Hook::kInput), iptables_chains(rules, Hook::kForward)};
}

/// iptables-legacy-save may be the same program as another one.
void add_new(const std::vector<InputChainFacts>& some, std::vector<InputChainFacts>& chains) {
  for (const InputChainFacts& chain : some) {
    if (std::find(chains.begin(), chains.end(), chain) == chains.end()) chains.push_back(chain);
  }
}

/// Empty without ufw.
std::string state_of_ufw(const NodeReader& node) {
  const auto text = node.read_file("/etc/ufw/ufw.conf");
  if (!text) return "";
  std::string state = "inactive";
  for (const auto line : split_lines(*text)) {
    const auto setting = assignment_in(line);
    if (setting && setting->first == "ENABLED" && setting->second == "yes") state = "active";
  }
  return state;
}

/// Nothing if no program lists the rules; `facts.unreadable` has the reason.
std::optional<Listed> listed_chains(const NodeReader& node, ExtendedFacts& facts) {
  const std::vector<std::string> nft{"nft", "list", "ruleset"};
  const std::vector<std::string> iptables{"iptables-save"};
  const auto ruleset = answer_of(node, nft);
  if (ruleset) return nft_listed(*ruleset);
  const ErrorCode why = ruleset.error().code;
  // An nft that reaches a limit may list tables that iptables does not know, so iptables is no replacement then.
  if (why == ErrorCode::kNotFound || why == ErrorCode::kUnsupported) {
    if (const auto rules = printed_by(node, iptables, kFirewall, facts)) return iptables_listed(*rules);
  }
  // The failure of nft explains more than the failure of iptables.
  if (why != ErrorCode::kNotFound) facts.unreadable[kFirewall] = ruleset.error().describe();
  return std::nullopt;
}

/// The kernel keeps the tables of iptables-legacy apart: nft and iptables-nft do not list them. Source: iptables(8).
std::optional<Listed> legacy_chains(const NodeReader& node, ExtendedFacts& facts) {
  const auto tables = node.read_file("/proc/net/ip_tables_names");
  if (!tables && tables.error().code != ErrorCode::kNotFound) {
    facts.unreadable.try_emplace(kFirewall, tables.error().describe());
  }
  if (!tables || trim(*tables).empty()) return std::nullopt;
  const std::vector<std::string> legacy{"iptables-legacy-save"};
  ExtendedFacts asked;
  if (const auto rules = printed_by(node, legacy, kFirewall, asked)) return iptables_listed(*rules);
  const auto why = asked.unreadable.find(kFirewall);
  facts.unreadable.try_emplace(kFirewall,
                               why != asked.unreadable.end()
                                   ? why->second
                                   : "iptables-legacy has tables, but iptables-legacy-save is not installed");
  return std::nullopt;
}

}  // namespace

void read_firewall(const NodeReader& node, ExtendedFacts& facts) {
  FirewallFacts firewall;
  firewall.ufw = state_of_ufw(node);
  const auto listed = listed_chains(node, facts);
  const auto legacy = legacy_chains(node, facts);
  for (const auto* part : {&listed, &legacy}) {
    if (!*part) continue;
    add_new((*part)->input, firewall.input_chains);
    add_new((*part)->forward, firewall.forward_chains);
  }
  if (firewall.ufw == "active" && !listed && !legacy) {
    facts.unreadable.try_emplace(kFirewall, "ufw is active, but neither nft nor iptables-save is installed");
  }
  if (listed || legacy || !firewall.ufw.empty()) facts.firewall = std::move(firewall);
}

}  // namespace sparkplan
