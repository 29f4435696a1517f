#include "resources/kernel_module/module_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/config_files.h"

namespace sparkplan::kernel_module {
namespace {

/// In order of precedence. Source: modprobe.d(5).
constexpr std::array<std::string_view, 4> kDirectories{"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d",
                                                       "/lib/modprobe.d"};

bool is_comment(std::string_view line) { return line.empty() || line.starts_with('#') || line.starts_with(';'); }

std::string_view as_switch(std::string_view value) {
  if (value == "1" || value == "y" || value == "Y") return "Y";
  if (value == "0" || value == "n" || value == "N") return "N";
  return value;
}

}  // namespace

std::string kernel_name(std::string_view name) {
  std::string kernel(name);
  std::ranges::replace(kernel, '-', '_');
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
    // `install NAME COMMAND` runs the command instead of loading the module; true and false load nothing.
    const bool no_install =
        words[0] == "install" && words.size() > 2 && (words[2].ends_with("/true") || words[2].ends_with("/false"));
    if (words[0] != "blacklist" && !no_install) continue;
    obstacles.push_back({kernel_name(words[1]), path + ":" + std::to_string(number), std::string(trim(line))});
  }
  return obstacles;
}

Result<std::vector<Obstacle>> read_obstacles(const NodeReader& node) {
  const std::string own = std::filesystem::path(kOptionsFile).filename();
  const auto is_foreign = [&](const std::string& name) { return name != own; };
  SPARK_TRY(const auto files, read_config_files(kDirectories, ".conf", node, is_foreign));
  std::vector<Obstacle> obstacles;
  for (const ConfigFile& file : files) {
    for (Obstacle& obstacle : obstacles_in(file.path, file.content)) obstacles.push_back(std::move(obstacle));
  }
  return obstacles;
}

bool same_parameter(std::string_view shown, std::string_view wanted) {
  return trim(shown) == wanted || as_switch(trim(shown)) == as_switch(wanted);
}

}  // namespace sparkplan::kernel_module
