#include "engine/agent/facts/extended_facts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;
/// Rules by chain name, as listed.
using Chains = std::map<std::string, std::vector<std::string>>;

struct Table {
  std::string name;    ///< "inet filter"
  bool counts = true;  ///< False for a dormant table, and for a family other than IPv4.
  Chains chains;
  std::vector<std::pair<std::string, bool>> inputs;    ///< The chains at hook input; true if their policy is drop.
  std::vector<std::pair<std::string, bool>> forwards;  ///< As inputs, at hook forward.
};

enum class Act : std::uint8_t { kNothing, kAccept, kDrop, kReturn, kJump, kGoto, kUnclear };

struct Rule {
  Act act = Act::kNothing;  ///< kUnclear also if this code does not evaluate a condition of the rule.
  std::string interface;
  std::string from;
  std::string chain;    ///< The target of kJump and kGoto.
  std::string to = {};  ///< The outgoing interface.

  bool fits_all() const { return interface.empty() && from.empty() && to.empty(); }
};

constexpr auto kVerdicts = std::to_array<std::pair<std::string_view, Act>>({{"accept", Act::kAccept},
                                                                            {"ACCEPT", Act::kAccept},
                                                                            {"drop", Act::kDrop},
                                                                            {"DROP", Act::kDrop},
                                                                            {"reject", Act::kDrop},
                                                                            {"REJECT", Act::kDrop},
                                                                            {"return", Act::kReturn},
                                                                            {"RETURN", Act::kReturn},
                                                                            {"jump", Act::kJump},
                                                                            {"-j", Act::kJump},
                                                                            {"goto", Act::kGoto},
                                                                            {"-g", Act::kGoto},
                                                                            {"LOG", Act::kNothing}});

/// Conditions that every new TCP connection over IPv4 to this node meets; left out of a rule.
constexpr auto kAlwaysTrue = std::to_array<std::string_view>(
    {" fib daddr type local ", " -m addrtype --dst-type LOCAL ", " meta l4proto tcp ", " ip protocol tcp ", " -p tcp ",
     " ct state new ", " -m conntrack --ctstate NEW ", " -m state --state NEW ", " meta nfproto ipv4 "});

template <class... Text>
bool has_any(const Words& words, Text... texts) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return ((word == texts) || ...); });
}

/// The words of a rule; sets are lists of words. Text between quotes is one word that begins with the quote.
/// iptables-save escapes a quote within it, nft does not.
Words words_of_rule(std::string_view rule, bool escapes) {
  Words words;
  std::size_t at = 0;
  while ((at = rule.find_first_not_of(" \t,{}", at)) < rule.size()) {
    const bool quoted = rule[at] == '"';
    std::size_t end = quoted ? at + 1 : std::min(rule.find_first_of(" \t,{}", at), rule.size());
    while (quoted && end < rule.size() && rule[end] != '"')
      end += escapes && rule[end] == '\\' ? std::size_t{2} : std::size_t{1};
    end = std::min(end, rule.size());
    words.emplace_back(rule.substr(at, end - at));
    at = quoted ? end + 1 : end;
  }
  const auto comment = std::find_if(words.begin(), words.end(),
                                    [](const auto& word) { return word == "comment" || word == "--comment"; });
  if (words.end() - comment > 1) words.erase(comment, comment + 2);
  return words;
}

/// True for a rule about another protocol, single ports, or existing connections.
bool is_for_others(const Words& words) {
  if (has_any(words, "!", "!=")) return false;
  const bool established = has_any(words, "established", "related", "invalid", "ESTABLISHED", "RELATED", "INVALID");
  if (established && !has_any(words, "new", "NEW")) return true;
  if (has_any(words, "udp", "icmp", "icmpv6", "ipv6-icmp", "igmp", "ip6", "ipv6") && !has_any(words, "tcp"))
    return true;
  if (has_any(words, "multicast", "broadcast", "MULTICAST", "BROADCAST")) return true;
  const bool open_ended = std::any_of(words.begin(), words.end(), [](const auto& word) {
    return word.starts_with('@') || (is_digit(word[0]) && word.find_first_of("-:") != std::string::npos);
  });
  return !open_ended && has_any(words, "dport", "sport", "--dport", "--sport", "--dports", "--sports");
}

std::optional<Act> verdict_in(std::string_view word) {
  const auto found =
      std::find_if(kVerdicts.begin(), kVerdicts.end(), [&](const auto& one) { return one.first == word; });
  return found == kVerdicts.end() ? std::nullopt : std::optional(found->second);
}

/// "\"enp1s0f1np1" -> "enp1s0f1np1", "enp+" -> "enp*"
std::string interface_in(std::string word) {
  if (word.starts_with('"')) word.erase(0, 1);
  if (word.ends_with('+')) word.back() = '*';
  return word;
}

/// A forwarded packet is for another machine, so a rule for packets to this node does not apply to it.
bool is_for_this_node(std::string_view text) {
  return text.find(" fib daddr type local ") != std::string_view::npos ||
         (text.find(" --dst-type LOCAL ") != std::string_view::npos && text.find(" ! ") == std::string_view::npos);
}

/// A rule for other traffic does nothing.
Rule read_rule(std::string text, const Chains& chains, Hook hook) {
  const bool saved = text.starts_with("-A ");
  text = " " + (saved ? text.substr(std::min(text.size(), text.find(' ', 3))) : text) + " ";
  if (hook == Hook::kForward && is_for_this_node(text)) return {};
  for (const auto phrase : kAlwaysTrue) {
    if (const auto found = text.find(phrase); found != std::string::npos) text.erase(found, phrase.size() - 1);
  }
  constexpr std::string_view kForeignReject = R"( xt target "REJECT" )";
  if (const auto found = text.find(kForeignReject); found != std::string::npos)
    text.replace(found, text.npos, " reject");
  const Words words = words_of_rule(text, saved);
  Rule rule;
  if (is_for_others(words)) return rule;
  // Maps, decisions of programs, and iptables extensions that nft cannot express.
  if (has_any(words, "vmap", "queue", "xt", "#")) return {Act::kUnclear, {}, {}, {}};
  bool unclear = false;
  std::size_t at = 0;
  const auto next = [&] { return at < words.size() ? words[at++] : std::string(); };
  while (at < words.size()) {
    const std::string word = next();
    if (word == "iifname" || word == "iif" || word == "-i") {
      rule.interface = interface_in(next());
      unclear = unclear || rule.interface.starts_with('@');
    } else if (word == "oifname" || word == "oif" || word == "-o") {
      const bool excluded = at > 1 && words[at - 2] == "!";
      rule.to = excluded ? "" : interface_in(next());
      if (excluded || rule.to == "!=" || rule.to.starts_with('@')) rule.to.clear();
      unclear = unclear || rule.to.empty();
    } else if (word == "saddr" || word == "-s") {
      rule.from = next();
      unclear = unclear || !parse_ipv4_network(rule.from);
    } else if (has_any({word}, "-m", "prefix", "level", "packets", "bytes")) {
      next();
    } else if (const auto act = verdict_in(word)) {
      rule.act = *act;
      if (rule.act != Act::kJump && rule.act != Act::kGoto) break;
      rule.chain = next();
      if (!chains.contains(rule.chain)) rule.act = verdict_in(rule.chain).value_or(Act::kUnclear);
      break;
    } else if (!has_any({word}, "ip", "counter", "log")) {
      unclear = true;
    }
  }
  // Its interface may be one of several, or an excluded one.
  if (unclear) return {rule.act == Act::kNothing ? Act::kNothing : Act::kUnclear, {}, {}, {}, rule.to};
  return rule;
}

/// Lists the verdicts of a chain, in the order in which they apply to a packet.
class Walk {
 public:
  Walk(const Chains& chains, Hook hook, InputChainFacts& into) : chains_(chains), hook_(hook), into_(into) {}

  /// True if the rules decide about all packets.
  bool through(const std::string& chain, int depth = 0) {
    constexpr std::size_t kMostRules = 1000;
    constexpr int kDeepest = 16;
    const auto found = chains_.find(chain);
    if (found == chains_.end()) return false;
    for (const std::string& text : found->second) {
      if (++rules_ > kMostRules || depth > kDeepest) {
        into_.verdicts.push_back({"", "", "unclear", "(too many rules)"});
        return true;
      }
      const Rule rule = read_rule(text, chains_, hook_);
      if (rule.act == Act::kNothing) continue;
      if (rule.fits_all() && rule.act == Act::kReturn) return false;
      if (rule.fits_all() && rule.act == Act::kGoto) return through(rule.chain, depth + 1);
      if (rule.fits_all() && rule.act == Act::kJump) {
        if (through(rule.chain, depth + 1)) return true;
        continue;
      }
      const bool decides = rule.act == Act::kAccept || rule.act == Act::kDrop;
      const std::string verdict = !decides ? "unclear" : rule.act == Act::kAccept ? "accept" : "drop";
      into_.verdicts.push_back({rule.interface, rule.from, verdict, cut_text(text, kLongestRule), rule.to});
      if (decides && rule.fits_all()) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kLongestRule = 164;

  const Chains& chains_;
  const Hook hook_;
  InputChainFacts& into_;
  std::size_t rules_ = 0;
};

std::vector<InputChainFacts> chains_at(Hook hook, const std::vector<Table>& tables) {
  std::vector<InputChainFacts> result;
  for (const Table& table : tables) {
    if (!table.counts) continue;
    for (const auto& [chain, drops] : hook == Hook::kInput ? table.inputs : table.forwards) {
      InputChainFacts& facts = result.emplace_back();
      facts.name = table.name + " " + chain;
      const bool decided = Walk(table.chains, hook, facts).through(chain);
      if (!decided && drops) facts.verdicts.push_back({"", "", "drop", "policy drop"});
    }
  }
  return result;
}

}  // namespace

std::vector<InputChainFacts> nft_chains(std::string_view ruleset, Hook hook) {
  std::vector<Table> tables;
  std::string chain;  // Empty outside a chain.
  for (const auto line : split_lines(ruleset)) {
    const auto text = trim(line);
    const auto words = words_of(text);
    if (words.empty()) continue;
    if (line.starts_with("table ") && words.size() > 2) {
      tables.emplace_back();
      tables.back().name = words[1] + " " + words[2];
      tables.back().counts = words[1] == "ip" || words[1] == "inet";
    } else if (tables.empty()) {
      continue;
    } else if (words[0] == "chain" && words.size() == 3) {
      chain = words[1];
      tables.back().chains[chain];  // One without rules can be jumped to as well.
    } else if (text == "}") {
      chain.clear();
    } else if (chain.empty()) {
      if (text == "flags dormant;" || text == "flags dormant") tables.back().counts = false;
    } else if (words[0] != "type") {
      tables.back().chains[chain].emplace_back(text);
    } else if (text.find(" hook input ") != std::string_view::npos) {
      tables.back().inputs.emplace_back(chain, text.find("policy drop;") != std::string_view::npos);
    } else if (text.find(" hook forward ") != std::string_view::npos) {
      tables.back().forwards.emplace_back(chain, text.find("policy drop;") != std::string_view::npos);
    }
  }
  return chains_at(hook, tables);
}

std::vector<InputChainFacts> iptables_chains(std::string_view rules, Hook hook) {
  std::vector<Table> tables;
  for (const auto whole : split_lines(rules)) {
    const auto line = trim(whole);
    const auto words = words_of(line);
    if (line.starts_with('*')) {
      tables.emplace_back();
      tables.back().name = line.substr(1);
    } else if (tables.empty() || words.size() < 2) {
      continue;
    } else if (line.starts_with(':')) {
      tables.back().chains[words[0].substr(1)];
      if (words[0] == ":INPUT") tables.back().inputs.emplace_back("INPUT", words[1] == "DROP");
      if (words[0] == ":FORWARD") tables.back().forwards.emplace_back("FORWARD", words[1] == "DROP");
    } else if (words[0] == "-A") {
      tables.back().chains[words[1]].emplace_back(line);
    }
  }
  return chains_at(hook, tables);
}

}  // namespace sparkplan
