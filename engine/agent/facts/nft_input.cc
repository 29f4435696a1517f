// What the rules of nftables decide. Source: nft(8).
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/agent/facts/input_rules.h"
#include "engine/agent/facts/nft_listing.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;
using Act = InputRule::Act;

bool is_any_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string unquoted(const std::string& word) { return word.starts_with('"') ? word.substr(1) : word; }

/// Goes over the words of one rule.
class NftRule {
 public:
  NftRule(const NftTable& table, const Words& words, const std::string& text, std::vector<InputRule>& into)
      : table_(table), words_(words), into_(into) {
    rule_.text = text;
  }

  void read() {
    while (at_ < words_.size() && !over_) read_one(next());
    if (!over_ && rule_.act != Act::kNothing) into_.push_back(rule_);
  }

 private:
  using Require = void (*)(Wanted values, bool negated, InputRule& rule);

  std::string next() { return at_ < words_.size() ? words_[at_++] : std::string(); }
  std::string peek() const { return at_ < words_.size() ? words_[at_] : std::string(); }
  void skip(std::size_t count) { at_ = std::min(at_ + count, words_.size()); }

  void read_one(const std::string& word) {
    static constexpr std::array<std::string_view, 12> kOther{"udp",  "udplite", "sctp", "dccp", "icmp", "icmpv6",
                                                             "igmp", "esp",     "ah",   "comp", "arp",  "ip6"};
    static constexpr std::array<std::string_view, 16> kNowAndThen{"limit", "quota",  "numgen", "socket", "rt",  "ipsec",
                                                                  "mark",  "cgroup", "hour",   "time",   "day", "ether",
                                                                  "add",   "update", "vlan",   "last"};
    if (word == "iif" || word == "iifname") return match(require_interface);
    if (word == "ip") return read_ip();
    if (word == "meta") return read_meta();
    if (word == "ct") return read_connection();
    if (word == "tcp" || word == "th") return read_transport();
    if (word == "fib") return read_fib();
    if (word == "counter" || word == "log" || word == "comment") return read_statement(word);
    if (word == "xt" || word == "#") return read_foreign(word);
    if (is_any_of(word, kOther)) return never();
    if (is_any_of(word, kNowAndThen)) return leave_rest(Fits::kSome);
    if (!read_verdict(word, rule_)) leave_rest(Fits::kNotKnown);
  }

  void read_ip() {
    const std::string what = next();
    if (what == "saddr") {
      return match([](Wanted v, bool negated, InputRule& rule) { require_network(v, negated, rule.from, rule); });
    }
    if (what == "daddr") {
      return match([](Wanted v, bool negated, InputRule& rule) { require_network(v, negated, rule.to, rule); });
    }
    if (what == "protocol") return match(require_tcp);
    leave_rest(Fits::kSome);
  }

  void read_meta() {
    const std::string what = next();
    if (what == "iif" || what == "iifname") return match(require_interface);
    if (what == "l4proto") return match(require_tcp);
    if (what == "nfproto" || what == "protocol") return match(require_ipv4);
    if (what == "pkttype") return match(require_to_us);
    read_mark_or_leave();
  }

  void read_connection() {
    const std::string what = next();
    // Nothing of it is true of a connection that begins, and that nobody has sent elsewhere.
    if (what == "status")
      return match([](Wanted v, bool negated, InputRule& rule) { require_one_of(v, negated, {}, rule); });
    if (what != "state") return read_mark_or_leave();
    match([](Wanted values, bool negated, InputRule& rule) {
      static constexpr std::array<std::string_view, 1> kNew{"new"};
      std::vector<std::string> states;
      for (const std::string& value : values) {
        for (const auto state : split(value, ',')) states.emplace_back(state);
      }
      require_one_of(states, negated, kNew, rule);
    });
  }

  /// "set 0x1" is something that is done, and asks for nothing.
  void read_mark_or_leave() {
    if (peek() != "set") return leave_rest(Fits::kSome);
    skip(2);
  }

  void read_transport() {
    const std::string what = next();
    if (what == "flags") return read_tcp_flags();
    if (what != "dport") return leave_rest(Fits::kSome);
    match(require_port);
  }

  /// "syn", "& (fin | syn | rst | ack) == syn", "!= syn / fin,syn,rst,ack": the packet that a connection begins with
  /// has SYN, and no other flag.
  void read_tcp_flags() {
    if (peek() == "&") {
      skip(1);
      const bool several = peek().starts_with('(');
      while (several && at_ < words_.size() && !peek().ends_with(')')) skip(1);
      skip(1);
    }
    const bool negated = peek() == "!=" || peek() == "!";
    if (negated || peek() == "==") skip(1);
    const std::string flags = next();
    if (flags != "syn" || peek() == "|" || peek() == ",") return leave_rest(some_or_nearly_all(negated));
    if (peek() == "/") skip(2);
    if (negated) rule_.only(Fits::kNone);
  }

  /// "daddr type local" is true of all that is for this node.
  void read_fib() {
    if (next() != "daddr" || next() != "type") return leave_rest(Fits::kSome);
    match([](Wanted values, bool negated, InputRule& rule) {
      static constexpr std::array<std::string_view, 1> kLocal{"local"};
      require_one_of(values, negated, kLocal, rule);
    });
  }

  void read_statement(const std::string& word) {
    static constexpr std::array<std::string_view, 6> kOfLog{"prefix",  "group",           "level",
                                                            "snaplen", "queue-threshold", "flags"};
    if (word == "comment") return skip(1);
    if (word == "counter") {
      if (peek() == "packets") skip(4);
      if (peek() == "name") skip(2);
      return;
    }
    while (is_any_of(peek(), kOfLog)) {
      const bool flags = next() == "flags";
      const std::string value = next();
      if (flags && (value == "tcp" || value == "ip")) skip(1);
    }
  }

  static void require_tcp(Wanted values, bool negated, InputRule& rule) {
    static constexpr std::array<std::string_view, 2> kTcp{"tcp", "6"};
    require_one_of(values, negated, kTcp, rule);
  }
  static void require_ipv4(Wanted values, bool negated, InputRule& rule) {
    static constexpr std::array<std::string_view, 2> kIpv4{"ip", "ipv4"};
    require_one_of(values, negated, kIpv4, rule);
  }
  static void require_to_us(Wanted values, bool negated, InputRule& rule) {
    static constexpr std::array<std::string_view, 2> kToUs{"host", "unicast"};
    require_one_of(values, negated, kToUs, rule);
  }

  /// True of a verdict.
  bool read_verdict(const std::string& word, InputRule& rule) {
    struct Meaning {
      std::string_view word;
      Act act;
    };
    static constexpr auto kActs = std::to_array<Meaning>({{"accept", Act::kAccept},
                                                          {"drop", Act::kDrop},
                                                          {"reject", Act::kDrop},
                                                          {"return", Act::kReturn},
                                                          {"jump", Act::kJump},
                                                          {"goto", Act::kGoto},
                                                          {"continue", Act::kNothing},
                                                          {"queue", Act::kAccept}});
    const auto found =
        std::find_if(kActs.begin(), kActs.end(), [&](const Meaning& meaning) { return meaning.word == word; });
    if (found == kActs.end()) return false;
    rule.act = found->act;
    if (word == "queue") rule.only(Fits::kNotKnown);  // A program decides.
    if (rule.act == Act::kJump || rule.act == Act::kGoto) rule.chain = next();
    at_ = words_.size();  // "with icmpx admin-prohibited", comments
    return true;
  }

  /// What iptables has put into the rule and nft has no words for: `xt match "set"`, `xt target "REJECT"`, and in
  /// older ones "# match-set bad src", of which nobody can tell whether it decides anything.
  void read_foreign(const std::string& word) {
    if (word == "xt" && peek() == "target") return read_target();
    leave_rest(Fits::kNotKnown);
    if (word == "#" && rule_.act == Act::kNothing) rule_.act = Act::kAccept;
  }

  void read_target() {
    static constexpr auto kGoesOn = std::to_array<std::string_view>(
        {"AUDIT",     "CHECKSUM",    "CLASSIFY", "CONNMARK", "CONNSECMARK", "CT",      "DSCP",    "ECN",     "HL",
         "IDLETIMER", "LED",         "LOG",      "MARK",     "NFLOG",       "NOTRACK", "RATEEST", "SECMARK", "SET",
         "TCPMSS",    "TCPOPTSTRIP", "TEE",      "TOS",      "TRACE",       "TTL",     "ULOG"});
    skip(1);
    const std::string target = unquoted(next());
    at_ = words_.size();
    if (take_target(target, rule_) || is_any_of(target, kGoesOn)) return;
    rule_.act = Act::kAccept;  // Or something else: it is not known anyway.
    rule_.only(Fits::kNotKnown);
  }

  void never() { over_ = true; }

  /// What is not looked at in detail, up to the verdict.
  void leave_rest(Fits fits) {
    int depth = 0;
    while (at_ < words_.size()) {
      const std::string word = next();
      if (fits == Fits::kSome) fits = some_or_nearly_all(word == "!=" || word == "!");
      depth += word == "{" ? 1 : 0;
      depth -= word == "}" ? 1 : 0;
      if (word == "vmap") {
        rule_.act = Act::kAccept;  // Or something else: it is not known anyway.
        at_ = words_.size();
      }
      if (depth == 0 && word == "xt" && peek() == "target") read_target();
      if (depth == 0 && read_verdict(word, rule_)) break;
    }
    rule_.only(fits);
  }

  /// The values behind what is asked for: "tcp", "!= lo", "{ a, b }", "@name", or a map from values to verdicts.
  void match(Require require) {
    const bool negated = peek() == "!=";
    if (negated || peek() == "==") skip(1);
    const bool map = peek() == "vmap";
    if (map) skip(1);
    const auto elements = read_elements();
    if (!elements) return leave_rest(Fits::kNotKnown);
    if (map) return add_mapped(*elements, require);
    std::vector<std::string> values;
    for (const Words& element : *elements) values.push_back(unquoted(element.front()));
    require(values, negated, rule_);
  }

  std::optional<std::vector<Words>> read_elements() {
    const std::string word = next();
    if (word.starts_with('@')) {
      const auto set = table_.sets.find(word.substr(1));
      if (set == table_.sets.end()) return std::nullopt;
      return elements_of(set->second);
    }
    if (word.empty() || word == ".") return std::nullopt;  // Of two things together.
    if (word != "{") return std::vector<Words>{{word}};
    Words inside;
    while (at_ < words_.size() && peek() != "}") inside.push_back(next());
    skip(1);
    return elements_of(inside);
  }

  static std::vector<Words> elements_of(const Words& words) {
    std::vector<Words> elements(1);
    for (const std::string& word : words) {
      if (word == ",") {
        elements.emplace_back();
      } else {
        elements.back().push_back(word);
      }
    }
    std::erase_if(elements, [](const Words& element) { return element.empty(); });
    return elements;
  }

  void add_mapped(const std::vector<Words>& elements, Require require) {
    for (const Words& element : elements) {
      const auto colon = std::find(element.begin(), element.end(), ":");
      if (colon == element.end() || colon + 1 == element.end()) continue;
      InputRule one = rule_;
      const std::vector<std::string> value{unquoted(element.front())};
      require(value, false, one);
      const Words verdict(colon + 1, element.end());
      NftRule reader(table_, verdict, rule_.text, into_);
      reader.rule_ = std::move(one);
      reader.read();
    }
    over_ = true;
  }

  const NftTable& table_;
  const Words& words_;
  std::vector<InputRule>& into_;
  InputRule rule_;
  std::size_t at_ = 0;
  bool over_ = false;
};

}  // namespace

std::vector<InputChainFacts> nft_input_chains(std::string_view ruleset) {
  std::vector<InputChainFacts> chains;
  for (const NftTable& table : nft_tables(ruleset)) {
    const bool any =
        std::any_of(table.chains.begin(), table.chains.end(), [](const auto& one) { return one.second.at_input; });
    if (!any || !table.ipv4 || table.asleep) continue;
    InputRuleTable rules;
    for (const auto& [name, chain] : table.chains) {
      auto& read = rules.chains[name];
      for (std::size_t i = 0; i < chain.rules.size(); ++i) {
        NftRule(table, chain.rules[i], chain.texts[i], read).read();
      }
    }
    for (const auto& [name, chain] : table.chains) {
      if (chain.at_input) chains.push_back(input_chain(rules, name, chain.drops, table.name + " " + name));
    }
  }
  return chains;
}

}  // namespace sparkplan
