#include "resources/systemd_unit/verification.h"

#include <algorithm>
#include <array>
#include <map>
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

}  // namespace sparkplan::systemd_unit
