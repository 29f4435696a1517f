#include "resources/systemd_unit/verification.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "engine/domain/ahead/provision.h"
#include "resources/systemd_unit/unit_state.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {
namespace {

constexpr std::array<std::string_view, 4> kKeys{"ExecCondition", "ExecStart", "ExecStartPost", "ExecStartPre"};
/// Where systemd looks for a program without a slash. Source: systemd.exec(5), ExecSearchPath=.
constexpr std::array<std::string_view, 6> kSearched{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                                    "/usr/bin",        "/sbin",          "/bin"};

bool hides_programs(const Assignment& one) {
  return one.key == "RootDirectory" || one.key == "RootImage" || one.key == "ExecSearchPath";
}

/// The program of a command line; nothing if its failure is ignored, or its path is not certain.
std::optional<std::string> program_of(std::string_view command) {
  while (!command.empty() && std::string_view("-@:+!|").find(command.front()) != std::string_view::npos) {
    if (command.front() == '-') return std::nullopt;
    command.remove_prefix(1);
  }
  const bool quoted = !command.empty() && (command.front() == '"' || command.front() == '\'');
  const std::string_view end = quoted ? command.substr(0, 1) : std::string_view(" \t");
  if (quoted) command.remove_prefix(1);
  const std::string program(command.substr(0, command.find_first_of(end)));
  const bool certain = !program.empty() && program.find_first_of("%$\\\"'") == std::string::npos;
  return certain ? std::optional(program) : std::nullopt;
}

bool is_missing(const std::string& path, const NodeReader& node) {
  const auto status = node.status(path);
  return !status && status.error().code == ErrorCode::kNotFound;
}

/// "/opt/tool is not there"; nothing if it is there, or may come with the plan.
std::optional<std::string> complaint_about(const std::string& program, const ChangesAhead& ahead,
                                           const NodeReader& node) {
  if (program.find('/') == std::string::npos) {
    const bool comes = std::ranges::any_of(kSearched, [&](std::string_view directory) {
      const std::string path = std::string(directory) + "/" + program;
      return may_bring_file(ahead, path) || !is_missing(path, node);
    });
    return comes ? std::nullopt : std::optional(program + " is in none of the directories for programs");
  }
  if (may_bring_file(ahead, program)) return std::nullopt;
  const auto status = node.status(program);
  if (!status) return is_missing(program, node) ? std::optional("there is no " + program) : std::nullopt;
  constexpr std::uint32_t kExecutable = 0111;
  const bool not_executable = status->kind == FileStatus::Kind::kRegular && (status->mode & kExecutable) == 0;
  return not_executable ? std::optional(program + " is not executable") : std::nullopt;
}

}  // namespace

std::set<std::string> programs_needed(std::string_view unit_text) {
  const std::vector<Assignment> all = parse_unit(unit_text);
  if (std::ranges::any_of(all, hides_programs)) return {};
  std::map<std::string, std::vector<std::string>> by_key;
  for (const Assignment& one : all) {
    if (one.section != "Service" || std::ranges::find(kKeys, one.key) == kKeys.end()) continue;
    if (one.value.empty()) by_key[one.key].clear();
    if (auto program = program_of(one.value)) by_key[one.key].push_back(*std::move(program));
  }
  std::set<std::string> programs;
  for (const auto& [key, of_key] : by_key) programs.insert(of_key.begin(), of_key.end());
  return programs;
}

std::vector<Ineffective> units_without_program(const ChangesAhead& ahead, const NodeReader& node) {
  const auto wanted = ahead.find("systemd_unit");
  if (wanted == ahead.end()) return {};
  std::vector<Ineffective> found;
  for (const auto& [name, value] : wanted->second) {
    for (const std::string_view key : {field::kContent, field::kDropIn}) {
      for (const std::string& program : programs_needed(value.text_or(key, ""))) {
        const auto complaint = complaint_about(program, ahead, node);
        if (!complaint) continue;
        found.push_back({name, "systemd_unit.no-program", name + " cannot start: " + *complaint,
                         "install the program first, or correct the path in the unit"});
      }
    }
  }
  return found;
}

}  // namespace sparkplan::systemd_unit
