#include "engine/resource/systemd_units.h"

#include <array>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// Longer than systemd's own 90 seconds for a start or a stop.
constexpr std::chrono::seconds kJobDeadline{200};
constexpr std::chrono::seconds kQueryDeadline{30};

/// A unit in one of these directories hides a unit of the same name in later ones. Source: systemd.unit(5), "Unit File
/// Load Path".
constexpr std::array<std::string_view, 3> kOtherDirectories{"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                                            "/lib/systemd/system"};

bool is_plain(char c) { return is_alphanumeric(c) || c == ':' || c == '_' || c == '.'; }

std::string in_hexadecimal(char c) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("\\x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
}

std::string wants_link(const std::string& name, std::string_view target) {
  return std::string(kSystemUnitDirectory) + "/" + std::string(target) + ".wants/" + name;
}

}  // namespace

std::string unit_state_in(const Observation& observation) {
  return present_value(observation).text_or(unit_field::kState, "");
}

std::string unit_content_in(const Observation& observation) {
  return present_value(observation).text_or(unit_field::kContent, "");
}

WantedUnitState wanted_unit_state(const Observation& after) {
  const Value& value = present_value(after);
  return {text_below(value, unit_field::kContent), value.boolean_or(unit_field::kEnabled, false), unit_state_in(after)};
}

std::string system_unit_path(std::string_view name) {
  return std::string(kSystemUnitDirectory) + "/" + std::string(name);
}

std::string escaped_unit_path(std::string_view path) {
  std::string escaped;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty()) continue;
    if (!escaped.empty()) escaped += '-';
    for (const char c : part) {
      const bool leading_dot = c == '.' && escaped.empty();
      escaped += is_plain(c) && !leading_dot ? std::string(1, c) : in_hexadecimal(c);
    }
  }
  return escaped.empty() ? "-" : escaped;
}

std::string unit_command_word(std::string_view word) {
  std::string escaped;
  bool quote = word.empty();
  for (const char c : word) {
    if (c == '%' || c == '$') escaped += c;
    if (c == '\\' || c == '"') escaped += '\\';
    quote = quote || c == ' ' || c == '\t' || c == '"' || c == '\'' || c == ';';
    escaped += c;
  }
  return quote ? '"' + escaped + '"' : escaped;
}

std::string without_specifiers(std::string_view value) {
  std::string text;
  for (const char c : value) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

std::string with_specifiers(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    text += value[i];
    if (value.substr(i, 2) == "%%") ++i;
  }
  return text;
}

std::optional<std::string> unit_setting(std::string_view text, std::string_view section, std::string_view key) {
  std::optional<std::string_view> found;
  bool inside = false;
  const std::string head = "[" + std::string(section) + "]";
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with('[')) inside = trim(line) == head;
    if (!inside || !line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') return;
    found = trim(line.substr(key.size() + 1));
  });
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

Shape unit_shape() {
  return Shape::map({{unit_field::kContent, Shape::text()},
                     {unit_field::kEnabled, Shape::boolean()},
                     {unit_field::kState, Shape::text(2 * Shape::kMostLineBytes)}});
}

Observation unit_observation(const UnitFile& unit, const std::string& state, bool up, bool live) {
  Present present{Value::map(), {}};
  if (unit.content) present.value.set(unit_field::kContent, *unit.content);
  if (!live) {
    if (!unit.content) return Absent{};
    for (const char* key : {unit_field::kEnabled, unit_field::kState}) {
      present.not_applicable[key] = "the node is not a running system";
    }
    return present;
  }
  if (!unit.content && !unit.enabled && !up) return Absent{};
  present.value.set(unit_field::kEnabled, unit.enabled);
  present.value.set(unit_field::kState, state);
  return present;
}

bool UnitFile::ours() const { return content && content->starts_with(ownership_header()); }

Result<UnitFile> read_unit(const std::string& name, std::string_view target, const NodeReader& node) {
  UnitFile unit;
  const std::string path = system_unit_path(name);
  const auto status = node.status(path);
  if (!status && status.error().code != ErrorCode::kNotFound) return failure(status.error());
  if (status && status->kind != FileStatus::Kind::kRegular) unit.in_the_way = path + " is not a regular file";
  if (status && status->kind == FileStatus::Kind::kRegular) {
    SPARK_TRY(unit.content, node.read_file(path));
    if (!unit.ours()) unit.in_the_way = path + " was not written by sparkplan";
  }
  if (!status) {
    for (const std::string_view directory : kOtherDirectories) {
      const std::string other = std::string(directory) + "/" + name;
      SPARK_TRY(const bool hidden, node.is_there(other));
      if (hidden && unit.in_the_way.empty()) unit.in_the_way = "our unit would hide " + other;
    }
  }
  SPARK_TRY(unit.enabled, node.is_there(wants_link(name, target)));
  return unit;
}

Result<void> systemctl(const std::string& verb, const std::string& name, Node& node) {
  std::vector<std::string> argv{"systemctl", verb};
  // A reload takes as long as all the rest. The caller does it once, after all files are written.
  if (verb == "enable" || verb == "reenable" || verb == "disable") argv.emplace_back("--no-reload");
  if (!name.empty()) argv.insert(argv.end(), {"--", name});
  SPARK_TRY(const CommandOutput output, needs_program(node.run(argv, kJobDeadline), "systemctl", "units need systemd"));
  if (output.exit_status == 0) return {};
  const auto lines = split_lines(output.standard_error);
  return failure(ErrorCode::kFailed, "systemctl " + verb + (name.empty() ? "" : " " + name) + ": " +
                                         (lines.empty() ? "exit status " + std::to_string(output.exit_status)
                                                        : std::string(lines.front())));
}

Result<bool> is_active(const std::string& name, const NodeReader& node, std::chrono::milliseconds deadline) {
  constexpr std::array<std::string_view, 1> kActiveState{"ActiveState"};
  SPARK_TRY(const auto units, node.units(std::array{name}, kActiveState, deadline));
  const std::string state = property_of(units.front(), "ActiveState");
  return state == "active" || state == "reloading" || state == "refreshing";
}

Result<void> write_unit(const std::string& name, const std::string& content, bool enabled, const UnitFile& now,
                        Node& node) {
  const bool differs = now.content != content;
  if (differs) SPARK_CHECK(node.write_file(system_unit_path(name), FileContent{content, 0644, 0, 0}));
  if (!node.live()) return {};
  if (enabled != now.enabled) SPARK_CHECK(systemctl(enabled ? "enable" : "disable", name, node));
  if (!differs && enabled == now.enabled) return {};
  return systemctl("daemon-reload", {}, node);
}

Result<void> remove_unit(const std::string& name, const UnitFile& now, Node& node) {
  if (!now.content) return {};
  // Before the file is removed, because the file names the link.
  if (node.live() && now.enabled) SPARK_CHECK(systemctl("disable", name, node));
  SPARK_CHECK(node.remove_file(system_unit_path(name)));
  if (!node.live()) return {};
  SPARK_CHECK(systemctl("daemon-reload", {}, node));
  // Otherwise `systemctl --failed` may list the removed unit. A failure is ignored: usually systemd has no failed state
  // to reset.
  static_cast<void>(systemctl("reset-failed", name, node));
  return {};
}

std::string journal_time(const NodeReader& node) {
  const std::vector<std::string> argv{"date", "+@%s.%6N"};
  const auto time = node.query(argv, kQueryDeadline);
  return time && time->exit_status == 0 ? std::string(trim(time->standard_output)) : std::string();
}

std::string last_messages(const std::string& unit, const std::string& since, const NodeReader& node) {
  std::vector<std::string> argv{
      "journalctl", unit.empty() ? "--dmesg" : "--unit=" + unit, "-n", "20", "-o", "cat", "--no-pager", "--quiet"};
  if (!since.empty()) argv.push_back("--since=" + since);
  const auto journal = node.query(argv, kQueryDeadline);
  if (!journal || journal->exit_status != 0) return {};
  return journal->standard_output;
}

}  // namespace sparkplan
