#include "resources/systemd_unit/verification.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/text.h"
#include "engine/domain/ahead/provision.h"
#include "resources/systemd_unit/unit_state.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {
namespace {

/// Words in findings after which systemd still follows the file.
constexpr std::array<std::string_view, 4> kNotices{"deprecated", "obsolete", "legacy", "Proceeding anyway"};

/// `finding` begins after the unit's name, which may contain such a word. The path of a program may contain one, too,
/// so a finding about it is no notice.
bool is_notice(std::string_view finding) {
  return finding.find("is not executable") == std::string_view::npos &&
         std::ranges::any_of(kNotices,
                             [&](std::string_view word) { return finding.find(word) != std::string_view::npos; });
}

/// "NAME: Command PROGRAM is not executable: reason"
bool blames_another_program(const Candidate& candidate, std::string_view finding, const ChangesAhead& ahead) {
  constexpr std::string_view kBegin = "Command ";
  const std::size_t begin = finding.find(kBegin);
  const std::size_t end = finding.find(" is not executable");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
  const std::string_view program = finding.substr(begin + kBegin.size(), end - begin - kBegin.size());
  if (may_bring_file(ahead, std::string(program))) return true;
  // A drop-in does not cause the errors of its unit. Inside a root directory, the program may exist.
  return (candidate.is_drop_in && candidate.text.find(program) == std::string::npos) ||
         candidate.text.find("\nRootDirectory=") != std::string::npos ||
         candidate.text.find("\nRootImage=") != std::string::npos;
}

std::string place_in(const std::string& directory, const Candidate& candidate) {
  const std::string path = directory + "/" + candidate.name;
  return candidate.is_drop_in ? path + ".d/" + std::string(kDropInFile) : path;
}

/// The new texts of the step's unit; none if the step writes none.
std::vector<Candidate> candidates_of(const Step& step) {
  const Result<WantedUnit> before = wanted_from(step.before);
  const Result<WantedUnit> after = wanted_from(step.after);
  if (!before || !after) return {};
  std::vector<Candidate> candidates;
  if (after->content && after->content != before->content) {
    candidates.push_back({step.artifact.name, *after->content, false});
  }
  if (after->drop_in && after->drop_in != before->drop_in) {
    candidates.push_back({step.artifact.name, *after->drop_in, true});
  }
  return candidates;
}

/// The output of systemd-analyze about all candidates; empty without that program.
Result<std::string> analyze(std::span<const Candidate> candidates, const std::string& directory, Node& node) {
  std::vector<std::string> argv{"env",
                                "LC_ALL=C",
                                "SYSTEMD_UNIT_PATH=" + directory + ":",
                                "systemd-analyze",
                                "verify",
                                "--man=no",
                                "--recursive-errors=no"};
  for (const Candidate& candidate : candidates) {
    SPARK_CHECK(node.write_file(place_in(directory, candidate), FileContent{candidate.text, 0644, 0, 0}));
    // The path of a unit file includes the unit's drop-ins.
    const bool comes_with_its_file =
        candidate.is_drop_in && argv.back() == place_in(directory, {candidate.name, {}, false});
    if (!comes_with_its_file) argv.push_back(candidate.is_drop_in ? candidate.name : place_in(directory, candidate));
  }
  SPARK_TRY(const CommandOutput output, or_empty(node.query(argv, kQueryDeadline)));
  return output.standard_error + output.standard_output;
}

/// Each finding once, even if it concerns both the unit file and its drop-in.
std::vector<std::string> findings_about_all(std::span<const Candidate> candidates, std::string_view output,
                                            const std::string& directory, const ChangesAhead& ahead) {
  std::vector<std::string> all;
  for (const Candidate& candidate : candidates) {
    for (std::string& finding : findings_about(candidate, output, directory, ahead)) {
      if (std::ranges::find(all, finding) == all.end()) all.push_back(std::move(finding));
    }
  }
  return all;
}

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

std::vector<std::string> findings_about(const Candidate& candidate, std::string_view output,
                                        const std::string& directory, const ChangesAhead& ahead) {
  const std::string place = place_in(directory, candidate);
  const std::string shown = place.substr(directory.size() + 1);
  std::vector<std::string> findings;
  for (const std::string_view line : split_lines(output)) {
    if (line.starts_with(place + ":")) {
      const std::string_view finding = line.substr(place.size());
      if (!is_notice(finding)) findings.push_back(shown + std::string(finding));
    } else if (line.starts_with(candidate.name + ": ") && !blames_another_program(candidate, line, ahead)) {
      if (!is_notice(line.substr(candidate.name.size()))) findings.emplace_back(line);
    }
  }
  return findings;
}

std::vector<Objection> verify_candidates(std::span<const Step> steps, const ChangesAhead& ahead, Node& node) {
  if (!node.live()) return {};
  std::vector<Candidate> all;
  std::map<ArtifactId, std::vector<Candidate>> by_artifact;
  for (const Step& step : steps) {
    std::vector<Candidate> candidates = candidates_of(step);
    if (candidates.empty()) continue;
    all.insert(all.end(), candidates.begin(), candidates.end());
    by_artifact[step.artifact] = std::move(candidates);
  }
  if (all.empty()) return {};
  const Result<std::filesystem::path> directory = node.make_scratch_directory();
  const Result<std::string> output =
      directory ? analyze(all, directory->string(), node) : Result<std::string>(failure(directory.error()));
  std::vector<Objection> objections;
  for (const auto& [artifact, candidates] : by_artifact) {
    if (!output) {
      objections.push_back({artifact, Error(output.error()).within("try out " + artifact.name)});
      continue;
    }
    const std::vector<std::string> findings = findings_about_all(candidates, *output, directory->string(), ahead);
    if (findings.empty()) continue;
    objections.push_back(
        {artifact, make_error(ErrorCode::kInvalidInput, "systemd-analyze verify reports: " + join(findings, "; "),
                              "correct the unit's text; install the programs that it starts first")});
  }
  return objections;
}

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
