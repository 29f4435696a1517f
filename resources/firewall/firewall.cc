#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/ipv4.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/firewall/ufw.h"

/// ufw rules that permit the fabric's traffic: `firewall: {allow_fabric: true}`.
namespace sparkplan::firewall {
namespace {

constexpr const char* kName = "allow_fabric";
constexpr const char* kRules = "rules";
/// Foreign rules that permit all traffic from a network on an interface, without their comments. They count as ours.
constexpr const char* kOthers = "others";
constexpr std::string_view kRuleKind = "ufw_rule";
constexpr std::string_view kCommentPrefix = "sparkplan:";
constexpr std::string_view kLinkLocalNetwork = "169.254.0.0/16";
constexpr std::chrono::seconds kDeadline{10};

ArtifactId rule_artifact(const std::string& text) { return {std::string(kRuleKind), text}; }
Observation rule_there() { return Present{Value::map({{"there", true}}), {}}; }

bool is_ours(const InboundRule& rule) {
  return rule.comment.starts_with(kCommentPrefix) && rule.everything && !rule.interface.empty();
}

/// Whether both rules apply to the same traffic; their actions may differ.
bool same_match(const InboundRule& a, const InboundRule& b) {
  return a.interface == b.interface && a.source == b.source && a.everything == b.everything;
}

std::string without_comment(const std::string& text) { return text.substr(0, text.find(" comment ")); }

/// "192.168.100.11" and 24 -> "192.168.100.0/24"
std::string network_text(const FabricPort& address) {
  if (address.address.empty()) return std::string(kLinkLocalNetwork);
  const auto network = parse_ipv4_network(address.address_text());
  return network && network->prefix_length > 0 ? network->str() : std::string();
}

std::set<std::string> texts_below(const Value& map, const char* key) {
  const std::vector<std::string> texts = texts_in(map.find(key));
  return {texts.begin(), texts.end()};
}

Value list_of(const std::set<std::string>& texts) {
  Value::List items(texts.begin(), texts.end());
  return Value(std::move(items));
}

/// The rules of `wanted` that no foreign rule replaces.
std::set<std::string> still_needed(const std::set<std::string>& wanted, const std::set<std::string>& others) {
  std::set<std::string> needed;
  std::ranges::copy_if(wanted, std::inserter(needed, needed.end()),
                       [&](const std::string& rule) { return !others.contains(without_comment(rule)); });
  return needed;
}

Observation resource_of(const Ufw& ufw) {
  if (!ufw.active) return Present{Value::map(), {{kRules, "ufw is not active there and filters nothing"}}};
  std::set<std::string> ours;
  std::set<std::string> others;
  for (const InboundRule& rule : ufw.rules) {
    if (is_ours(rule)) {
      ours.insert(text_of(rule));
    } else if (rule.action == "allow" && rule.everything && !rule.interface.empty()) {
      others.insert(without_comment(text_of(rule)));
    }
  }
  if (ours.empty() && others.empty()) return Absent{};
  return Present{Value::map({{kOthers, list_of(others)}, {kRules, list_of(ours)}}), {}};
}

/// "table inet filter { chain input { type filter hook input priority filter; policy drop;" -> "inet filter input"
std::vector<std::string> chains_that_drop(std::string_view chains) {
  std::vector<std::string> found;
  std::string table;
  std::string chain;
  for (const std::string_view line : split_lines(chains)) {
    const auto words = words_of(line);
    if (words.size() >= 3 && words[0] == "table") table = words[1] + " " + words[2];
    if (words.size() >= 2 && words[0] == "chain") chain = words[1];
    const bool input = line.find("hook input") != std::string_view::npos;
    if (input && line.find("policy drop") != std::string_view::npos) found.push_back(table + " " + chain);
  }
  return found;
}

class FirewallType final : public ResourceType {
 public:
  FirewallType() {
    info_.name = "firewall";
    info_.section = "firewall";
    // After the packages, which may install ufw, and before the network is changed.
    info_.phase = Phase::kUnits;
    info_.summary = "ufw rules that allow fabric traffic";
    info_.files = {std::string(kUfwRules) + " (through ufw)"};
    // A restored rule is placed after the rules that were added meanwhile.
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.checks_effect = true;
    info_.reported.resource = Shape::map({{kOthers, Shape::texts()}, {kRules, Shape::texts()}});
    info_.reported.longest_name = kLongestWordName;
    info_.reported.artifacts = {{std::string(kRuleKind), Shape::map({{"there", Shape::boolean(), true}})}};
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    if (!section.boolean_or(kName, false)) return result;
    const FabricInterfaces fabric = fabric_interfaces(view.self, own, view.cluster.profile);
    // netplan reports the halves without a known interface.
    result.incomplete = !fabric.diagnostics.empty();
    std::set<std::string> rules;
    for (const ObservedPort& port : fabric.interfaces) {
      const std::string network = network_text(port);
      if (network.empty()) continue;
      rules.insert(text_of({"allow", port.interface, network, std::string(kCommentPrefix) + view.cluster.name, true}));
    }
    if (view.self.fabric.empty()) warn_without_fabric(section, result);
    if (rules.empty() && own.live) return result;
    result.resources.push_back(make_resource(kName, Value::map({{kRules, list_of(rules)}}), section.where));
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& /*applied*/,
                                    const Facts& /*own*/) const override {
    return Value::map({{kName, true}});
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const std::string& name : request.names) {
      if (!node.live()) {
        observed.resources[name] = NotApplicable{"no firewall is running there"};
        continue;
      }
      const auto ufw = read_ufw(node);
      if (!ufw) {
        observed.resources[name] = ufw.error();
        continue;
      }
      observed.resources[name] = resource_of(*ufw);
      for (const InboundRule& rule : ufw->rules) {
        if (!is_ours(rule)) continue;
        observed.artifacts[rule_artifact(text_of(rule))] = rule_there();
        if (const InboundRule* obstacle = ufw->active ? obstacle_to(rule, ufw->rules) : nullptr) {
          observed.foreign.push_back({{info_.name, name},
                                      kRules,
                                      Value(),
                                      std::string(kUfwRules),
                                      "has a rule before ours that blocks " + rule.source + ": " + shown(*obstacle)});
        }
      }
    }
    return observed;
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    const Value* wanted = resource.desired.find(kRules);
    const Value* seen = present.value.find(kRules);
    const bool lists = wanted != nullptr && wanted->is_list() && seen != nullptr && seen->is_list();
    if (!lists) return ResourceType::diff(resource, present);
    const std::set<std::string> ours = texts_below(present.value, kRules);
    const auto needed = still_needed(texts_below(resource.desired, kRules), texts_below(present.value, kOthers));
    if (ours == needed) return {};
    return {{kRules, list_of(ours), list_of(needed)}};
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    // The type has one resource. Each rule would list all others that a manifest may invent.
    const bool changes =
        std::ranges::any_of(input.changes, [](const Change& change) { return change.id.name == kName; });
    if (!changes) return steps;
    std::set<std::string> wanted;
    for (const Resource& resource : input.target) {
      if (resource.id.name != kName) continue;
      for (const std::string& rule : texts_below(resource.desired, kRules)) {
        if (rule_of(rule)) wanted.insert(rule);
      }
    }
    if (const Present* seen = input.seen(kName)) wanted = still_needed(wanted, texts_below(seen->value, kOthers));
    for (const std::string& rule : wanted) {
      if (!input.observed.artifacts.contains(rule_artifact(rule))) add_step(rule, Absent{}, rule_there(), steps);
    }
    for (const auto& [artifact, observation] : input.observed.artifacts) {
      const bool there = std::holds_alternative<Present>(observation);
      if (there && !wanted.contains(artifact.name)) add_step(artifact.name, observation, Absent{}, steps);
    }
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (!node.live()) return NotApplicable{"no firewall is running there"};
    const auto ufw = read_ufw(node);
    if (!ufw) return ufw.error();
    const bool there = std::ranges::any_of(
        ufw->rules, [&](const InboundRule& rule) { return is_ours(rule) && text_of(rule) == artifact.name; });
    return there ? rule_there() : Observation(Absent{});
  }

  /// ufw treats a rule for the same network and interface as the same rule. Adding ours would replace a foreign one.
  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (std::holds_alternative<Absent>(step.after)) continue;
      if (auto taken = check_free(step.artifact, node); !taken) {
        objections.push_back({step.artifact, std::move(taken).error()});
      }
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    const auto rule = rule_of(artifact.name);
    if (!rule) return failure(ErrorCode::kInvalidInput, "\"" + artifact.name + "\" is not a sparkplan rule");
    const Observation now = read_artifact(artifact, node);
    if (const auto* error = std::get_if<Error>(&now)) return failure(*error);
    if (same_state(now, after)) return {};
    if (std::holds_alternative<Absent>(after)) {
      SPARK_CHECK(delete_rule(*rule, node));
    } else {
      SPARK_CHECK(check_free(artifact, node));
      SPARK_CHECK(add_rule(*rule, node));
    }
    if (same_state(read_artifact(artifact, node), after)) return {};
    return failure(ErrorCode::kVerifyFailed, "ufw reports success, but the rule is missing: " + artifact.name);
  }

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    const auto wanted = desired.find(kName);
    const auto ufw = read_ufw(node);
    if (wanted == desired.end() || !ufw) return {};
    const std::set<std::string> rules = texts_below(wanted->second, kRules);
    return ufw->active ? rules_not_loaded(rules, node) : filters_of_others(rules, node);
  }

 private:
  static std::string shown(const InboundRule& rule) {
    return rule.action + " in" + (rule.interface.empty() ? "" : " on " + rule.interface) + " from " + rule.source +
           (rule.everything ? "" : " (for one protocol, port or destination)");
  }

  static Result<void> check_free(const ArtifactId& artifact, const NodeReader& node) {
    const auto rule = rule_of(artifact.name);
    SPARK_TRY(const Ufw ufw, read_ufw(node));
    for (const InboundRule& other : ufw.rules) {
      if (!rule || !same_match(*rule, other) || is_ours(other)) continue;
      return failure(ErrorCode::kRefused, "ufw has a foreign rule for the same traffic: " + shown(other),
                     "check `ufw status`, and delete that rule if it is not needed");
    }
    return {};
  }

  static void warn_without_fabric(const Value& section, Desired& result) {
    result.diagnostics.push_back(finding(Severity::kWarning, "firewall.no-fabric",
                                         "there is no fabric whose networks could be allowed",
                                         "add the section fabric, or remove firewall", section.where));
  }

  /// Finds rules that the kernel lacks, as after a flush of its rules. ufw's own file does not show that.
  static std::vector<Ineffective> rules_not_loaded(const std::set<std::string>& rules, const NodeReader& node) {
    const std::vector<std::string> argv{"iptables", "--wait", "5", "-S", "ufw-user-input"};
    const auto output = node.query(argv, kDeadline);
    if (!output) return {};
    std::vector<Ineffective> found;
    for (const std::string& text : rules) {
      const auto rule = rule_of(text);
      const std::string line = rule ? "-s " + rule->source + " -i " + rule->interface + " -j ACCEPT" : "";
      if (line.empty() || output->standard_output.find(line) != std::string::npos) continue;
      found.push_back({kName, "firewall.not-loaded", "the kernel has not loaded ufw's rule: " + without_comment(text),
                       "load it with `ufw reload`"});
    }
    return found;
  }

  /// An inactive ufw permits everything. Filters of other programs are reported, not changed.
  static std::vector<Ineffective> filters_of_others(const std::set<std::string>& rules, const NodeReader& node) {
    const std::vector<std::string> argv{"nft", "list", "chains"};
    const auto output = node.query(argv, kDeadline);
    if (!output) return {};
    std::vector<std::string> wanted;
    for (const std::string& text : rules) {
      if (const auto rule = rule_of(text)) wanted.push_back(rule->source + " on " + rule->interface);
    }
    std::vector<Ineffective> found;
    for (const std::string& chain : chains_that_drop(output->standard_output)) {
      found.push_back(
          {kName, "firewall.others",
           "ufw is not active, and the nftables chain " + chain + " drops packets that its rules do not accept",
           "accept there: " + join(wanted, ", ")});
    }
    return found;
  }

  void add_step(const std::string& rule, Observation before, Observation after, std::vector<Step>& steps) const {
    Step step = step_for(rule_artifact(rule), {info_.name, kName}, info_);
    step.before = std::move(before);
    step.after = std::move(after);
    step.reversible = info_.reversible_of_removal;
    steps.push_back(std::move(step));
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<FirewallType>(); }

}  // namespace sparkplan::firewall
