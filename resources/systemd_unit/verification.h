#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::systemd_unit {

/// A new text for one unit.
struct Candidate {
  std::string name;
  std::string text;
  bool is_drop_in = false;
};

/// Pure. The lines of `systemd-analyze verify` which show that systemd will not follow the candidate. Lines about other
/// units are left out, and so are programs that `ahead` may bring, and notices that systemd ignores ("deprecated",
/// "Proceeding anyway"). `directory` contains the candidates.
std::vector<std::string> findings_about(const Candidate& candidate, std::string_view output,
                                        const std::string& directory, const ChangesAhead& ahead = {});

/// I/O. As ResourceType::prepare(): `systemd-analyze verify` checks all texts of `steps` together, so that new units
/// may need each other. No objection without that program.
std::vector<Objection> verify_candidates(std::span<const Step> steps, const ChangesAhead& ahead, Node& node);

/// Pure. The programs without which the unit cannot start, as absolute paths or as names: of ExecCondition=,
/// ExecStartPre=, ExecStart= and ExecStartPost=. Left out are those whose failure is ignored ("-"), those with
/// specifiers or variables, and all of a unit with its own root directory. Source: systemd.service(5), "COMMAND LINES".
std::set<std::string> programs_needed(std::string_view unit_text);

/// I/O, read-only. The units of `ahead` with a program that is not there, or is not executable.
std::vector<Ineffective> units_without_program(const ChangesAhead& ahead, const NodeReader& node);

}  // namespace sparkplan::systemd_unit
