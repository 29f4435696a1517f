#include "engine/resource/config_files.h"

#include <utility>

namespace sparkplan {

Result<std::map<std::string, std::string>> config_paths(std::span<const std::string_view> directories,
                                                        std::string_view ending, const NodeReader& node) {
  std::map<std::string, std::string> paths;
  for (const std::string_view directory : directories) {
    SPARK_TRY(const std::vector<std::string> names, or_empty(node.list_directory(directory)));
    for (const std::string& name : names) {
      if (name.ends_with(ending) && !name.starts_with('.')) paths.emplace(name, std::string(directory) + "/" + name);
    }
  }
  return paths;
}

Result<std::optional<std::string>> read_config(const std::filesystem::path& path, const NodeReader& node) {
  Result<std::string> text = node.read_file(path);
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (text.error().code == ErrorCode::kUnsupported) {
    SPARK_TRY(const FileStatus status, node.status(path));
    if (status.kind != FileStatus::Kind::kRegular) return std::optional<std::string>();
  }
  return failure(std::move(text).error().within("could override our values"));
}

Result<std::vector<ConfigFile>> read_config_files(std::span<const std::string_view> directories,
                                                  std::string_view ending, const NodeReader& node,
                                                  const std::function<bool(const std::string& name)>& counts) {
  SPARK_TRY(const auto paths, config_paths(directories, ending, node));
  std::vector<ConfigFile> files;
  for (const auto& [name, path] : paths) {
    if (counts && !counts(name)) continue;
    SPARK_TRY(std::optional<std::string> content, read_config(path, node));
    if (content) files.push_back({path, *std::move(content)});
  }
  return files;
}

}  // namespace sparkplan
