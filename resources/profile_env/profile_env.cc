#include "resources/profile_env/profile_env.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/accounts.h"
#include "engine/resource/artifact.h"
#include "engine/resource/rendered_text.h"
#include "engine/resource/secret_artifact.h"
#include "engine/resource/shell_environment.h"
#include "engine/resource/steps.h"
#include "engine/resource/text_entries_type.h"

namespace sparkplan::profile_env {
namespace {

constexpr const char* kField = "value";
constexpr const char* kUsers = "users";
/// Fields of each user's file in kSecretField.
constexpr const char* kSecretValue = "value";
constexpr const char* kUid = "uid";
/// In the place of a value whose file cannot be read. The user owns the file, and can keep others from reading it: by a
/// lease, for example. Source: fcntl(2), F_SETLEASE.
constexpr std::string_view kNotReadable = "not readable";
constexpr std::uint32_t kSecretMode = 0400;
constexpr std::int64_t kLargestOwner = 0xFFFFFFFF;
/// A file has at most 64, and lines of earlier runs or of a person may add some.
constexpr std::size_t kMostUsers = 256;

/// A variable with a secret, in the target of a plan.
struct SecretFile {
  ArtifactId artifact;
  std::string token;
  std::uint32_t uid = 0;
};

/// "/etc/sparkplan/secrets/nvidia/HF_TOKEN"
std::string secret_path(std::string_view user, std::string_view variable) {
  return std::string(kSecretDirectory) + "/" + std::string(user) + "/" + std::string(variable);
}

/// The user of the file is a part of its path, and its number a part of the resource.
std::vector<SecretFile> secret_files(const Resource& resource) {
  std::vector<SecretFile> files;
  for (const MapEntry& user : entries_of(resource.desired.find(kSecretField))) {
    const std::string token = user.value.text_or(kSecretValue, "");
    if (token.empty()) continue;
    files.push_back({file_artifact(secret_path(user.key, resource.id.name)), token,
                     static_cast<std::uint32_t>(user.value.integer_or(kUid, 0))});
  }
  return files;
}

bool is_secret_file(const ArtifactId& artifact) {
  return artifact.name.starts_with(std::string(kSecretDirectory) + "/");
}

std::string user_of(const ArtifactId& artifact) {
  return std::filesystem::path(artifact.name).parent_path().filename().string();
}

std::string variable_of(const ArtifactId& artifact) {
  return artifact.name.substr(artifact.name.find_last_of('/') + 1);
}

void add_variable(const std::string& name, std::string_view value, RenderedText& text) {
  text.add({"export ", name, "="});
  text.add_quoted(value);
  text.add({"\n"});
}

void add_secret_line(const std::string& user, const std::string& variable, RenderedText& text) {
  const std::string path = shell_quote(secret_path(user, variable));
  text.add({"if [ \"$(id -un)\" = "});
  text.add_quoted(user);
  text.add({" ] && [ -r ", path, " ]; then export ", variable, "=\"$(cat ", path, ")\"; fi"});
}

class ProfileEnvType final : public TextEntriesType {
 public:
  ProfileEnvType() : TextEntriesType(file_artifact(kOwnFile)) {
    info_.name = "profile_env";
    info_.section = "profile_env";
    info_.phase = Phase::kFiles;
    info_.summary = "environment variables of login shells";
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.files = {std::string(kOwnFile), std::string(kSecretDirectory) + "/USER/NAME"};
    const Shape number = Shape::integer(0, kLargestOwner);
    const Shape file = Shape::map({{kSecretValue, Shape::line()}, {kUid, number}});
    info_.reported.resource = Shape::map(
        {{kField, Shape::text(kLargestTextFile)}, {kSecretField, Shape::map_of(file, kMostUsers, kLongestWordName)}});
    info_.reported.longest_name = kLongestWordName;
    info_.reported.exported = Shape::map({{kSecretKeyExport, Shape::line(kSecretKeyDigits)},
                                          {kUsers, Shape::map_of(number, Shape::kMostItems, kLongestWordName)}});
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const MapEntry& entry : entries_of(section)) {
      if (entry.value.is_null() || !is_variable_name(entry.key)) continue;
      if (secret_reference(entry.value) != nullptr) {
        add_secret(view, entry, result);
        continue;
      }
      const Result<std::string> value = variable_value(entry.value);
      if (!value) continue;
      result.resources.push_back(make_resource(entry.key, Value::map({{kField, *value}}), entry.value.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value::Map section;  // Value::set() would search for each name among thousands.
    for (const auto& [name, value] : applied) {
      const auto text = text_below(value, kField);
      if (!text) return std::nullopt;  // Also for a secret: the manifest has no reference to its source.
      section.push_back(MapEntry{name, *text});
    }
    return Value(std::move(section));
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (!asks_for_secrets(section)) return Value();
    SPARK_TRY(const std::string key, secret_key(node));
    Value users = Value::map();
    for (const MapEntry& entry : entries_of(section)) {
      for (const Value& user : items_of(entry.value.find(kUsers))) {
        const std::string& name = text_of(&user);
        SPARK_TRY(const auto number, account_number("passwd", name, node));
        if (number) users.set(name, *number);
      }
    }
    return Value::map({{kSecretKeyExport, key}, {kUsers, std::move(users)}});
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    std::vector<FieldChange> changes;
    const Value* value = resource.desired.find(kField);
    const Value* now = present.value.find(kField);
    if (value != nullptr && (now == nullptr || !(*now == *value)))
      changes.push_back({kField, now == nullptr ? Value() : *now, *value});
    const Value* before = present.value.find(kSecretField);
    const Value* after = resource.desired.find(kSecretField);
    std::set<std::string> users;
    for (const MapEntry& one : entries_of(before)) users.insert(one.key);
    for (const MapEntry& one : entries_of(after)) users.insert(one.key);
    for (const std::string& user : users) {
      for (const char* field : {kUid, kSecretValue}) {
        const Value then = file_field(before, user, field);
        const Value wanted = file_field(after, user, field);
        // It stays as it is, and a claim says so.
        if (!wanted.is_null() && then == Value(kNotReadable)) continue;
        const bool listed = field == kSecretValue || !(then.is_null() || wanted.is_null());
        if (then == wanted || !listed) continue;
        changes.push_back({std::string(kSecretField) + "." + user + "." + field, then, wanted});
      }
    }
    // A value that stands in clear where a secret is wanted is probably the same one: it is replaced, and not shown.
    std::ranges::sort(changes, {}, &FieldChange::path);
    return changes;
  }

 protected:
  std::string render(const ValuesByName& entries) const override {
    RenderedText text;
    text.add({ownership_header()});
    for (const auto& [name, value] : entries) {
      if (value.find(kSecretField) == nullptr) add_variable(name, text_of(value.find(kField)), text);
    }
    for (const auto& [name, value] : entries) {
      for (const MapEntry& user : entries_of(value.find(kSecretField))) {
        if (text.is_full()) break;
        add_secret_line(user.key, name, text);
        text.add({"\n"});
      }
    }
    return std::move(text).text();
  }

  ValuesByName parse(std::string_view text) const override {
    ValuesByName entries;
    for (ShellAssignment& one : parse_shell_assignments(text)) {
      entries.erase(one.name);
      if (one.value) entries[one.name] = Value::map({{kField, *std::move(one.value)}});
    }
    for (const std::string_view line : split_lines(text)) {
      const auto secret = parse_secret_line(line);
      if (!secret) continue;
      Value& entry = entries[secret->second];
      Value users = entry.find(kSecretField) == nullptr ? Value::map() : *entry.find(kSecretField);
      users.set(secret->first, Value::map());
      entry.set(kSecretField, std::move(users));
    }
    return entries;
  }

  Result<std::vector<ForeignClaim>> claims(const std::vector<std::string>& names, const ValuesByName& ours,
                                           const NodeReader& node) const override {
    SPARK_TRY(const std::vector<ConfigFile> later, profile_files_after(kOwnFile, node));
    std::vector<ForeignClaim> claims;
    for (const std::string& name : names) {
      const std::optional<LaterAssignment> last = last_assignment(name, later);
      if (!last) continue;
      // A file with the same value as ours overrides nothing.
      const auto own = ours.find(name);
      if (own != ours.end() && last->value && *last->value == own->second.text_or(kField, "")) continue;
      claims.push_back(
          {{info_.name, name}, kField, last->value ? Value(*last->value) : Value(), last->source, last->message});
    }
    return claims;
  }

  /// The users of a variable are those of our script, and those that have a file of it.
  void observe_more(const ObserveRequest& request, const NodeReader& node, ObservedType& observed) const override {
    const auto with_files = or_empty(node.list_directory(kSecretDirectory));
    for (const std::string& name : request.names) {
      Observation& variable = observed.resources[name];
      if (with_files) {
        observe_files(name, *with_files, node, variable, observed);
      } else {
        variable = with_files.error();
      }
    }
  }

  std::vector<Step> more_steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    std::set<ArtifactId> wanted;
    std::set<std::string_view> changed;
    for (const Change& change : input.changes) changed.insert(change.id.name);
    const auto add = [&](const ArtifactId& artifact, const SecretFile* file) {
      TextArtifact text{
          artifact, std::nullopt, kSecretMode, {}, [variable = variable_of(artifact)](const Change& change) {
            return change.id.name == variable;
          }};
      // A user who has this file replaced or locked meanwhile keeps no other user's from being written or removed.
      text.group = info_.name + "/" + user_of(artifact);
      if (file != nullptr) {
        text.content = file->token;
        text.uid = file->uid;
      }
      append(steps, text_artifact_step(text, input, info_));
    };
    for (const Resource& resource : input.target) {
      for (const SecretFile& file : secret_files(resource)) {
        // A node reads each of its values from a file that it lists: without the file, the value is invented.
        if (!changed.contains(resource.id.name) && input.seen(file.artifact) == nullptr) continue;
        if (is_not_readable(file.artifact, input.observed)) continue;
        wanted.insert(file.artifact);
        add(file.artifact, &file);
      }
    }
    for (const auto& [artifact, observation] : input.observed.artifacts) {
      if (is_secret_file(artifact) && !wanted.contains(artifact)) add(artifact, nullptr);
    }
    return steps;
  }

 private:
  void observe_files(const std::string& name, const std::vector<std::string>& with_files, const NodeReader& node,
                     Observation& variable, ObservedType& observed) const {
    const Value* in_script = present_value(variable).find(kSecretField);
    std::set<std::string> readers;
    for (const MapEntry& user : entries_of(in_script)) readers.insert(user.key);
    std::set<std::string> users(with_files.begin(), with_files.end());
    users.insert(readers.begin(), readers.end());
    Value files = Value::map();
    for (const std::string& user : users) {
      const ArtifactId artifact = file_artifact(secret_path(user, name));
      Observation file = sealed(sparkplan::read_artifact(artifact, *this, node), node);
      const bool is_read = readers.contains(user);
      if (!is_read && std::holds_alternative<Absent>(file)) continue;
      if (const auto* error = std::get_if<Error>(&file)) {
        // An error of the variable would keep the values of all other users from being written or removed.
        if (is_read) files.set(user, Value::map({{kSecretValue, kNotReadable}}));
        observed.foreign.push_back({{info_.name, name},
                                    kSecretField,
                                    Value(),
                                    artifact.name,
                                    "cannot be read and stays as it is (" + error->describe() + ")"});
        continue;
      }
      const auto* found = std::get_if<Present>(&file);
      if (is_read && found == nullptr) files.set(user, Value::map());
      if (is_read && found != nullptr) {
        files.set(user, Value::map({{kSecretValue, found->value.text_or("content", "")},
                                    {kUid, found->value.integer_or(kUid, 0)}}));
      }
      observed.artifacts[artifact] = std::move(file);
    }
    auto* present = std::get_if<Present>(&variable);
    if (present != nullptr && in_script != nullptr) present->value.set(kSecretField, std::move(files));
  }

  static bool is_not_readable(const ArtifactId& artifact, const ObservedType& observed) {
    const auto variable = observed.resources.find(variable_of(artifact));
    if (variable == observed.resources.end()) return false;
    const Value* files = present_value(variable->second).find(kSecretField);
    return file_field(files, user_of(artifact), kSecretValue) == Value(kNotReadable);
  }

  static Value file_field(const Value* files, const std::string& user, const char* field) {
    const Value* found = files == nullptr ? nullptr : find_below(*files, user, field);
    return found == nullptr ? Value() : *found;
  }

  void add_secret(const ClusterView& view, const MapEntry& entry, Desired& result) const {
    const Value& reference = *secret_reference(entry.value);
    const Value* own = view.export_of(view.self.name, info_.name);
    const std::string key = own == nullptr ? std::string() : own->text_or(kSecretKeyExport, "");
    const auto refuse = [&](std::string code, const std::string& message, std::string hint) {
      result.diagnostics.push_back(finding(std::move(code), message, std::move(hint), entry.value.where));
      result.incomplete = true;
    };
    if (key.empty()) return refuse(kNoSecretKey, no_secret_key(entry.key), std::string(kNoSecretKeyHint));
    Value files = Value::map();
    for (const Value& named : items_of(entry.value.find(kUsers))) {
      const std::string& user = text_of(&named);
      const Value* number = find_below(*own, kUsers, user);
      if (number == nullptr || number->integer() == nullptr) {
        return refuse("profile_env.no-user", "there is no user " + user,
                      "create the account first, or name another user");
      }
      files.set(user, Value::map({{kSecretValue, token_in(view, reference, key)}, {kUid, *number}}));
    }
    result.resources.push_back(
        make_resource(entry.key, Value::map({{kSecretField, std::move(files)}}), entry.value.where));
    result.resources.back().secret_source = secret_text(reference);
  }
};

}  // namespace

std::string render_file(const std::map<std::string, std::string>& variables) {
  RenderedText text;
  text.add({ownership_header()});
  for (const auto& [name, value] : variables) add_variable(name, value, text);
  return std::move(text).text();
}

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<ProfileEnvType>(); }

std::string secret_line(const std::string& user, const std::string& variable) {
  RenderedText text;
  add_secret_line(user, variable, text);
  return std::move(text).text();
}

std::optional<std::pair<std::string, std::string>> parse_secret_line(std::string_view line) {
  const std::string before = "-r '" + std::string(kSecretDirectory) + "/";
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(begin + before.size());
  const std::size_t slash = rest.find('/');
  const std::size_t end = rest.find('\'');
  if (slash == std::string_view::npos || end == std::string_view::npos || end < slash) return std::nullopt;
  const std::string user(rest.substr(0, slash));
  const std::string variable(rest.substr(slash + 1, end - slash - 1));
  if (!is_variable_name(variable) || line != secret_line(user, variable)) return std::nullopt;
  return std::pair(user, variable);
}

}  // namespace sparkplan::profile_env
