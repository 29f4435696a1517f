#pragma once

#include <string>
#include <vector>

#include "engine/doctor/check_status.h"
#include "engine/markup/markup.h"
#include "engine/report/page/page.h"
#include "engine/verify/verify_run.h"

namespace sparkplan {

/// A problem with its cause and fix, and all places where it was seen.
struct ProblemCard {
  CheckStatus status = CheckStatus::kFail;
  std::string title;
  std::vector<std::string> places;  ///< Nodes, pairs, values; each in one line.
  std::string seen = {};            ///< May be empty, as the next two.
  std::string cause = {};
  std::string fix = {};
};

/// One card for each node of the run that was lost.
std::vector<ProblemCard> cards_of_nodes(const Report& run);

/// Adds the first section of a page: failures, then warnings. Cards beyond the size of a section are counted.
void add_problems(Page& page, std::vector<ProblemCard> cards);

}  // namespace sparkplan
