#include "resources/systemd_unit/verification.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/core/text.h"
#include "resources/systemd_unit/systemctl.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {
namespace {

/// Words in findings after which systemd does what the file says nevertheless.
constexpr std::array<std::string_view, 4> kNotices{"deprecated", "obsolete", "legacy", "Proceeding anyway"};

bool is_notice(std::string_view line) {
  return std::any_of(kNotices.begin(), kNotices.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

/// "NAME: Command PROGRAM is not executable: reason"
bool blames_another_program(const Candidate& candidate, std::string_view finding) {
  constexpr std::string_view kBegin = "Command ";
  const std::size_t begin = finding.find(kBegin);
  const std::size_t end = finding.find(" is not executable");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
  const std::string_view program = finding.substr(begin + kBegin.size(), end - begin - kBegin.size());
  // A drop-in is not to blame for the unit below it; in a root of its own the program may well be there.
  return (candidate.is_drop_in && candidate.text.find(program) == std::string::npos) ||
         candidate.text.find("\nRootDirectory=") != std::string::npos ||
         candidate.text.find("\nRootImage=") != std::string::npos;
}

std::string place_in(const std::string& directory, const Candidate& candidate) {
  const std::string path = directory + "/" + candidate.name;
  return candidate.is_drop_in ? path + ".d/" + std::string(kDropInFile) : path;
}

/// The new text of the step's unit; nothing when it writes none.
std::optional<Candidate> candidate_of(const Step& step) {
  const Result<WantedUnit> before = wanted_from(step.before);
  const Result<WantedUnit> after = wanted_from(step.after);
  if (!before || !after) return std::nullopt;
  if (after->content && after->content != before->content) return Candidate{step.artifact.name, *after->content, false};
  if (after->drop_in && after->drop_in != before->drop_in) return Candidate{step.artifact.name, *after->drop_in, true};
  return std::nullopt;
}

/// What systemd-analyze prints about all candidates; empty where there is no such program.
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
    argv.push_back(candidate.is_drop_in ? candidate.name : place_in(directory, candidate));
  }
  Result<CommandOutput> output = node.query(argv, kQueryDeadline);
  if (!output) {
    if (output.error().code == ErrorCode::kNotFound) return std::string();
    return failure(std::move(output).error());
  }
  return std::move(output->standard_error) + output->standard_output;
}

}  // namespace

std::vector<std::string> findings_about(const Candidate& candidate, std::string_view output,
                                        const std::string& directory) {
  const std::string place = place_in(directory, candidate);
  const std::string shown = place.substr(directory.size() + 1);
  std::vector<std::string> findings;
  for (const std::string_view line : split_lines(output)) {
    if (is_notice(line)) continue;
    if (line.starts_with(place + ":")) {
      findings.push_back(shown + std::string(line.substr(place.size())));
    } else if (line.starts_with(candidate.name + ": ") && !blames_another_program(candidate, line)) {
      findings.emplace_back(line);
    }
  }
  return findings;
}

std::vector<Objection> verify_candidates(std::span<const Step> steps, Node& node) {
  if (!node.live()) return {};
  std::vector<Candidate> candidates;
  std::vector<ArtifactId> artifacts;
  for (const Step& step : steps) {
    if (std::optional<Candidate> candidate = candidate_of(step)) {
      candidates.push_back(*std::move(candidate));
      artifacts.push_back(step.artifact);
    }
  }
  if (candidates.empty()) return {};
  const Result<std::filesystem::path> directory = node.make_scratch_directory();
  const Result<std::string> output =
      directory ? analyze(candidates, directory->string(), node) : Result<std::string>(failure(directory.error()));
  std::vector<Objection> objections;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!output) {
      objections.push_back({artifacts[i], Error(output.error()).within("try out " + candidates[i].name)});
      continue;
    }
    const std::vector<std::string> findings = findings_about(candidates[i], *output, directory->string());
    if (findings.empty()) continue;
    objections.push_back(
        {artifacts[i], Error{ErrorCode::kInvalidInput,
                             "systemd-analyze verify objects: " + join(findings, "; "),
                             {},
                             {},
                             "correct the unit's text; programs that it starts have to be there before"}});
  }
  return objections;
}

}  // namespace sparkplan::systemd_unit
