#include "resources/file/compilation.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "engine/resource/secret_artifact.h"
#include "resources/file/places.h"

namespace sparkplan::file {
namespace {

constexpr std::string_view kDefaultMode = "0644";
constexpr std::string_view kDefaultSecretMode = "0400";

/// Compiles the section of one node, using the exports of that node.
class Compilation {
 public:
  Compilation(const ClusterView& view, const TypeInfo& info)
      : view_(view), info_(info), own_(view.export_of(view.self.name, info.name)) {
    const Value* packages = view.export_of(view.self.name, "package");
    packages_to_come_ = packages != nullptr && !items_of(packages->find("missing")).empty();
  }

  void add(const Value& record) {
    const std::string path = record.text_or("path", "");
    const Value* secret = secret_of(record);
    Value content = record.text_or("content", "");
    if (secret != nullptr) {
      const std::string key = own_ == nullptr ? std::string() : own_->text_or(kSecretKeyExport, "");
      if (key.empty())
        return refuse(finding(kNoSecretKey, no_secret_key(path), std::string(kNoSecretKeyHint), record.where));
      content = token_in(view_, *secret, key);
    }
    if (packages_to_come_ && is_among(kAbsent, path)) {
      // A package may bring its directory, or a file of that name, which sparkplan then replaces.
      content = known_after_packages();
    } else if (is_among(kWithoutDirectory, path)) {
      return refuse(finding("file.no-directory", "there is no directory " + directory_of(path) + " for " + path,
                            "create it first: sparkplan writes files, not directories", place_of(record, "path")));
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
    if (is_of_logind(path)) resource.desired.set(kInEffect, true);
    resource.where = record.where;
    if (secret != nullptr) resource.secret_source = secret_text(*secret);
    result_.resources.push_back(std::move(resource));
  }

  Desired take() && { return std::move(result_); }

 private:
  /// Whether the node has exported `path` in the list `key`.
  bool is_among(std::string_view key, const std::string& path) const {
    const Value::List& paths = items_of(own_ == nullptr ? nullptr : own_->find(key));
    return std::ranges::find(paths, Value(path)) != paths.end();
  }

  Value known_after_packages() const {
    return Value::Unknown{"known after the packages are installed", view_.self.name.str() + "/package"};
  }

  /// The number of the account, or its unknown value. Null, with a finding, if the node has no such account.
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
                   user ? "create the account first, or name another owner" : "run groupadd first, or name another",
                   place_of(record, key)));
    return {};
  }

  void refuse(Diagnostic finding) {
    result_.diagnostics.push_back(std::move(finding));
    result_.incomplete = true;
  }

  const ClusterView& view_;
  const TypeInfo& info_;
  const Value* own_;  ///< Null if the node exported nothing.
  bool packages_to_come_ = false;
  Desired result_;
};

}  // namespace

const Value* secret_of(const Value& record) {
  const Value* content = record.find("content");
  return content == nullptr ? nullptr : secret_reference(*content);
}

std::uint32_t mode_of(const Value& record) {
  const std::string_view unless_said = secret_of(record) == nullptr ? kDefaultMode : kDefaultSecretMode;
  return static_cast<std::uint32_t>(std::stoul(record.text_or("mode", unless_said), nullptr, 8));
}

std::string directory_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

Desired compile(const ClusterView& view, const Value& section, const TypeInfo& info) {
  Compilation compilation(view, info);
  for (const Value& record : items_of(section)) compilation.add(record);
  return std::move(compilation).take();
}

}  // namespace sparkplan::file
