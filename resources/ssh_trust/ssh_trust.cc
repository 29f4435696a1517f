#include "resources/ssh_trust/ssh_trust.h"

#include <algorithm>
#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/ssh_trust/account.h"
#include "resources/ssh_trust/exports.h"
#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/peers.h"
#include "resources/ssh_trust/trust_text.h"

namespace sparkplan::ssh_trust {
namespace {

/// The files of all users, read once.
struct SharedFiles {
  Observation known_hosts;
  Observation config;

  const Error* error() const {
    const Error* found = std::get_if<Error>(&known_hosts);
    return found != nullptr ? found : std::get_if<Error>(&config);
  }
};

/// Adds the fields that come from the files of all users.
void add_shared_fields(const std::string& user, const SharedFiles& files, Value& value) {
  const std::string known_hosts = content_of(files.known_hosts).value_or("");
  for (const auto& [node, lines] : parse_known_hosts(known_hosts)) {
    value.set(std::string(kKnownHostsPrefix).append(node), Value::List(lines.begin(), lines.end()));
  }
  std::vector<std::string> destinations;
  for (const auto& [destination, users] : parse_config(content_of(files.config).value_or(""))) {
    if (users.contains(user)) destinations.push_back(destination);
  }
  if (!destinations.empty()) value.set(kConfigField, list_of_texts(destinations));
}

/// The one-line summary in place of the block's content; empty if the content is listed.
std::string not_listed_in(const Observation& block) { return present_value(block).text_or(kNotListed, ""); }

bool is_settled_by_what_is_there(const Value& value) {
  return value.unknown() != nullptr && value.unknown()->producer.empty();
}

class SshTrustType final : public ResourceType {
 public:
  SshTrustType() {
    info_.name = "ssh_trust";
    info_.section = "ssh_trust";
    info_.phase = Phase::kUsersAndKeys;
    info_.summary = "SSH logins of users between all nodes";
    info_.files = {"~/" + std::string(kPrivateKey), "~/" + std::string(kPublicKey),
                   "~/" + std::string(kAuthorizedKeys) + " (marked block)",
                   std::string(kKnownHostsFile) + " (marked block)", std::string(kConfigFile)};
    info_.checks_effect = true;
    info_.reversible_of_removal = Reversible::kBestEffort;  // A removed key cannot be restored.
    info_.reported = reported_trust();
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    return desired_trust(view, section);
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value users = Value::list();
    for (const auto& [name, value] : applied) users.push_back(name);
    return Value::map({{"users", std::move(users)}});
  }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    return export_trust(section, node);
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    SharedFiles files;
    const ArtifactId known_hosts = block_artifact(kKnownHostsFile);
    const ArtifactId config = file_artifact(kConfigFile);
    files.known_hosts = observed.artifacts[known_hosts] = sparkplan::read_artifact(known_hosts, *this, node);
    files.config = observed.artifacts[config] = sparkplan::read_artifact(config, *this, node);
    for (const std::string& user : request.names) {
      if (!node.live()) {
        observed.resources[user] = NotApplicable{"keys are created on running nodes only"};
      } else if (const Error* error = files.error()) {
        observed.resources[user] = *error;
      } else {
        observed.resources[user] = observe_user(user, files, node, observed);
      }
    }
    return observed;
  }

  /// As the default, with two differences. A value that is settled_by_what_is_there() is no difference. A line of a
  /// node that is no longer desired is one. A resource that the file no longer lists has no differences, so that it is
  /// removed in any state: modified access is still access.
  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    const Value::Map* wanted = resource.desired.entries();
    const Value::Map* there = present.value.entries();
    const bool only_remembered = !resource.known_part_first;
    if (wanted == nullptr || there == nullptr) return {};
    if (only_remembered && !there->empty()) return {};
    std::vector<FieldChange> changes;
    for (const MapEntry& field : *wanted) {
      const Value* now = present.value.find(field.key);
      if (is_settled_by_what_is_there(field.value) || (now != nullptr && same(field.value, *now))) continue;
      if (only_remembered && field.key == kUnexpectedField) continue;  // Missing equals empty.
      changes.push_back({field.key, now == nullptr ? Value() : *now, field.value});
    }
    for (const MapEntry& field : *there) {
      if (is_of_a_node(field.key) && resource.desired.find(field.key) == nullptr)
        changes.push_back({field.key, field.value, {}});
    }
    std::ranges::sort(changes, {}, &FieldChange::path);
    return changes;
  }

  std::vector<Step> steps(const StepsInput& input) const override { return trust_steps(input, info_); }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    const Result<Account> account = account_of(artifact, node);
    if (!account) return account.error();
    return artifact.kind == kKeyKind ? read_key(*account, node) : read_authorized_keys(*account, node);
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    SPARK_TRY(const Account account, account_of(artifact, node));
    SPARK_CHECK(check_home(account, node));
    if (artifact.kind == kKeyKind) return apply_key(account, after, node);
    return apply_authorized_keys(account, after, node);
  }

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    return find_ineffective(desired, node);
  }

 private:
  /// Two Unknowns are equal if the same node will make them.
  static bool same(const Value& a, const Value& b) {
    const Value::Unknown* one = a.unknown();
    const Value::Unknown* other = b.unknown();
    return one != nullptr && other != nullptr ? one->producer == other->producer : a == b;
  }

  static Result<Account> account_of(const ArtifactId& artifact, const NodeReader& node) {
    if (artifact.kind != kKeyKind && artifact.kind != kAuthorizedKeysKind) {
      return failure(ErrorCode::kBug, "ssh_trust has no artifacts of kind " + artifact.kind);
    }
    return look_up(user_of(artifact), node);
  }

  /// For an account that cannot hold keys, the artifacts get the error and the resource stays Present. So desired trust
  /// reports the error, and trust that is no longer desired can be forgotten.
  static Observation observe_user(const std::string& user, const SharedFiles& files, const NodeReader& node,
                                  ObservedType& observed) {
    const Result<Account> account = look_up(user, node);
    if (!account && !cannot_hold_keys(account.error())) return account.error();
    Observation& key = observed.artifacts[key_artifact(user)];
    Observation& block = observed.artifacts[authorized_keys_artifact(user)];
    Value value = Value::map({{std::string(kUnexpectedField), Value::list()}});
    if (!account) {
      key = block = account.error();
    } else {
      key = read_key(*account, node);
      block = read_authorized_keys(*account, node);
      if (const auto place = check_home(*account, node); !place) return place.error();
      if (const auto* error = std::get_if<Error>(&key)) return *error;
      if (const auto* error = std::get_if<Error>(&block)) return *error;
      if (std::holds_alternative<Present>(key)) value.set(kKeyField, describe_key(user, key));
      const AuthorizedLines lines = parse_authorized(content_of(block).value_or(""));
      for (const auto& [peer, line] : lines.of_node) value.set(std::string(kAuthorizedPrefix) + peer, line);
      std::vector<std::string> unexpected = lines.unexpected;
      if (std::string what = not_listed_in(block); !what.empty()) unexpected.push_back(std::move(what));
      value.set(kUnexpectedField, list_of_texts(unexpected));
      for (ForeignClaim& remark : same_key_remarks(user, lines)) observed.foreign.push_back(std::move(remark));
    }
    add_shared_fields(user, files, value);
    return Present{std::move(value), {}};
  }
};

Shape word() { return Shape::text(Shape::kMostLineBytes); }

/// A person may have written lines of any length into our blocks.
Shape lines() { return Shape::list(Shape::text()); }

Shape user() {
  const Shape home =
      Shape::map({{"path", word()}, {"network", word()}, {"machine", word()}, {"local", word()}, {"remote", word()}});
  return Shape::map(
      {{"public_key", Shape::text()}, {"makes_key", Shape::boolean()}, {"root", Shape::boolean()}, {"home", home}});
}

}  // namespace

bool is_of_a_node(std::string_view field) {
  return field.starts_with(kAuthorizedPrefix) || field.starts_with(kKnownHostsPrefix);
}

Value settled_by_what_is_there(std::string reason) { return Value::Unknown{std::move(reason), {}}; }

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<SshTrustType>(); }

ReportedShapes reported_trust() {
  ReportedShapes reported;
  reported.resource = Shape::map({{kKeyField, Shape::text()},
                                  {"authorized.*", Shape::text()},
                                  {"known_hosts.*", lines()},
                                  {kUnexpectedField, lines()},
                                  {kConfigField, lines()}});
  reported.artifacts = {
      {std::string(kKeyKind), Shape::map({{"type", word()},
                                          {"owner", word()},
                                          {"mode", word()},
                                          {"comment", Shape::text()},
                                          {"public_file", Shape::text()},
                                          {"public_file_is_no_public_key", Shape::boolean()}})},
      {std::string(kAuthorizedKeysKind), Shape::map({{"content", Shape::text()}, {kNotListed, Shape::line()}})}};
  reported.longest_name = kLongestWordName;
  reported.exported = Shape::map({{"users", Shape::map_of(user(), Shape::kMostItems, kLongestWordName)},
                                  {"host_keys", Shape::list(Shape::text())},
                                  {"addresses", Shape::texts()}});
  return reported;
}

}  // namespace sparkplan::ssh_trust
