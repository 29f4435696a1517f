#include "resources/firewall/ufw.h"

#include <chrono>
#include <cstddef>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/model/ipv4.h"

namespace sparkplan::firewall {
namespace {

constexpr std::chrono::seconds kUfwDeadline{60};
constexpr std::string_view kTuple = "### tuple ###";
constexpr std::string_view kEverybody = "0.0.0.0/0";

/// ufw writes the comment as hexadecimal digits.
std::string decode_comment(std::string_view digits) {
  std::string comment;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const auto byte = parse_number<unsigned int>(digits.substr(i, 2), 16);
    if (!byte) return {};
    comment += static_cast<char>(*byte);
  }
  return comment;
}

/// action protocol port destination port source [application application] direction [comment=...]
/// Source: ufw's own backend, which writes and reads these lines.
std::optional<InboundRule> rule_in_tuple(std::string_view tuple) {
  constexpr std::size_t kFields = 6;
  auto words = words_of(tuple);
  InboundRule rule;
  if (!words.empty() && words.back().starts_with("comment=")) {
    rule.comment = decode_comment(std::string_view(words.back()).substr(8));
    words.pop_back();
  }
  if (words.size() < kFields) return std::nullopt;
  const std::string direction = words.size() > kFields ? words.back() : "in";
  if (words[0].starts_with("route:") || direction.find("out") == 0) return std::nullopt;
  if (direction.starts_with("in_")) rule.interface = direction.substr(3);
  rule.action = words[0].substr(0, words[0].find('_'));
  rule.source = words[5];
  const bool any_destination = words[3] == kEverybody;
  rule.everything =
      words[1] == "any" && words[2] == "any" && any_destination && words[4] == "any" && words.size() <= kFields + 1;
  return rule;
}

bool overlap(std::string_view a, std::string_view b) {
  const auto one = parse_ipv4_network(a);
  const auto other = parse_ipv4_network(b);
  return one && other && one->overlaps(*other);
}

Result<void> tell_ufw(std::vector<std::string> argv, Node& node) {
  const std::string what = join(argv, " ");
  SPARK_TRY(const CommandOutput output, needs_program(node.run(argv, kUfwDeadline), "ufw"));
  if (output.exit_status == 0) return {};
  const auto lines = split_lines(trim(output.standard_error));
  return failure(
      ErrorCode::kFailed,
      what + ": " + (lines.empty() ? "exit status " + std::to_string(output.exit_status) : std::string(lines.back())),
      "`ufw status verbose` on the node may show details");
}

}  // namespace

std::vector<InboundRule> parse_rules(std::string_view user_rules) {
  std::vector<InboundRule> rules;
  for (const std::string_view line : split_lines(user_rules)) {
    if (!line.starts_with(kTuple)) continue;
    if (auto rule = rule_in_tuple(line.substr(kTuple.size()))) rules.push_back(*std::move(rule));
  }
  return rules;
}

bool is_enabled(std::string_view settings) {
  bool enabled = false;
  for (const std::string_view line : split_lines(settings)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "ENABLED") continue;
    std::string value(trim(line.substr(equals + 1)));
    std::erase(value, '"');
    enabled = value == "yes" || value == "YES" || value == "Yes";
  }
  return enabled;
}

std::string text_of(const InboundRule& rule) {
  return rule.action + " in on " + rule.interface + " from " + rule.source + " comment " + rule.comment;
}

std::optional<InboundRule> rule_of(std::string_view text) {
  const auto words = words_of(text);
  const bool fits =
      words.size() == 8 && words[1] == "in" && words[2] == "on" && words[4] == "from" && words[6] == "comment";
  if (!fits) return std::nullopt;
  return InboundRule{words[0], words[3], words[5], words[7], true};
}

const InboundRule* obstacle_to(const InboundRule& wanted, const std::vector<InboundRule>& rules) {
  for (const InboundRule& rule : rules) {
    const bool same_way = rule.interface.empty() || rule.interface == wanted.interface;
    if (!same_way || !overlap(rule.source, wanted.source)) continue;
    if (rule.action != "allow") return &rule;
    // It permits all of `wanted`: later rules deny nothing of it.
    if (rule.everything && (rule.source == wanted.source || rule.source == kEverybody)) return nullptr;
  }
  return nullptr;
}

Result<Ufw> read_ufw(const NodeReader& node) {
  SPARK_TRY(const auto settings, if_there(node.read_file(kUfwSettings)));
  if (!settings) return Ufw{};
  Ufw ufw;
  ufw.active = is_enabled(*settings);
  SPARK_TRY(const std::string rules, or_empty(node.read_file(kUfwRules)));
  ufw.rules = parse_rules(rules);
  return ufw;
}

Result<void> add_rule(const InboundRule& rule, Node& node) {
  std::vector<std::string> argv{"ufw"};
  for (auto& word : words_of(text_of(rule))) argv.push_back(std::move(word));
  return tell_ufw(std::move(argv), node);
}

Result<void> delete_rule(const InboundRule& rule, Node& node) {
  return tell_ufw({"ufw", "--force", "delete", rule.action, "in", "on", rule.interface, "from", rule.source}, node);
}

}  // namespace sparkplan::firewall
