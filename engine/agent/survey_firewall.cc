// What lets packets in. Sources: nft(8), iptables-save(8), ufw-framework(8).
#include <string>
#include <utility>
#include <vector>

#include "engine/agent/input_rules.h"
#include "engine/agent/node_text.h"
#include "engine/agent/survey.h"
#include "engine/core/text.h"

namespace sparkplan {

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
  SurveyFacts asked;
  if (const auto ruleset = printed_by(node, nft, "firewall", asked)) {
    there = true;
    firewall.input_chains = nft_input_chains(*ruleset);
  } else if (const auto rules = printed_by(node, iptables, "firewall", facts)) {
    there = true;
    firewall.input_chains = iptables_input_chains(*rules);
  } else {
    // Why nft could not be asked says more than why iptables could not.
    for (auto& [field, why] : asked.unreadable) facts.unreadable[field] = std::move(why);
  }
  if (there) facts.firewall = std::move(firewall);
}

}  // namespace sparkplan
