#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/core/utf8.h"
#include "engine/resource/accounts.h"
#include "engine/resource/artifact.h"
#include "engine/resource/secret_artifact.h"
#include "engine/resource/steps.h"
#include "resources/file/compilation.h"
#include "resources/file/places.h"

/// Whole text files: `files: [{path: /etc/motd, content: "Two Sparks\n"}]`.
namespace sparkplan::file {
namespace {

/// Kinds of this type's own artifacts: a folder by its path, and the restart of a service by its unit.
constexpr std::string_view kFolderKind = "folder";
constexpr std::string_view kRestartKind = "restart";
constexpr std::uint32_t kOthers = 0007;
constexpr std::uint32_t kOthersWrite = 0002;
/// The largest uid_t and gid_t.
constexpr std::int64_t kLargestOwner = 0xFFFFFFFF;
constexpr std::size_t kMostModeBytes = 8;

/// The names that the records have below `key`, with their numbers on the node. Unknown names are left out.
Result<Value> numbers_of(const Value& section, std::string_view key, const std::string& database,
                         const NodeReader& node) {
  Value numbers = Value::map();
  for (const Value& record : items_of(section)) {
    const std::string name = record.text_or(key, kRoot);
    if (name == kRoot || numbers.find(name) != nullptr) continue;
    SPARK_TRY(const std::optional<std::int64_t> number, account_number(database, name, node));
    if (number) numbers.set(name, *number);
  }
  return numbers;
}

/// Whether cluster.yaml may contain the text itself. A file beside it may contain more: CR before LF, ESC.
bool can_stand_in_file(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const bool is_blank = point.value == U'\n' || point.value == U'\t';
    const bool is_control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0);
    if (!point.valid || (is_control && !is_blank) || is_reordering(point.value)) return false;
    i += point.length;
  }
  return true;
}

class FileType final : public ResourceType {
 public:
  FileType() {
    info_.name = "file";
    info_.section = "files";
    info_.phase = Phase::kFiles;
    info_.summary = "whole text files";
    info_.files = {"the paths that the section names"};
    info_.records = {.identity = {"path"}, .by_path = true, .bodies = {"content"}};
    info_.file_beside = {"source", "content"};
    const Shape number = Shape::integer(0, kLargestOwner);
    info_.reported.resource = Shape::map({{"content", Shape::text()},
                                          {"gid", number},
                                          {kInEffect, Shape::boolean()},
                                          {"mode", Shape::line(kMostModeBytes)},
                                          {"uid", number}});
    info_.reported.artifacts = {{std::string(kFolderKind), Shape::map({})},
                                {std::string(kRestartKind), Shape::map({})}};
    info_.reported.exported = Shape::map({{kAbsent, Shape::texts()},
                                          {kGroups, Shape::map_of(number)},
                                          {kSecretKeyExport, Shape::line(kSecretKeyDigits)},
                                          {kUsers, Shape::map_of(number)},
                                          {kWithoutDirectory, Shape::texts()}});
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    return compile(view, section, info_);
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [path, value] : applied) {
      // Records name owners, and the same number can have another name on each node. Only root is always 0.
      const Value* content = value.find("content");
      const bool roots = value.integer_or("uid", -1) == 0 && value.integer_or("gid", -1) == 0;
      if (!roots || content == nullptr || content->string() == nullptr) return std::nullopt;
      // The manifest has no value of a secret, and no reference to its source.
      if (holds_secret(*content) || !can_stand_in_file(*content->string())) return std::nullopt;
      section.push_back(Value::map({{"path", path}, {"content", *content}, {"mode", value.text_or("mode", "0644")}}));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    std::vector<Diagnostic> findings;
    for (const Value& record : items_of(section)) {
      const std::string path = record.text_or("path", "");
      check_text(record, path, findings);
      if (auto objection = objection_to(path)) {
        findings.push_back(finding(std::move(objection->code), path + " " + objection->message,
                                   std::move(objection->hint), place_of(record, "path")));
      }
      if (const Value* secret = secret_of(record)) {
        check_secret_file(record, *secret, path, findings);
        continue;
      }
      if ((mode_of(record) & kOthersWrite) == 0) continue;
      findings.push_back(finding("file.world-writable", "every user of the node could change " + path,
                                 "remove write permission for others, as in \"0664\" or \"0644\"",
                                 place_of(record, "mode")));
      findings.back().severity = Severity::kWarning;
    }
    return findings;
  }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (items_of(section).empty()) return Value();
    Value::List absent;
    Value::List without_directory;
    const auto missing = [&](const std::string& path) {
      const auto status = node.status(path);
      return !status && status.error().code == ErrorCode::kNotFound;
    };
    for (const Value& record : items_of(section)) {
      const std::string path = record.text_or("path", "");
      if (!missing(path)) continue;
      absent.emplace_back(path);
      const std::string directory = directory_of(path);
      if (!missing(directory)) continue;
      const bool is_made = !own_folder(path).empty() && !missing(directory_of(directory));
      if (!is_made) without_directory.emplace_back(path);
    }
    SPARK_TRY(Value users, numbers_of(section, "owner", "passwd", node));
    SPARK_TRY(Value groups, numbers_of(section, "group", "group", node));
    Value exported = Value::map({{kAbsent, std::move(absent)},
                                 {kGroups, std::move(groups)},
                                 {kUsers, std::move(users)},
                                 {kWithoutDirectory, std::move(without_directory)}});
    if (asks_for_secrets(section)) {
      SPARK_TRY(const std::string key, secret_key(node));
      exported.set(kSecretKeyExport, key);
    }
    return exported;
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const std::string& name : request.names) {
      const ArtifactId artifact = file_artifact(name);
      const Result<bool> directory = check_directories(name, node);
      Observation file = Absent{};
      if (!directory) {
        file = directory.error();
      } else if (*directory) {
        file = sparkplan::read_artifact(artifact, *this, node);
        // A file that only looks like a token is sealed too: its content then is not taken for a digest.
        if (request.secret.contains(name) || holds_secret(file)) file = sealed(std::move(file), node);
      }
      observed.artifacts[artifact] = file;
      if (const ArtifactId folder = folder_of(name); !folder.name.empty() && directory) {
        observed.artifacts[folder] = read_artifact(folder, node);
      }
      // The resource has the fields of its artifact.
      if (is_of_logind(name)) {
        observed.artifacts[restart_artifact()] = read_artifact(restart_artifact(), node);
        add_effect(name, node, file);
      }
      observed.resources[name] = std::move(file);
    }
    return observed;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    const auto there = artifact.kind == kRestartKind ? logind_runs(node) : node.is_there(artifact.name);
    if (!there) return there.error();
    return *there ? Observation(Present{Value::map(), {}}) : Absent{};
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind == kRestartKind) return restart_logind(node);
    // The engine makes the folder together with its first file.
    if (!std::holds_alternative<Absent>(after)) return {};
    SPARK_TRY(const auto names, or_empty(node.list_directory(artifact.name)));
    // Files of other programs keep their folder.
    return names.empty() ? node.remove_directory(artifact.name) : Result<void>();
  }

  Result<ActivationEnd> begin(const ArtifactId& artifact, const Observation& /*after*/, Node& node) const override {
    return artifact.kind == kRestartKind ? begin_restart_of_logind(node) : ActivationEnd();
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    std::set<std::string> wanted;
    std::set<std::string> folders;
    for (const Resource& resource : input.target) {
      wanted.insert(resource.id.name);
      folders.insert(own_folder(resource.id.name));
      const auto file = decode_file_content(resource.desired);
      if (!file) continue;  // Unknown content: the change is not carried out.
      add_steps(resource.id, *file, input, steps);
    }
    std::vector<Step> emptied;
    for (const Change& change : input.changes) {
      if (wanted.contains(change.id.name)) continue;
      add_steps(change.id, std::nullopt, input, steps);
      // A folder that several files leave is removed once.
      if (folders.insert(own_folder(change.id.name)).second) add_folder_step(change.id, Absent{}, input, emptied);
    }
    std::move(emptied.begin(), emptied.end(), std::back_inserter(steps));
    return steps;
  }

 private:
  /// The loader has put the text of a file beside cluster.yaml into "content".
  static void check_text(const Value& record, const std::string& path, std::vector<Diagnostic>& findings) {
    const Value* source = record.find("source");
    if (source == nullptr) {
      if (auto missing = missing_key(record, "path", "content")) findings.push_back(*std::move(missing));
    } else if (record.find("content") != nullptr) {
      findings.push_back(finding("files.content-and-source", in_quotes(path) + " has both \"content\" and \"source\"",
                                 "keep one of the two; null drops an inherited one", source->where));
    }
  }

  static void check_secret_file(const Value& record, const Value& secret, const std::string& path,
                                std::vector<Diagnostic>& findings) {
    if (auto fault = check_secret(secret, "file.secret")) findings.push_back(*std::move(fault));
    if ((mode_of(record) & kOthers) == 0) return;
    findings.push_back(finding("file.secret-mode", "every user of the node could read the secret in " + path,
                               "remove all permissions of others, as in \"0400\" or \"0440\"",
                               place_of(record, "mode")));
  }

  static ArtifactId folder_of(const std::string& path) { return {std::string(kFolderKind), own_folder(path)}; }
  static ArtifactId restart_artifact() { return {std::string(kRestartKind), std::string(kLogind)}; }

  static void add_effect(const std::string& path, const NodeReader& node, Observation& file) {
    auto* present = std::get_if<Present>(&file);
    if (present == nullptr) return;
    const auto in_effect = logind_has_read(path, node);
    if (!in_effect) {
      file = in_effect.error();
    } else if (*in_effect) {
      present->value.set(kInEffect, **in_effect);
    } else {
      present->not_applicable[kInEffect] = "logind does not run there";
    }
  }

  Step step_between(const ArtifactId& artifact, const Observation& before, const Observation& after,
                    const ResourceId& id) const {
    Step step = step_for(artifact, id, info_);
    step.before = before;
    step.after = after;
    step.group = id.str();
    return step;
  }

  /// A step for the file's folder if sparkplan made it, or is about to.
  void add_folder_step(const ResourceId& id, const Observation& after, const StepsInput& input,
                       std::vector<Step>& steps) const {
    const ArtifactId folder = folder_of(id.name);
    const Observation* now = input.seen(folder);
    if (now == nullptr || same_state(*now, after)) return;
    if (std::holds_alternative<Absent>(after)) {
      const Observation* original = input.original(folder);
      if (original == nullptr || !std::holds_alternative<Absent>(*original)) return;
    }
    steps.push_back(step_between(folder, *now, after, id));
  }

  /// The file's own step, after the one for its folder and before the restart that makes it take effect. Without
  /// `file`, the original is restored.
  void add_steps(const ResourceId& id, const std::optional<FileContent>& file, const StepsInput& input,
                 std::vector<Step>& steps) const {
    const bool is_changed = std::ranges::find(input.changes, id, &Change::id) != input.changes.end();
    if (file && is_changed) add_folder_step(id, Present{Value::map(), {}}, input, steps);
    TextArtifact artifact{file_artifact(id.name), std::nullopt, 0, id.str(),
                          [id](const Change& change) { return change.id == id; }};
    if (file) {
      artifact.content = file->bytes;
      artifact.mode = file->mode;
      artifact.uid = file->uid;
      artifact.gid = file->gid;
    }
    append(steps, text_artifact_step(artifact, input, info_));
    if (!is_of_logind(id.name) || !is_changed) return;
    const Observation* restart = input.seen(restart_artifact());
    if (restart == nullptr || !std::holds_alternative<Present>(*restart)) return;
    steps.push_back(step_between(restart_artifact(), *restart, *restart, id));
    steps.back().activates = true;
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<FileType>(); }

}  // namespace sparkplan::file
