#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::firewall {

/// A rule of ufw's for what comes in, as far as it matters here: for everything from one network, through one
/// interface or all.
struct InboundRule {
  std::string action;     ///< "allow", "deny", "reject", "limit"
  std::string interface;  ///< Empty: every one.
  std::string source;     ///< "192.168.100.0/24"; "0.0.0.0/0": everybody.
  std::string comment;
  bool everything = true;  ///< False: for one protocol, port or destination only.

  bool operator==(const InboundRule&) const = default;
};

/// Pure. Of user.rules, in their order; rules for what goes out or is routed are left out.
std::vector<InboundRule> parse_rules(std::string_view user_rules);

/// Pure. ENABLED of ufw.conf.
bool is_enabled(std::string_view settings);

/// "allow in on enp1s0f1np1 from 192.168.100.0/24 comment sparkplan:lab", as one would type it after `ufw`. The two are
/// each other's inverse for rules with an interface, a source and a comment without blanks.
std::string text_of(const InboundRule& rule);
std::optional<InboundRule> rule_of(std::string_view text);

/// What comes first of `rules` and keeps out what `wanted` is to let in: all of it, or a part. Null: nothing does.
const InboundRule* obstacle_to(const InboundRule& wanted, const std::vector<InboundRule>& rules);

/// What ufw has and does on a node.
struct Ufw {
  bool active = false;
  std::vector<InboundRule> rules;
};
/// I/O, read-only. Without ufw it is not active. Errors: as NodeReader::read_file().
Result<Ufw> read_ufw(const NodeReader& node);

/// I/O. Adds or takes out exactly this rule. Errors: kUnsupported without ufw, kFailed with its reason.
Result<void> add_rule(const InboundRule& rule, Node& node);
Result<void> delete_rule(const InboundRule& rule, Node& node);

}  // namespace sparkplan::firewall
