#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::systemd_unit {

/// A text that is about to be written for one unit.
struct Candidate {
  std::string name;
  std::string text;
  bool is_drop_in = false;
};

/// Pure. What of the output of `systemd-analyze verify` says that systemd will not do what the
/// candidate asks for. Findings about other units, and notices that systemd goes on all the same
/// ("deprecated", "Proceeding anyway"), are no objection. `directory` is where the candidates lie.
std::vector<std::string> findings_about(const Candidate& candidate, std::string_view output,
                                        const std::string& directory);

/// I/O. As ResourceType::prepare(): `systemd-analyze verify` on what `steps` write, all of it together
/// so that new units may need each other. No objection where there is no such program.
std::vector<Objection> verify_candidates(std::span<const Step> steps, Node& node);

}  // namespace sparkplan::systemd_unit
