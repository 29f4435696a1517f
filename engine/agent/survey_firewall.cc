// What lets packets in. Sources: nft(8), iptables-save(8), ufw-framework(8).
#include <algorithm>
#include <string>
#include <vector>

#include "engine/agent/node_text.h"
#include "engine/agent/survey.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

void add_once(std::vector<std::string>& list, std::string_view text) {
  if (text.empty() || std::find(list.begin(), list.end(), text) != list.end()) return;
  list.emplace_back(text);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(trim(line), ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// The word behind `key`, without quotes and without the bar of a chain's options.
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto found = std::find(words.begin(), words.end(), key);
  if (found == words.end() || found + 1 == words.end()) return {};
  auto word = *(found + 1);
  while (!word.empty() && (word.back() == ';' || word.back() == '"' || word.back() == ',')) word.remove_suffix(1);
  if (!word.empty() && word.front() == '"') word.remove_prefix(1);
  return word;
}

/// Whether a rule says nothing more than where a packet comes from: not for one port, state or protocol only.
bool only_names_a_source(const std::vector<std::string_view>& words) {
  for (const std::string_view narrower :
       {"dport", "sport", "daddr",   "state",   "icmp", "icmpv6", "l4proto",   "protocol", "udp", "tcp",
        "type",  "limit", "--dport", "--sport", "-d",   "-p",     "--ctstate", "--state",  "!=",  "!"}) {
    if (std::find(words.begin(), words.end(), narrower) != words.end()) return false;
  }
  return true;
}

void add_nft_rule(std::string_view line, FirewallFacts& facts) {
  const auto words = words_of(line);
  if (words.empty() || !only_names_a_source(words)) return;
  const auto interface = word_after(words, "iifname").empty() ? word_after(words, "iif") : word_after(words, "iifname");
  const auto network = word_after(words, "saddr");
  if (words.back() == "drop" && network.empty()) add_once(facts.dropped_interfaces, interface);
  if (words.back() != "accept") return;
  if (!interface.empty() && network.empty()) add_once(facts.accepted_interfaces, interface);
  if (!network.empty() && interface.empty()) add_once(facts.accepted_networks, network);
}

}  // namespace

void add_nft_ruleset(std::string_view ruleset, FirewallFacts& facts) {
  std::string table;
  std::string chain;
  bool at_input = false;
  for (const auto whole : split_lines(ruleset)) {
    const auto line = trim(whole);
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "table" && words.size() >= 3) table = std::string(words[1]) + " " + std::string(words[2]);
    if (words[0] == "chain" && words.size() >= 2) {
      chain = table + " " + std::string(words[1]);
      at_input = false;
    } else if (words[0] == "type") {
      at_input = word_after(words, "hook") == "input";
      if (at_input && word_after(words, "policy") == "drop") add_once(facts.closed_chains, chain);
    } else if (at_input && (line == "drop" || (words[0] == "counter" && words.back() == "drop" && words.size() == 6))) {
      // A last rule that drops is a policy by another name.
      add_once(facts.closed_chains, chain);
    } else {
      add_nft_rule(line, facts);
    }
  }
}

void add_iptables_rules(std::string_view rules, FirewallFacts& facts) {
  std::string table;
  for (const auto line : split_lines(rules)) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (line.front() == '*') table = line.substr(1);
    if (words[0] == ":INPUT" && words.size() > 1 && words[1] == "DROP") add_once(facts.closed_chains, table + " INPUT");
    if (words[0] != "-A" || !only_names_a_source(words)) continue;
    const auto interface = word_after(words, "-i");
    const auto network = word_after(words, "-s");
    const auto verdict = word_after(words, "-j");
    if (verdict == "DROP" && network.empty()) add_once(facts.dropped_interfaces, interface);
    if (verdict != "ACCEPT") continue;
    if (!interface.empty() && network.empty()) add_once(facts.accepted_interfaces, interface);
    if (!network.empty() && interface.empty()) add_once(facts.accepted_networks, network);
  }
}

void survey_firewall(const NodeReader& node, SurveyFacts& facts) {
  FirewallFacts firewall;
  bool there = false;
  if (const auto text = node.read_file("/etc/ufw/ufw.conf")) {
    there = true;
    firewall.ufw = "inactive";
    for (const auto line : split_lines(*text)) {
      const auto setting = assignment_in(line);
      if (setting && setting->first == "ENABLED" && setting->second == "yes") firewall.ufw = "active";
    }
  }
  const std::vector<std::string> nft{"nft", "list", "ruleset"};
  const std::vector<std::string> iptables{"iptables-save"};
  if (const auto ruleset = printed_by(node, nft, "firewall", facts)) {
    there = true;
    add_nft_ruleset(*ruleset, firewall);
  } else if (const auto rules = printed_by(node, iptables, "firewall", facts)) {
    there = true;
    add_iptables_rules(*rules, firewall);
  }
  if (there) facts.firewall = std::move(firewall);
}

}  // namespace sparkplan
