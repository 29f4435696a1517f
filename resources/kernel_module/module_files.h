#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::kernel_module {

/// The name as the kernel has it: to it '-' and '_' are the same, and it shows '_'.
std::string kernel_name(std::string_view name);

/// Module names, one to a line, below our header. The two are each other's inverse.
std::string render_load_file(const std::set<std::string>& modules);
std::set<std::string> parse_load_file(std::string_view text);

/// "options NAME PARAMETERS" for each. The two are each other's inverse.
std::string render_options_file(const std::map<std::string, std::string>& options);
std::map<std::string, std::string> parse_options_file(std::string_view text);

/// A line of somebody else's that keeps a module from being loaded at boot.
struct Obstacle {
  std::string module;  ///< kernel_name()
  std::string source;  ///< "/etc/modprobe.d/blacklist.conf:3"
  std::string line;    ///< "blacklist nvme_tcp"
};
/// Pure. Source: modprobe.d(5), `blacklist` and `install`.
std::vector<Obstacle> obstacles_in(const std::string& path, std::string_view text);
/// Those of all files that modprobe reads but ours. Errors: as NodeReader::read_file().
Result<std::vector<Obstacle>> read_obstacles(const NodeReader& node);

/// What a loaded module's parameter shows, and what was asked for, are the same: "Y", "1" and "y" are.
bool same_parameter(std::string_view shown, std::string_view wanted);

}  // namespace sparkplan::kernel_module
