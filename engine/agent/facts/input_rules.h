#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/extended_facts.h"
#include "engine/model/ipv4.h"

/// The rules of a packet filter, as far as they decide what becomes of a new TCP connection from another node to an
/// address of this one, over IPv4 and to a port that the kernel has chosen: what NCCL, MPI and storage begin with.
/// Everything in this header is pure.
namespace sparkplan {

/// How many of such connections a rule fits, apart from those that its interfaces and networks leave out.
enum class Fits : std::uint8_t {
  kAll,
  kNotKnown,  ///< It asks for something that is not known here.
  kSome,      ///< Some of them, or now and then: what is marked, the first ten of a second.
  kNone,      ///< ICMP, IPv6, one known port, what belongs to a connection that is there already.
};

/// A rule. An empty list stands for every interface, or every address.
struct InputRule {
  enum class Act : std::uint8_t { kNothing, kAccept, kDrop, kReturn, kJump, kGoto };

  Fits fits = Fits::kAll;
  std::vector<std::string> interfaces;  ///< "enp1s0f1np1", "enp*"
  std::vector<Ipv4Network> from;
  std::vector<Ipv4Network> to;
  Act act = Act::kNothing;
  std::string chain;  ///< For kJump and kGoto.
  std::string text;   ///< Of shown_rule().

  /// From now on it fits no more than that.
  void only(Fits that) { fits = std::max(fits, that); }
};

/// Chains that can jump to each other.
struct InputRuleTable {
  std::map<std::string, std::vector<InputRule>> chains;
};

/// What a condition fits that is true of some: its opposite may be true of nearly all.
constexpr Fits some_or_nearly_all(bool negated) { return negated ? Fits::kNotKnown : Fits::kSome; }

/// Something that a rule asks for, one of several values; `negated`: none of them.
using Wanted = std::span<const std::string>;
void require_one_of(Wanted values, bool negated, std::span<const std::string_view> ours, InputRule& rule);
void require_interface(Wanted names, bool negated, InputRule& rule);
/// `into`: InputRule::from or InputRule::to. Stretches of addresses that are no network are not known.
void require_network(Wanted networks, bool negated, std::vector<Ipv4Network>& into, InputRule& rule);
/// "22", "1024-65535"; names are those of services, whose ports are known.
void require_port(Wanted ports, bool negated, InputRule& rule);

/// What the rule does where that is a target of iptables' own, such as "REJECT"; false for any other.
bool take_target(std::string_view target, InputRule& rule);

/// The verdicts of a chain that sees all that comes in, first the one that is asked first. `drops`: what no rule
/// decides is dropped.
InputChainFacts input_chain(const InputRuleTable& table, const std::string& chain, bool drops, std::string name);

/// How a listing writes a quote that is part of a text.
enum class Quotes : std::uint8_t {
  kNever,    ///< nft: the next quote ends the text, whatever stands before it.
  kEscaped,  ///< iptables-save: a backslash goes before it.
};

/// The words of a line; what stands between quotes is one word, with the quote in front of it.
std::vector<std::string> words_of_rule(std::string_view line, Quotes quotes);

/// So much of a rule as somebody reads of it: one that names a thousand addresses goes with each of its verdicts.
std::string shown_rule(std::string_view text);

/// What `nft list ruleset` says, and `iptables-save`.
std::vector<InputChainFacts> nft_input_chains(std::string_view ruleset);
std::vector<InputChainFacts> iptables_input_chains(std::string_view rules);

}  // namespace sparkplan
