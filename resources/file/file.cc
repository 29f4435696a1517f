#include "resources/file/file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/file_mode.h"
#include "engine/core/finding.h"
#include "engine/core/utf8.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/file/accounts.h"
#include "resources/file/places.h"

namespace sparkplan::file {
namespace {

constexpr const char* kUsers = "users";
constexpr const char* kGroups = "groups";
constexpr const char* kAbsent = "absent";
constexpr const char* kWithoutDirectory = "without_directory";
constexpr std::string_view kRoot = "root";
constexpr std::string_view kDefaultMode = "0644";
constexpr std::uint32_t kOthersWrite = 0002;
/// Of uid_t and gid_t.
constexpr std::int64_t kLargestOwner = 0xFFFFFFFF;
constexpr std::size_t kMostModeBytes = 8;

const Value::List& records_of(const Value& section) {
  static const Value::List none;
  return section.list_items() == nullptr ? none : *section.list_items();
}

std::uint32_t mode_of(const Value& record) {
  return static_cast<std::uint32_t>(std::stoul(record.text_or("mode", kDefaultMode), nullptr, 8));
}

SourceRange place_of(const Value& record, std::string_view key) {
  const Value* value = record.find(key);
  return value == nullptr ? record.where : value->where;
}

std::string directory_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

/// Names of the section's records below `key`, and the numbers that the node has for them.
Result<Value> numbers_of(const Value& section, std::string_view key, Database database, const NodeReader& node) {
  Value numbers = Value::map();
  for (const Value& record : records_of(section)) {
    const std::string name = record.text_or(key, kRoot);
    if (name == kRoot || numbers.find(name) != nullptr) continue;
    SPARK_TRY(const std::optional<std::int64_t> number, number_of(database, name, node));
    if (number) numbers.set(name, *number);
  }
  return numbers;
}

/// Whether cluster.yaml itself may hold the text. A file beside it may hold more: CR before LF, ESC.
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

/// Compiles the section of one node, in the light of what the node says of itself.
class Compilation {
 public:
  Compilation(const ClusterView& view, const TypeInfo& info) : view_(view), info_(info) {
    const auto node = view.exports.find(view.self.name.str());
    if (node == view.exports.end()) return;
    if (const auto own = node->second.find(info.name); own != node->second.end()) own_ = &own->second;
    const auto packages = node->second.find("package");
    if (packages == node->second.end()) return;
    const Value* missing = packages->second.find("missing");
    packages_to_come_ = missing != nullptr && missing->list_items() != nullptr && !missing->list_items()->empty();
  }

  void add(const Value& record) {
    const std::string path = record.text_or("path", "");
    Value content = record.text_or("content", "");
    if (packages_to_come_ && is_among(kAbsent, path)) {
      // One of them may bring its directory, or a file of that name, which is then to be replaced.
      content = known_after_packages();
    } else if (is_among(kWithoutDirectory, path)) {
      return refuse(finding("file.no-directory", "there is no directory " + directory_of(path) + " for " + path,
                            "make it first: sparkplan writes files, not directories", place_of(record, "path")));
    }
    Value uid = number(record, "owner", kUsers);
    Value gid = number(record, "group", kGroups);
    if (uid.is_null() || gid.is_null()) return;
    Resource resource;
    resource.id = {info_.name, path};
    resource.desired = Value::map({{"content", std::move(content)},
                                   {"gid", std::move(gid)},
                                   {"mode", file_mode_text(mode_of(record))},
                                   {"uid", std::move(uid)}});
    resource.where = record.where;
    result_.resources.push_back(std::move(resource));
  }

  Desired take() && { return std::move(result_); }

 private:
  /// In a list of paths that the node has exported.
  bool is_among(std::string_view key, const std::string& path) const {
    const Value* list = own_ == nullptr ? nullptr : own_->find(key);
    if (list == nullptr || list->list_items() == nullptr) return false;
    const Value::List& paths = *list->list_items();
    return std::find(paths.begin(), paths.end(), Value(path)) != paths.end();
  }

  Value known_after_packages() const {
    return Value::Unknown{"known after the packages are there", view_.self.name.str() + "/package"};
  }

  /// Null where there is none, which is told.
  Value number(const Value& record, std::string_view key, std::string_view database) {
    const std::string name = record.text_or(key, kRoot);
    if (name == kRoot) return 0;
    if (own_ == nullptr) return view_.export_or_unknown(view_.self.name, info_.name, database);
    const Value* numbers = own_->find(database);
    const Value* found = numbers == nullptr ? nullptr : numbers->find(name);
    if (found != nullptr && found->integer() != nullptr) return *found;
    if (packages_to_come_) return known_after_packages();
    const bool user = database == kUsers;
    refuse(finding(user ? "file.no-user" : "file.no-group",
                   std::string("there is no ") + (user ? "user " : "group ") + name,
                   user ? "make the account first, or name another owner" : "make it with groupadd, or name another",
                   place_of(record, key)));
    return {};
  }

  void refuse(Diagnostic finding) {
    result_.diagnostics.push_back(std::move(finding));
    result_.incomplete = true;
  }

  const ClusterView& view_;
  const TypeInfo& info_;
  const Value* own_ = nullptr;  ///< Null when the node could not say.
  bool packages_to_come_ = false;
  Desired result_;
};

class FileType final : public ResourceType {
 public:
  explicit FileType(std::string schema_json) {
    info_.name = "file";
    info_.section = "files";
    info_.phase = Phase::kFiles;
    info_.summary = "whole text files";
    info_.schema_json = std::move(schema_json);
    info_.files = {"the paths that the section names"};
    info_.file_beside = {"source", "content"};
    const Shape number = Shape::integer(0, kLargestOwner);
    info_.reported.resource = Shape::map(
        {{"content", Shape::text()}, {"gid", number}, {"mode", Shape::line(kMostModeBytes)}, {"uid", number}});
    info_.reported.exported = Shape::map({{kAbsent, Shape::texts()},
                                          {kGroups, Shape::map_of(number)},
                                          {kUsers, Shape::map_of(number)},
                                          {kWithoutDirectory, Shape::texts()}});
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& view, const Value& section, const Facts& /*own*/) const override {
    Compilation compilation(view, info_);
    for (const Value& record : records_of(section)) compilation.add(record);
    return std::move(compilation).take();
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [path, value] : applied) {
      // Numbers are no names, and only root is called the same on every node.
      const Value* content = value.find("content");
      const bool roots = value.integer_or("uid", -1) == 0 && value.integer_or("gid", -1) == 0;
      if (!roots || content == nullptr || content->string() == nullptr) return std::nullopt;
      if (!can_stand_in_file(*content->string())) return std::nullopt;
      section.push_back(Value::map({{"path", path}, {"content", *content}, {"mode", value.text_or("mode", "0644")}}));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    std::vector<Diagnostic> findings;
    for (const Value& record : records_of(section)) {
      const std::string path = record.text_or("path", "");
      if (auto objection = objection_to(path)) {
        findings.push_back(finding(std::move(objection->code), path + " " + objection->message,
                                   std::move(objection->hint), place_of(record, "path")));
      }
      if ((mode_of(record) & kOthersWrite) == 0) continue;
      findings.push_back(finding("file.world-writable", "everybody on the node may then change " + path,
                                 "take the last digit's 2 out, such as \"0664\" or \"0644\"",
                                 place_of(record, "mode")));
      findings.back().severity = Severity::kWarning;
    }
    return findings;
  }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (records_of(section).empty()) return Value();
    Value::List absent;
    Value::List without_directory;
    const auto missing = [&](const std::string& path) {
      const auto status = node.status(path);
      return !status && status.error().code == ErrorCode::kNotFound;
    };
    for (const Value& record : records_of(section)) {
      const std::string path = record.text_or("path", "");
      if (!missing(path)) continue;
      absent.emplace_back(path);
      if (missing(directory_of(path))) without_directory.emplace_back(path);
    }
    SPARK_TRY(Value users, numbers_of(section, "owner", Database::kUsers, node));
    SPARK_TRY(Value groups, numbers_of(section, "group", Database::kGroups, node));
    return Value::map({{kAbsent, std::move(absent)},
                       {kGroups, std::move(groups)},
                       {kUsers, std::move(users)},
                       {kWithoutDirectory, std::move(without_directory)}});
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const std::string& name : request.names) {
      if (name == kWholeFileName) continue;
      const ArtifactId artifact = file_artifact(name);
      const Result<bool> directory = check_directories(name, node);
      Observation file = Absent{};
      if (!directory) {
        file = directory.error();
      } else if (*directory) {
        file = sparkplan::read_artifact(artifact, *this, node);
      }
      // The fields of the resource are those of the artifact.
      observed.artifacts[artifact] = file;
      observed.resources[name] = std::move(file);
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    std::set<std::string> wanted;
    for (const Resource& resource : input.target) {
      wanted.insert(resource.id.name);
      const auto file = decode_file_content(resource.desired);
      if (!file) continue;  // Nobody could look, and nothing was applied.
      add_step(resource.id, *file, input, steps);
    }
    for (const Change& change : input.changes) {
      if (!wanted.contains(change.id.name)) add_step(change.id, std::nullopt, input, steps);
    }
    return steps;
  }

 private:
  /// Without a file, what was there before comes back.
  void add_step(const ResourceId& id, const std::optional<FileContent>& file, const StepsInput& input,
                std::vector<Step>& steps) const {
    TextArtifact artifact{file_artifact(id.name), std::nullopt, 0, id.str(),
                          [id](const Change& change) { return change.id == id; }};
    if (file) {
      artifact.content = file->bytes;
      artifact.mode = file->mode;
      artifact.uid = file->uid;
      artifact.gid = file->gid;
    }
    if (auto step = text_artifact_step(artifact, input, info_)) steps.push_back(*std::move(step));
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const FileType>(std::move(schema_json));
}

}  // namespace sparkplan::file
