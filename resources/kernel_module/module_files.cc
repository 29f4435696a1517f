#include "resources/kernel_module/module_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/words.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/kernel_module/kernel_module.h"

namespace sparkplan::kernel_module {
namespace {

/// Later ones hide earlier ones of the same file name. Source: modprobe.d(5).
constexpr std::array<std::string_view, 4> kDirectories{"/lib/modprobe.d", "/usr/lib/modprobe.d", "/run/modprobe.d",
                                                       "/etc/modprobe.d"};

bool is_comment(std::string_view line) { return line.empty() || line.starts_with('#') || line.starts_with(';'); }

std::string_view as_switch(std::string_view value) {
  if (value == "1" || value == "y" || value == "Y") return "Y";
  if (value == "0" || value == "n" || value == "N") return "N";
  return value;
}

}  // namespace

std::string kernel_name(std::string_view name) {
  std::string kernel(name);
  std::replace(kernel.begin(), kernel.end(), '-', '_');
  return kernel;
}

std::string render_load_file(const std::set<std::string>& modules) {
  std::string text = ownership_header();
  for (const std::string& module : modules) text += module + "\n";
  return text;
}

std::set<std::string> parse_load_file(std::string_view text) {
  std::set<std::string> modules;
  for (const std::string_view line : split_lines(text)) {
    if (const auto name = trim(line); !is_comment(name)) modules.insert(std::string(name));
  }
  return modules;
}

std::string render_options_file(const std::map<std::string, std::string>& options) {
  std::string text = ownership_header();
  for (const auto& [module, parameters] : options) text += "options " + module + " " + parameters + "\n";
  return text;
}

std::map<std::string, std::string> parse_options_file(std::string_view text) {
  std::map<std::string, std::string> options;
  for (const std::string_view line : split_lines(text)) {
    const auto words = words_of(line);
    if (words.size() < 3 || words[0] != "options") continue;
    std::string parameters;
    for (std::size_t i = 2; i < words.size(); ++i) parameters += (i == 2 ? "" : " ") + words[i];
    options[words[1]] = parameters;
  }
  return options;
}

std::vector<Obstacle> obstacles_in(const std::string& path, std::string_view text) {
  std::vector<Obstacle> obstacles;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    // `install NAME COMMAND` runs the command instead; those that load nothing are true and false.
    const bool no_install =
        words[0] == "install" && words.size() > 2 && (words[2].ends_with("/true") || words[2].ends_with("/false"));
    if (words[0] != "blacklist" && !no_install) continue;
    obstacles.push_back({kernel_name(words[1]), path + ":" + std::to_string(number), std::string(trim(line))});
  }
  return obstacles;
}

Result<std::vector<Obstacle>> read_obstacles(const NodeReader& node) {
  std::map<std::string, std::string> by_name;
  for (const std::string_view directory : kDirectories) {
    const auto names = node.list_directory(directory);
    if (!names) {
      if (names.error().code == ErrorCode::kNotFound) continue;
      return failure(names.error());
    }
    for (const std::string& name : *names) {
      if (name.ends_with(".conf")) by_name[name] = std::string(directory) + "/" + name;
    }
  }
  std::vector<Obstacle> obstacles;
  for (const auto& [name, path] : by_name) {
    if (path == kOptionsFile) continue;
    const auto text = node.read_file(path);
    // Gone in between, or masked by a link to a device.
    if (!text && (text.error().code == ErrorCode::kNotFound || text.error().code == ErrorCode::kUnsupported)) continue;
    if (!text) return failure(text.error());
    for (Obstacle& obstacle : obstacles_in(path, *text)) obstacles.push_back(std::move(obstacle));
  }
  return obstacles;
}

bool same_parameter(std::string_view shown, std::string_view wanted) {
  return trim(shown) == wanted || as_switch(trim(shown)) == as_switch(wanted);
}

}  // namespace sparkplan::kernel_module
