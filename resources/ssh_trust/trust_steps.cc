#include "resources/ssh_trust/trust_steps.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/text_list.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/ssh_trust/account.h"
#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/ssh_trust.h"
#include "resources/ssh_trust/trust_text.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::uint32_t kSharedFileMode = 0644;

/// user -> the fields he is to have. They stand in the StepsInput, but for those of refused users.
struct Wanted {
  std::map<std::string, const Value*> of_user;
  std::deque<Value> made;
};

const Present* observed_of(const std::string& user, const StepsInput& input) {
  const auto found = input.observed.resources.find(user);
  return found == input.observed.resources.end() ? nullptr : std::get_if<Present>(&found->second);
}

/// As observed, without the lines of nodes that are no longer wanted.
Value without_nodes_that_left(const Value& observed, const Value& desired) {
  Value kept = Value::map();
  const Value::Map* fields = observed.entries();
  if (fields == nullptr) return kept;
  for (const MapEntry& field : *fields) {
    if (!is_of_a_node(field.key) || desired.find(field.key) != nullptr) kept.entries()->push_back(field);
  }
  return kept;
}

/// A refused user is wanted as he is.
Wanted wanted_by(const StepsInput& input) {
  Wanted wanted;
  for (const Resource& resource : input.target) {
    const std::string& user = resource.id.name;
    if (user == kWholeFileName) continue;
    const bool refused = resource.desired.find(kRefusedField) != nullptr || resource.desired.find(kKeyField) == nullptr;
    const Present* observed = observed_of(user, input);
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
    const auto add = [&](std::optional<Step> step) {
      if (step) steps.push_back(*std::move(step));
    };
    const auto add_key = [&](const Change& change, bool removal) {
      std::optional<Step> step = step_to(key_artifact(change.id.name), wanted_key(change.id.name), change.id);
      if (step && std::holds_alternative<Absent>(step->after) == removal) add(std::move(step));
    };
    for (const Change& change : input_.changes) {
      if (change.id.name == kWholeFileName) continue;
      add_key(change, false);
      add(step_to(authorized_keys_artifact(change.id.name), wanted_block(change.id.name), change.id));
    }
    add(text_artifact_step(block_artifact(kKnownHostsFile), known_hosts(), kSharedFileMode, input_, info_));
    add(text_artifact_step(file_artifact(kConfigFile), config(), kSharedFileMode, input_, info_));
    // A removed key cannot be put back, only a new one made in its place: nothing may fail behind it.
    for (const Change& change : input_.changes) {
      if (change.id.name != kWholeFileName) add_key(change, true);
    }
    return steps;
  }

 private:
  std::optional<Step> step_to(const ArtifactId& artifact, std::optional<Observation> after,
                              const ResourceId& id) const {
    Observation before = Absent{};
    if (const auto found = input_.observed.artifacts.find(artifact); found != input_.observed.artifacts.end()) {
      before = found->second;
    }
    if (!after || std::holds_alternative<Error>(before) || same_state(before, *after)) return std::nullopt;
    Step step;
    step.type = info_.name;
    step.artifact = artifact;
    step.phase = info_.phase;
    step.before = std::move(before);
    step.after = *std::move(after);
    step.resources = {id};
    step.group = info_.name + "/" + id.name;
    return step;
  }

  /// Nothing: the key stays as it is. One that was there before sparkplan came is not taken away.
  std::optional<Observation> wanted_key(const std::string& user) const {
    if (const auto found = wanted_.of_user.find(user); found != wanted_.of_user.end()) {
      const std::string key = found->second->text_or(kKeyField, "");
      const std::string lead = std::string(kKeyType) + " ";
      if (!key.starts_with(lead)) return std::nullopt;
      return key_in_order(user, key.substr(lead.size()));
    }
    const auto original = input_.originals.find(key_artifact(user));
    if (original == input_.originals.end()) return std::nullopt;
    return restorable_key(original->second);
  }

  /// The block is ours whoever wrote it: access that nobody asks for any more goes.
  Observation wanted_block(const std::string& user) const {
    AuthorizedLines lines;
    if (const auto found = wanted_.of_user.find(user); found != wanted_.of_user.end()) {
      static const Value::Map kNothing;
      const Value::Map* fields = found->second->entries();
      for (const MapEntry& field : fields == nullptr ? kNothing : *fields) {
        if (!field.key.starts_with(kAuthorizedPrefix) || field.value.string() == nullptr) continue;
        lines.of_node[field.key.substr(kAuthorizedPrefix.size())] = *field.value.string();
      }
      if (const Value* unexpected = found->second->find(kUnexpectedField)) lines.unexpected = texts_in(unexpected);
    }
    const std::string text = render_authorized(lines);
    if (text.empty()) return Absent{};
    return block_present(text);
  }

  /// All users of a node want the same lines. While they differ, because only some are being changed
  /// or could be looked at, those that are changed decide, then those that were seen.
  std::optional<std::string> known_hosts() const {
    const auto rank = [&](const std::string& user) {
      const bool changes = std::any_of(input_.changes.begin(), input_.changes.end(),
                                       [&](const Change& change) { return change.id.name == user; });
      if (changes) return 0;
      return observed_of(user, input_) != nullptr ? 1 : 2;
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
      if (!field.key.starts_with(kKnownHostsPrefix)) continue;
      const Value::List* lines = field.value.list_items();
      if (lines == nullptr) continue;
      auto& of_node = hosts[std::string_view(field.key).substr(kKnownHostsPrefix.size())];
      for (const Value& line : *lines) {
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
      const Value* destinations = value->find(kConfigField);
      if (destinations == nullptr) continue;
      for (const std::string& destination : texts_in(destinations)) config[destination].insert(user);
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
