#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::firewall {

/// Source: ufw(8), ufw-framework(8).
inline constexpr std::string_view kUfwSettings = "/etc/ufw/ufw.conf";
inline constexpr std::string_view kUfwRules = "/etc/ufw/user.rules";

/// A ufw rule for incoming traffic, reduced to its action, network and interface. Narrower conditions only clear
/// `everything`.
struct InboundRule {
  std::string action;     ///< "allow", "deny", "reject", "limit"
  std::string interface;  ///< Empty: all.
  std::string source;     ///< "192.168.100.0/24"; "0.0.0.0/0": any host.
  std::string comment;
  bool everything = true;  ///< False: for one protocol, port or destination only.

  bool operator==(const InboundRule&) const = default;
};

/// Pure. The rules in user.rules, in file order; rules for outgoing or routed traffic are left out.
std::vector<InboundRule> parse_rules(std::string_view user_rules);

/// Pure. The value of ENABLED in ufw.conf.
bool is_enabled(std::string_view settings);

/// "allow in on enp1s0f1np1 from 192.168.100.0/24 comment sparkplan:lab", as typed after `ufw`. The two functions are
/// inverse for rules with an interface, a source and a comment without blanks.
std::string text_of(const InboundRule& rule);
std::optional<InboundRule> rule_of(std::string_view text);

/// The first of `rules` that denies or limits all or part of the traffic that `wanted` permits. Null if no rule does,
/// or if an earlier rule permits all of that traffic.
const InboundRule* obstacle_to(const InboundRule& wanted, const std::vector<InboundRule>& rules);

/// The state of ufw on a node.
struct Ufw {
  bool active = false;
  std::vector<InboundRule> rules;
};
/// I/O, read-only. A node without ufw has an inactive one. Errors: as NodeReader::read_file().
Result<Ufw> read_ufw(const NodeReader& node);

/// I/O. Adds or deletes exactly this rule. Errors: kUnsupported without ufw; kFailed with ufw's reason.
Result<void> add_rule(const InboundRule& rule, Node& node);
Result<void> delete_rule(const InboundRule& rule, Node& node);

}  // namespace sparkplan::firewall
