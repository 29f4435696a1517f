#include "resources/ssh_trust/key_files.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::uint32_t kSharedFileMode = 0644;

/// user -> the desired fields. The values belong to StepsInput; those of refused users are in `made`.
struct Wanted {
  std::map<std::string, const Value*> of_user;
  std::deque<Value> made;
};

/// The observed fields, without the lines of nodes that are no longer desired.
Value without_nodes_that_left(const Value& observed, const Value& desired) {
  Value kept = Value::map();
  for (const MapEntry& field : entries_of(observed)) {
    if (!is_of_a_node(field.key) || desired.find(field.key) != nullptr) kept.entries()->push_back(field);
  }
  return kept;
}

/// A refused user's current state is desired, without the lines of departed nodes.
Wanted wanted_by(const StepsInput& input) {
  Wanted wanted;
  for (const Resource& resource : input.target) {
    const std::string& user = resource.id.name;
    if (user == kWholeFileName) continue;
    const bool refused = resource.desired.find(kRefusedField) != nullptr || resource.desired.find(kKeyField) == nullptr;
    const Present* observed = input.seen(user);
    wanted.of_user[user] = &resource.desired;
    if (!refused || observed == nullptr) continue;
    wanted.made.push_back(without_nodes_that_left(observed->value, resource.desired));
    wanted.of_user[user] = &wanted.made.back();
  }
  return wanted;
}

class TrustSteps {
 public:
  TrustSteps(const StepsInput& input, const TypeInfo& info) : input_(input), info_(info), wanted_(wanted_by(input)) {}

  std::vector<Step> make() const {
    std::vector<Step> steps;
    const auto add_key = [&](const Change& change, bool removal) {
      std::optional<Step> step = step_to(key_artifact(change.id.name), wanted_key(change.id.name), change.id);
      if (step && std::holds_alternative<Absent>(step->after) == removal) append(steps, std::move(step));
    };
    for (const Change& change : input_.changes) {
      if (change.id.name == kWholeFileName) continue;
      add_key(change, false);
      append(steps, step_to(authorized_keys_artifact(change.id.name), wanted_block(change.id.name), change.id));
    }
    append(steps, text_artifact_step(block_artifact(kKnownHostsFile), known_hosts(), kSharedFileMode, input_, info_));
    append(steps, text_artifact_step(file_artifact(kConfigFile), config(), kSharedFileMode, input_, info_));
    // Removed keys come last: they cannot be restored, only replaced by new keys, so no later step may fail.
    for (const Change& change : input_.changes) {
      if (change.id.name != kWholeFileName) add_key(change, true);
    }
    return steps;
  }

 private:
  std::optional<Step> step_to(const ArtifactId& artifact, std::optional<Observation> after,
                              const ResourceId& id) const {
    const Observation* seen = input_.seen(artifact);
    Observation before = seen == nullptr ? Absent{} : *seen;
    if (!after || std::holds_alternative<Error>(before) || same_state(before, *after)) return std::nullopt;
    Step step = step_for(artifact, id, info_);
    step.before = std::move(before);
    step.after = *std::move(after);
    step.group = id.str();
    return step;
  }

  /// Nothing: the key stays as it is. A key from before sparkplan is not removed.
  std::optional<Observation> wanted_key(const std::string& user) const {
    if (const auto found = wanted_.of_user.find(user); found != wanted_.of_user.end()) {
      const std::string key = found->second->text_or(kKeyField, "");
      const std::string lead = std::string(kKeyType) + " ";
      if (!key.starts_with(lead)) return std::nullopt;
      return key_in_order(user, key.substr(lead.size()));
    }
    const Observation* original = input_.original(key_artifact(user));
    if (original == nullptr) return std::nullopt;
    return restorable_key(*original);
  }

  /// The whole block is ours, whatever software wrote it: access that is no longer desired is removed.
  Observation wanted_block(const std::string& user) const {
    AuthorizedLines lines;
    if (const auto found = wanted_.of_user.find(user); found != wanted_.of_user.end()) {
      for (const MapEntry& field : entries_of(found->second)) {
        if (!field.key.starts_with(kAuthorizedPrefix) || field.value.string() == nullptr) continue;
        lines.of_node[field.key.substr(kAuthorizedPrefix.size())] = *field.value.string();
      }
      lines.unexpected = texts_in(found->second->find(kUnexpectedField));
    }
    const std::string text = render_authorized(lines);
    if (text.empty()) return Absent{};
    return block_present(text);
  }

  /// All users of a node have the same desired lines. The lines differ while only some users change or could be
  /// observed. Then users with changes decide, after them observed users.
  std::optional<std::string> known_hosts() const {
    const auto rank = [&](const std::string& user) {
      const bool changes =
          std::ranges::any_of(input_.changes, [&](const Change& change) { return change.id.name == user; });
      if (changes) return 0;
      return input_.seen(user) != nullptr ? 1 : 2;
    };
    const Value* speaker = nullptr;
    int best = 3;
    for (const auto& [user, value] : wanted_.of_user) {
      if (const int its_rank = rank(user); its_rank < best) {
        best = its_rank;
        speaker = value;
      }
    }
    if (speaker == nullptr || speaker->entries() == nullptr) return std::nullopt;
    KnownHosts hosts;
    for (const MapEntry& field : *speaker->entries()) {
      if (!field.key.starts_with(kKnownHostsPrefix) || !field.value.is_list()) continue;
      auto& of_node = hosts[std::string_view(field.key).substr(kKnownHostsPrefix.size())];
      for (const Value& line : items_of(field.value)) {
        if (line.string() != nullptr) of_node.push_back(*line.string());
      }
    }
    const std::string text = render_known_hosts(hosts);
    if (text.empty()) return std::nullopt;
    return text;
  }

  std::optional<std::string> config() const {
    SshConfig config;
    for (const auto& [user, value] : wanted_.of_user) {
      for (const std::string& destination : texts_in(value->find(kConfigField))) config[destination].insert(user);
    }
    if (config.empty()) return std::nullopt;
    return render_config(config);
  }

  const StepsInput& input_;
  const TypeInfo& info_;
  Wanted wanted_;
};

}  // namespace

ArtifactId key_artifact(const std::string& user) {
  return {std::string(kKeyKind), "~" + user + "/" + std::string(kPrivateKey)};
}

ArtifactId authorized_keys_artifact(const std::string& user) {
  return {std::string(kAuthorizedKeysKind), "~" + user + "/" + std::string(kAuthorizedKeys)};
}

std::string user_of(const ArtifactId& artifact) {
  const std::string& name = artifact.name;
  return name.starts_with('~') ? name.substr(1, name.find('/') - 1) : std::string();
}

std::vector<Step> trust_steps(const StepsInput& input, const TypeInfo& info) { return TrustSteps(input, info).make(); }

}  // namespace sparkplan::ssh_trust
