// From rules that jump to each other to a list of verdicts. Sources: nft(8), iptables(8), iptables-extensions(8).
#include "engine/agent/facts/input_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// What the kernel lets rules jump. Source: NFT_JUMP_STACK_SIZE.
constexpr int kDeepest = 16;
/// Lists of unwanted addresses have more; who has them has no fabric.
constexpr std::size_t kMostVerdicts = 1000;
constexpr std::size_t kMostSteps = 50'000;

/// Of the connections that are looked at, those that come so.
struct Where {
  std::vector<std::string> interfaces;
  std::vector<Ipv4Network> from;
  std::vector<Ipv4Network> to;

  bool operator==(const Where&) const = default;
};

/// "enp*" contains "enp1s0f1np1", and "enp1*".
bool contains(const std::string& pattern, const std::string& name) { return glob_match(pattern, name); }
bool contains(const Ipv4Network& outer, const Ipv4Network& inner) { return outer.contains(inner); }

/// What is in both lists, of which an empty one stands for all; nothing when they have nothing in common.
template <class T>
std::optional<std::vector<T>> common(const std::vector<T>& one, const std::vector<T>& other) {
  if (one.empty()) return other;
  if (other.empty()) return one;
  std::vector<T> both;
  for (const T& a : one) {
    for (const T& b : other) {
      if (contains(a, b)) {
        both.push_back(b);
      } else if (contains(b, a)) {
        both.push_back(a);
      }
    }
  }
  if (both.empty()) return std::nullopt;
  return both;
}

std::optional<Where> common(const Where& where, const InputRule& rule) {
  const auto interfaces = common(where.interfaces, rule.interfaces);
  const auto from = common(where.from, rule.from);
  const auto to = common(where.to, rule.to);
  if (!interfaces || !from || !to) return std::nullopt;
  return Where{*interfaces, *from, *to};
}

/// How many steps common() is worth: two long lists take longer than many rules.
std::size_t effort(const Where& where, const InputRule& rule) {
  constexpr std::size_t kComparisonsPerStep = 64;
  const auto comparisons = [](const auto& one, const auto& other) {
    return one.empty() || other.empty() ? one.size() + other.size() : one.size() * other.size();
  };
  return 1 + (comparisons(where.interfaces, rule.interfaces) + comparisons(where.from, rule.from) +
              comparisons(where.to, rule.to)) /
                 kComparisonsPerStep;
}

/// An address without the length that says that it is one.
std::string text_of(const Ipv4Network& network) {
  return network.prefix_length == 32 ? network.base.str() : network.str();
}

std::vector<std::string> texts_of(const std::vector<Ipv4Network>& networks) {
  std::vector<std::string> texts;
  for (const Ipv4Network& network : networks) texts.push_back(text_of(network));
  return texts;
}

/// Goes through a chain as a packet does, and writes down the verdicts that it meets.
class Walk {
 public:
  Walk(const InputRuleTable& table, bool drops, InputChainFacts& into) : table_(table), drops_(drops), into_(into) {}

  /// True when nothing of what comes so is left for what follows.
  bool through(const std::string& chain, const Where& where, int depth) {
    const auto found = table_.chains.find(chain);
    if (found == table_.chains.end()) return false;
    for (const InputRule& rule : found->second) {
      steps_ += rule.fits == Fits::kNone ? 1 : effort(where, rule);
      if (steps_ > kMostSteps || depth > kDeepest) return give_up();
      const auto here = rule.fits == Fits::kNone ? std::nullopt : common(where, rule);
      if (!here) continue;
      const Step step = ask(rule, *here, *here == where, depth);
      if (step != Step::kOn) return step == Step::kDecided;
    }
    return false;
  }

  void add(const Where& where, const std::string& verdict, const std::string& rule) {
    static const std::vector<std::string> kAny{""};
    const auto each = [](const std::vector<std::string>& list) -> const auto& { return list.empty() ? kAny : list; };
    const auto sources = texts_of(where.from);
    const auto targets = texts_of(where.to);
    for (const std::string& interface : each(where.interfaces)) {
      for (const std::string& from : each(sources)) {
        for (const std::string& to : each(targets)) {
          if (into_.verdicts.size() < kMostVerdicts) into_.verdicts.push_back({interface, from, to, verdict, rule});
        }
      }
    }
    if (into_.verdicts.size() >= kMostVerdicts) give_up();
  }

 private:
  enum class Step : std::uint8_t { kOn, kDecided, kBack };
  using Act = InputRule::Act;

  /// What becomes of a packet at one rule; `whole`: it fits all that has come so far.
  Step ask(const InputRule& rule, const Where& here, bool whole, int depth) {
    if (given_up_) return Step::kDecided;
    if (rule.fits != Fits::kAll) {
      if (leaves_open(rule)) add(here, "unclear", rule.text);
      return Step::kOn;
    }
    switch (rule.act) {
      case Act::kNothing:
        return Step::kOn;
      case Act::kAccept:
      case Act::kDrop:
        add(here, rule.act == Act::kAccept ? "accept" : "drop", rule.text);
        return whole ? Step::kDecided : Step::kOn;
      case Act::kReturn:
        if (whole) return Step::kBack;
        add(here, "unclear", rule.text);  // The list has no way to say: none of the rest of this chain.
        return Step::kOn;
      case Act::kJump:
        return through(rule.chain, here, depth + 1) && whole ? Step::kDecided : Step::kOn;
      case Act::kGoto:
        break;
    }
    if (through(rule.chain, here, depth + 1)) return whole ? Step::kDecided : Step::kOn;
    if (depth > 0) {
      if (whole) return Step::kBack;
      add(here, "unclear", rule.text);
      return Step::kOn;
    }
    // Whoever is sent out of the first chain comes to its policy.
    add(here, drops_ ? "drop" : "accept", rule.text);
    return whole ? Step::kDecided : Step::kOn;
  }

  /// Whether a rule that does not fit all may decide over what it fits. One that drops some, now and then, lets others
  /// in.
  bool leaves_open(const InputRule& rule) const {
    switch (rule.act) {
      case Act::kNothing:
        return false;
      case Act::kDrop:
        return rule.fits == Fits::kNotKnown;
      case Act::kAccept:
      case Act::kReturn:
        return true;
      case Act::kJump:
      case Act::kGoto:
        break;
    }
    std::set<std::string> seen;
    return decides(rule.chain, seen);
  }

  /// False of a chain that only writes a log.
  bool decides(const std::string& chain, std::set<std::string>& seen) const {
    const auto found = table_.chains.find(chain);
    if (found == table_.chains.end() || !seen.insert(chain).second) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const InputRule& rule) {
      if (rule.fits == Fits::kNone) return false;
      if (rule.act == Act::kJump || rule.act == Act::kGoto) return decides(rule.chain, seen);
      return rule.act == Act::kAccept || rule.act == Act::kDrop;
    });
  }

  bool give_up() {
    if (!given_up_) into_.verdicts.push_back({"", "", "", "unclear", "(there are too many rules)"});
    given_up_ = true;
    return true;
  }

  const InputRuleTable& table_;
  bool drops_;
  InputChainFacts& into_;
  std::size_t steps_ = 0;
  bool given_up_ = false;
};

/// From and to, of "22" and "1024-65535".
std::optional<std::pair<int, int>> ports_in(const std::string& text) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (error != std::errc() || stop != end) return std::nullopt;
    return port;
  };
  const auto dash = text.find('-');
  const auto first = number(std::string_view(text).substr(0, dash));
  const auto last = dash == std::string::npos ? first : number(std::string_view(text).substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

void require_one_of(Wanted values, bool negated, std::span<const std::string_view> ours, InputRule& rule) {
  const bool any = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
    return std::find(ours.begin(), ours.end(), value) != ours.end();
  });
  if (any == negated) rule.only(Fits::kNone);
}

void require_interface(Wanted names, bool negated, InputRule& rule) {
  if (negated) {
    // Another node never comes through that.
    const bool only_loopback = std::all_of(names.begin(), names.end(), [](const auto& name) { return name == "lo"; });
    if (!only_loopback) rule.only(Fits::kNotKnown);
    return;
  }
  if (names.empty()) rule.only(Fits::kNone);
  rule.interfaces.assign(names.begin(), names.end());
}

void require_network(Wanted networks, bool negated, std::vector<Ipv4Network>& into, InputRule& rule) {
  std::vector<Ipv4Network> read;
  for (const std::string& text : networks) {
    if (const auto network = parse_ipv4_network(text)) read.push_back(*network);
  }
  if (negated || read.size() != networks.size()) {
    rule.only(Fits::kNotKnown);
    return;
  }
  if (read.empty()) rule.only(Fits::kNone);
  into = std::move(read);
}

void require_port(Wanted ports, bool negated, InputRule& rule) {
  // Those that the kernel gives to whom it does not matter. Source: ip(7), ip_local_port_range.
  constexpr int kFirst = 32768;
  constexpr int kLast = 60999;
  bool all = false;
  bool some = false;
  bool range_of_some = false;
  for (const std::string& text : ports) {
    const auto range = ports_in(text);
    if (!range) continue;
    all = all || (range->first <= kFirst && range->second >= kLast);
    const bool fits = range->first <= kLast && range->second >= kFirst;
    some = some || fits;
    range_of_some = range_of_some || (fits && range->first < range->second);
  }
  if (negated ? all : !some) rule.only(Fits::kNone);
  if (!some || all) return;
  // One port is that of a service, which the kernel gives to nobody else; a range takes away what it would give.
  rule.only(range_of_some ? Fits::kNotKnown : some_or_nearly_all(negated));
}

bool take_target(std::string_view target, InputRule& rule) {
  using Act = InputRule::Act;
  if (target == "ACCEPT") {
    rule.act = Act::kAccept;
  } else if (target == "DROP" || target == "REJECT") {
    rule.act = Act::kDrop;
  } else if (target == "RETURN") {
    rule.act = Act::kReturn;
  } else if (target.ends_with("QUEUE")) {
    rule.act = Act::kAccept;
    rule.only(Fits::kNotKnown);  // A program decides.
  } else {
    return false;
  }
  return true;
}

InputChainFacts input_chain(const InputRuleTable& table, const std::string& chain, bool drops, std::string name) {
  InputChainFacts facts;
  facts.name = std::move(name);
  Walk walk(table, drops, facts);
  if (!walk.through(chain, {}, 0) && drops) walk.add({}, "drop", "policy drop");
  return facts;
}

namespace {

/// Where the text ends that begins behind a quote: at the next one.
std::size_t end_of_text(std::string_view line, std::size_t at, Quotes quotes) {
  while (at < line.size() && line[at] != '"') {
    if (quotes == Quotes::kEscaped && line[at] == '\\') ++at;
    ++at;
  }
  return std::min(at, line.size());
}

}  // namespace

std::string shown_rule(std::string_view text) {
  constexpr std::size_t kLongest = 160;
  if (text.size() <= kLongest) return std::string(text);
  std::size_t end = kLongest;
  // Comments may be in any language: not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + " ...";
}

std::vector<std::string> words_of_rule(std::string_view line, Quotes quotes) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
    } else if (line[at] == '"') {
      const auto end = end_of_text(line, at + 1, quotes);
      words.emplace_back(line.substr(at, end - at));
      at = end + 1;
    } else {
      const auto end = std::min(line.find_first_of(" \t\"", at), line.size());
      words.emplace_back(line.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

}  // namespace sparkplan
