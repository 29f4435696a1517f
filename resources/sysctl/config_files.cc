#include "resources/sysctl/config_files.h"

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace sparkplan::sysctl {
namespace {

/// From the one that hides all others to the one that hides none.
constexpr std::array<std::string_view, 5> kDirectories{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d",
                                                       "/usr/lib/sysctl.d", "/lib/sysctl.d"};

bool counts(const std::string& name) {
  return name.ends_with(".conf") && !name.starts_with('.') &&
         name > std::filesystem::path(kOwnFile).filename().string();
}

/// The content; "" for what hides its name without adding anything: an empty file, a link to
/// /dev/null or to nothing, a directory. systemd-sysctl looks at names first and opens files later.
Result<std::string> read_config(const std::filesystem::path& path, const NodeReader& node) {
  Result<std::string> text = node.read_file(path);
  if (text || text.error().code == ErrorCode::kNotFound) return text.value_or("");
  if (text.error().code == ErrorCode::kUnsupported) {
    SPARK_TRY(const FileStatus status, node.status(path));
    if (status.kind != FileStatus::Kind::kRegular) return std::string();
  }
  return failure(std::move(text).error().within("could override our values"));
}

}  // namespace

Result<std::vector<ConfigFile>> later_config_files(const NodeReader& node) {
  std::map<std::string, ConfigFile> by_name;
  for (const std::string_view directory : kDirectories) {
    const Result<std::vector<std::string>> names = node.list_directory(directory);
    if (!names) {
      if (names.error().code == ErrorCode::kNotFound) continue;
      return failure(names.error());
    }
    for (const std::string& name : *names) {
      if (!counts(name) || by_name.contains(name)) continue;
      const std::filesystem::path path = std::filesystem::path(directory) / name;
      SPARK_TRY(std::string content, read_config(path, node));
      by_name[name] = ConfigFile{path.string(), std::move(content)};
    }
  }
  std::vector<ConfigFile> files;
  for (auto& [name, file] : by_name) files.push_back(std::move(file));
  return files;
}

}  // namespace sparkplan::sysctl
