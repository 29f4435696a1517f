#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::kernel_module {

/// Source: modules-load.d(5).
inline constexpr std::string_view kLoadFile = "/etc/modules-load.d/90-sparkplan.conf";
/// Source: modprobe.d(5).
inline constexpr std::string_view kOptionsFile = "/etc/modprobe.d/90-sparkplan.conf";

/// The kernel's form of the name: '-' and '_' are equal, and it shows '_'.
std::string kernel_name(std::string_view name);

/// Module names, one per line, below our header. The two functions are inverse to each other.
std::string render_load_file(const std::set<std::string>& modules);
std::set<std::string> parse_load_file(std::string_view text);

/// "options NAME PARAMETERS" for each. The two functions are inverse to each other.
std::string render_options_file(const std::map<std::string, std::string>& options);
std::map<std::string, std::string> parse_options_file(std::string_view text);

/// A foreign line that prevents a module from being loaded at boot.
struct Obstacle {
  std::string module;  ///< kernel_name()
  std::string source;  ///< "/etc/modprobe.d/blacklist.conf:3"
  std::string line;    ///< "blacklist nvme_tcp"
};
/// Pure. Source: modprobe.d(5), `blacklist` and `install`.
std::vector<Obstacle> obstacles_in(const std::string& path, std::string_view text);
/// The obstacles in all files that modprobe reads, except ours. Errors: as NodeReader::read_file().
Result<std::vector<Obstacle>> read_obstacles(const NodeReader& node);

/// True if a parameter of a loaded module shows the desired value; "Y", "1" and "y" are equal.
bool same_parameter(std::string_view shown, std::string_view wanted);

}  // namespace sparkplan::kernel_module
