#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// Directories of configuration files such as sysctl.d, where a file of one directory hides the files of the same name
/// in others. Everything here is I/O, read-only.
namespace sparkplan {

/// A file that another program reads as well as ours.
struct ConfigFile {
  std::string path;
  std::string content;
};

/// The paths of the files with this ending, by name. Each of the `directories` hides the names of the later ones. Left
/// out are names that begin with a dot, and missing directories. Errors: as NodeReader::list_directory().
Result<std::map<std::string, std::string>> config_paths(std::span<const std::string_view> directories,
                                                        std::string_view ending, const NodeReader& node);

/// The content; nothing for a file that is missing or not regular, such as a link to /dev/null.
/// Errors: as NodeReader::read_file(), because an unreadable file might override our values.
Result<std::optional<std::string>> read_config(const std::filesystem::path& path, const NodeReader& node);

/// The files of config_paths() that read_config() can read, sorted by name; with `counts` only those whose name counts.
Result<std::vector<ConfigFile>> read_config_files(std::span<const std::string_view> directories,
                                                  std::string_view ending, const NodeReader& node,
                                                  const std::function<bool(const std::string& name)>& counts = {});

}  // namespace sparkplan
