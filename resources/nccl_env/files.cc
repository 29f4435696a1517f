#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/managed_block.h"
#include "engine/resource/rendered_text.h"
#include "engine/resource/shell_environment.h"
#include "resources/nccl_env/nccl_env.h"

namespace sparkplan::nccl_env {
namespace {

/// A directory that is already in the path keeps its place, so that nested login shells do not lengthen the path. An
/// empty path gets no colon, because an empty part would mean the current directory.
void add_prepend_line(const std::string& name, const std::string& value, RenderedText& text) {
  text.add({"case \":${", name, "-}:\" in *:"});
  text.add_quoted(value);
  text.add({":*) ;; *) export ", name, "="});
  text.add_quoted(value);
  text.add({"\"${", name, ":+:$", name, "}\" ;; esac"});
}

std::string prepend_line(const std::string& name, const std::string& value) {
  RenderedText text;
  add_prepend_line(name, value, text);
  return std::move(text).text();
}

/// The inverse of prepend_line(): extracts a candidate and accepts it if it gives the same line.
std::optional<std::pair<std::string, std::string>> prepended_by(std::string_view line) {
  constexpr std::string_view kHead = "case \":${";
  constexpr std::string_view kPattern = "-}:\" in *:";
  constexpr std::string_view kPatternEnd = ":*) ;; *) export ";
  if (!line.starts_with(kHead)) return std::nullopt;
  const std::size_t name_end = line.find(kPattern);
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::string name(line.substr(kHead.size(), name_end - kHead.size()));
  const std::size_t value_at = name_end + kPattern.size();
  const std::size_t value_end = line.find(kPatternEnd, value_at);
  if (value_end == std::string_view::npos) return std::nullopt;
  const auto words = parse_shell_assignments("VALUE=" + std::string(line.substr(value_at, value_end - value_at)));
  if (words.size() != 1 || !words[0].value || prepend_line(name, *words[0].value) != line) return std::nullopt;
  return std::pair(name, *words[0].value);
}

}  // namespace

bool is_read_from_conf(std::string_view name) { return name.starts_with("NCCL_") && name != "NCCL_CONF_FILE"; }

std::optional<std::string> render_profile(const std::map<std::string, Setting>& settings) {
  const auto is_in_profile = [](const auto& one) { return one.second.profile || one.second.prepended; };
  if (std::ranges::none_of(settings, is_in_profile)) return std::nullopt;
  RenderedText text;
  text.add({ownership_header()});
  for (const auto& [name, setting] : settings) {
    if (setting.profile) {
      text.add({"export ", name, "="});
      text.add_quoted(*setting.profile);
      text.add({"\n"});
    }
    if (setting.prepended) {
      add_prepend_line(name, *setting.prepended, text);
      text.add({"\n"});
    }
  }
  return std::move(text).text();
}

std::map<std::string, Setting> parse_profile(std::string_view content) {
  std::map<std::string, Setting> settings;
  for (ShellAssignment& one : parse_shell_assignments(content)) {
    if (one.value) {
      settings[one.name].profile = std::move(one.value);
    } else {
      settings.erase(one.name);
    }
  }
  for (const std::string_view line : split_lines(content)) {
    if (auto found = prepended_by(line)) settings[found->first].prepended = std::move(found->second);
  }
  return settings;
}

std::optional<std::string> render_conf(const std::map<std::string, Setting>& settings) {
  std::string lines;
  for (const auto& [name, setting] : settings) {
    if (setting.conf) lines += name + "=" + *setting.conf + "\n";
  }
  if (lines.empty()) return std::nullopt;
  return lines;
}

std::vector<ConfLine> parse_conf(std::string_view content) {
  std::vector<ConfLine> lines;
  int number = 0;
  for (const std::string_view line : split_lines(content)) {
    ++number;
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos) continue;
    lines.push_back(
        {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1, kLongestConfValue)), number});
  }
  return lines;
}

std::optional<ConfLine> set_above(std::string_view text, std::string_view name) {
  for (ConfLine& line : parse_conf(text_above_block(text))) {
    if (line.name == name) return std::move(line);
  }
  return std::nullopt;
}

}  // namespace sparkplan::nccl_env
