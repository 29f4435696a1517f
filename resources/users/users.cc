#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/accounts.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

/// Groups of existing users: `users: [{name: nvidia, groups: [docker]}]`.
namespace sparkplan::users {
namespace {

constexpr const char* kName = "name";
constexpr const char* kGroups = "groups";
constexpr const char* kMember = "member";
/// A user's place in a group, by "USER/GROUP".
constexpr std::string_view kMemberKind = "group_member";
constexpr std::chrono::seconds kDeadline{30};

/// The parts of "nvidia/docker", the name of a resource and of its artifact. No name of the grammar has a slash.
struct Pair {
  std::string user;
  std::string group;
};
Pair pair_of(const std::string& name) {
  const auto slash = name.find('/');
  return slash == std::string::npos ? Pair{name, ""} : Pair{name.substr(0, slash), name.substr(slash + 1)};
}

ArtifactId member_artifact(const std::string& name) { return {std::string(kMemberKind), name}; }

Observation member() { return Present{Value::map({{kMember, true}}), {}}; }

NotApplicable not_in_a_tree() { return {"users get groups on running nodes only"}; }

/// Absent also without that user or group.
Observation read_member(const std::string& name, const NodeReader& node) {
  if (!node.live()) return not_in_a_tree();
  const auto [user, group] = pair_of(name);
  const auto membership = membership_of(user, group, node);
  if (!membership) return membership.error();
  return membership->member ? member() : Observation(Absent{});
}

/// Why the user cannot be added; nothing if it can.
std::optional<Error> obstacle(const Pair& pair, const GroupMembership& membership) {
  if (!membership.user_exists) {
    return make_error(ErrorCode::kNotFound, "there is no user " + pair.user,
                      "create the account, or take it out of users");
  }
  if (membership.group_exists) return std::nullopt;
  return make_error(ErrorCode::kNotFound, "there is no group " + pair.group,
                    "install the package that makes it, such as docker.io for docker, or take it out of users");
}

/// gpasswd changes /etc/group and /etc/gshadow under their lock. Source: gpasswd(1).
Result<void> change_group(const char* option, const Pair& pair, Node& node) {
  const std::vector<std::string> argv{"gpasswd", option, pair.user, pair.group};
  SPARK_TRY(const CommandOutput output,
            needs_program(node.run(argv, kDeadline), "gpasswd", "install the package passwd"));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed,
                 "gpasswd " + pair.group + ": " +
                     std::string(trim(output.standard_error.empty() ? output.standard_output : output.standard_error)));
}

class UsersType final : public ResourceType {
 public:
  UsersType() {
    info_.name = "users";
    info_.section = "users";
    info_.phase = Phase::kUsersAndKeys;
    info_.summary = "groups that users belong to";
    info_.files = {"/etc/group (through gpasswd)"};
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.foresees = true;
    info_.records = {.identity = {kName}};
    const Shape membership = Shape::map({{kMember, Shape::boolean()}});
    info_.reported.resource = membership;
    info_.reported.longest_name = kLongestWordName;
    info_.reported.artifacts = {{std::string(kMemberKind), membership}};
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const Value& record : items_of(section)) {
      for (const std::string& group : texts_in(record.find(kGroups))) {
        result.resources.push_back(make_resource(record.text_or(kName, "") + "/" + group, Value::map({{kMember, true}}),
                                                 place_of(record, kGroups)));
      }
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    std::map<std::string, std::vector<std::string>> groups;
    for (const auto& [name, value] : applied) groups[pair_of(name).user].push_back(pair_of(name).group);
    Value section = Value::list();
    for (const auto& [user, names] : groups) {
      section.push_back(Value::map({{kName, user}, {kGroups, list_of_texts(names)}}));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    std::vector<Diagnostic> findings;
    for (const Value& record : items_of(section)) {
      if (auto missing = missing_key(record, kName, kGroups)) findings.push_back(*std::move(missing));
    }
    return findings;
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const std::string& name : request.names) {
      const Observation& seen = observed.resources[name] = read_member(name, node);
      if (!std::holds_alternative<NotApplicable>(seen)) observed.artifacts[member_artifact(name)] = seen;
    }
    return observed;
  }

  /// A group that sparkplan has not added has no original, so it stays.
  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    for (const Change& change : input.changes) {
      const bool wanted = input.target_of(change.id) != nullptr;
      auto step = own_step(member_artifact(change.id.name), wanted ? std::optional(member()) : std::nullopt, change.id,
                           input, info_);
      if (step) step->group = change.id.str();
      append(steps, std::move(step));
    }
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    return read_member(artifact.name, node);
  }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    const auto wanted = ahead.find(info_.name);
    if (wanted == ahead.end() || !node.live()) return {};
    std::vector<Ineffective> found;
    for (const auto& [name, value] : wanted->second) {
      const auto membership = membership_of(pair_of(name).user, pair_of(name).group, node);
      if (!membership) break;  // Apply reports it.
      const auto error = obstacle(pair_of(name), *membership);
      // A package of the same plan may make the user or the group.
      if (error && !ahead.contains("package")) found.push_back({name, "users.not-there", error->message, error->hint});
    }
    return found;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    const Pair pair = pair_of(artifact.name);
    SPARK_TRY(const GroupMembership membership, membership_of(pair.user, pair.group, node));
    const bool wanted = std::holds_alternative<Present>(after);
    if (wanted) {
      if (auto error = obstacle(pair, membership)) return failure(*std::move(error));
    }
    if (membership.member != wanted) SPARK_CHECK(change_group(wanted ? "--add" : "--delete", pair, node));
    if (same_state(read_member(artifact.name, node), after)) return {};
    return failure(ErrorCode::kVerifyFailed, "gpasswd reports success, but " + pair.user +
                                                 (wanted ? " is not" : " is still") + " in the group " + pair.group);
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<UsersType>(); }

}  // namespace sparkplan::users
