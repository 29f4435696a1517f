#pragma once

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

}  // namespace sparkplan::systemd_unit
