// What `iptables-save` prints. Sources: iptables-save(8), iptables(8), iptables-extensions(8).
#include <algorithm>
#include <array>
#include <utility>

#include "engine/agent/facts/input_rules.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

using Act = InputRule::Act;

struct IptablesTable {
  std::string name;  ///< "filter"
  InputRuleTable rules;
  bool has_input = false;
  bool drops = false;
};

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> values;
  for (const auto value : split(text, ',')) values.emplace_back(value);
  return values;
}

/// Goes over the words of one rule, behind "-A CHAIN".
class IptablesRule {
 public:
  IptablesRule(std::vector<std::string> words, std::string_view text) : words_(std::move(words)) {
    rule_.text = shown_rule(text);
  }

  InputRule read() && {
    while (at_ < words_.size()) read_option(next());
    return std::move(rule_);
  }

 private:
  std::string next() { return at_ < words_.size() ? words_[at_++] : std::string(); }

  void read_option(const std::string& option) {
    if (option == "!") {
      negated_ = true;
      return;
    }
    const bool negated = std::exchange(negated_, false);
    if (option == "-j" || option == "-g") return read_verdict(option == "-g");
    if (option == "-m") return read_module(next());
    if (option == "--comment") {
      next();
    } else if (option == "-i") {
      std::string name = next();
      if (name.ends_with('+')) name.back() = '*';
      require_interface(std::array{name}, negated, rule_);
    } else if (option == "-s") {
      require_network(listed(next()), negated, rule_.from, rule_);
    } else if (option == "-d") {
      require_network(listed(next()), negated, rule_.to, rule_);
    } else if (option == "--dport" || option == "--dports") {
      std::string ports = next();
      std::replace(ports.begin(), ports.end(), ':', '-');
      require_port(listed(ports), negated, rule_);
    } else if (option == "--tcp-flags") {
      next();  // Those that are looked at.
      require_first_packet(next() == "SYN", negated);
    } else if (!read_choice(option, negated)) {
      skip_values();
      rule_.only(some_or_nearly_all(negated));
    }
  }

  /// The packet that a connection begins with has SYN, and no other flag.
  void require_first_packet(bool alone, bool negated) {
    if (!alone) return rule_.only(some_or_nearly_all(negated));
    if (negated) rule_.only(Fits::kNone);
  }

  /// Those of an option that is not read.
  void skip_values() {
    while (at_ < words_.size() && words_[at_] != "!" && !words_[at_].starts_with('-')) ++at_;
  }

  /// Options that name one of a few things, of which one is true of the connections that are looked at.
  bool read_choice(const std::string& option, bool negated) {
    static constexpr std::array<std::string_view, 2> kTcp{"tcp", "all"};
    static constexpr std::array<std::string_view, 1> kNew{"NEW"};
    static constexpr std::array<std::string_view, 1> kLocal{"LOCAL"};
    static constexpr std::array<std::string_view, 1> kToUs{"unicast"};
    std::span<const std::string_view> ours;
    if (option == "-p") ours = kTcp;
    if (option == "--ctstate" || option == "--state") ours = kNew;
    if (option == "--dst-type") ours = kLocal;
    if (option == "--pkt-type") ours = kToUs;
    if (ours.empty()) return false;
    require_one_of(listed(next()), negated, ours, rule_);
    return true;
  }

  void read_module(const std::string& name) {
    static constexpr std::array<std::string_view, 8> kRead{"tcp",     "udp",       "conntrack", "state",
                                                           "comment", "multiport", "addrtype",  "pkttype"};
    static constexpr std::array<std::string_view, 12> kNowAndThen{"limit",    "hashlimit", "recent", "mark",
                                                                  "connmark", "connlimit", "time",   "statistic",
                                                                  "owner",    "mac",       "quota",  "icmp"};
    if (std::find(kRead.begin(), kRead.end(), name) != kRead.end()) return;
    const bool some = std::find(kNowAndThen.begin(), kNowAndThen.end(), name) != kNowAndThen.end();
    // The options of a module that is not read are nobody's.
    bool negated = std::exchange(negated_, false);
    while (at_ < words_.size() && words_[at_] != "-j" && words_[at_] != "-g" && words_[at_] != "-m") {
      negated = next() == "!" || negated;
    }
    rule_.only(some ? some_or_nearly_all(negated) : Fits::kNotKnown);
  }

  void read_verdict(bool leaves) {
    const std::string target = next();
    at_ = words_.size();  // "--reject-with icmp-port-unreachable"
    if (take_target(target, rule_)) return;
    // A target such as LOG is a chain that is not there, which does nothing.
    rule_.act = leaves ? Act::kGoto : Act::kJump;
    rule_.chain = target;
  }

  std::vector<std::string> words_;
  InputRule rule_;
  std::size_t at_ = 0;
  bool negated_ = false;
};

}  // namespace

std::vector<InputChainFacts> iptables_input_chains(std::string_view rules) {
  std::vector<IptablesTable> tables;
  for (const auto whole : split_lines(rules)) {
    const auto line = trim(whole);
    if (line.starts_with('*')) {
      tables.emplace_back();
      tables.back().name = line.substr(1);
    }
    if (tables.empty()) continue;
    auto words = words_of_rule(line, Quotes::kEscaped);
    if (line.starts_with(':')) {
      const bool input = words[0] == ":INPUT";
      tables.back().has_input = tables.back().has_input || input;
      tables.back().drops = tables.back().drops || (input && words.size() > 1 && words[1] == "DROP");
    } else if (words.size() > 2 && words[0] == "-A") {
      const std::string chain = words[1];
      words.erase(words.begin(), words.begin() + 2);
      tables.back().rules.chains[chain].push_back(IptablesRule(std::move(words), line).read());
    }
  }
  std::vector<InputChainFacts> chains;
  for (const IptablesTable& table : tables) {
    if (table.has_input) chains.push_back(input_chain(table.rules, "INPUT", table.drops, table.name + " INPUT"));
  }
  return chains;
}

}  // namespace sparkplan
