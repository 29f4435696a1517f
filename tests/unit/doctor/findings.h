#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/doctor/examination.h"

namespace sparkplan::test {

/// Everywhere in the capture `from` becomes `to`; without `from`, `to` is added as a section.
struct Edit {
  std::string from;
  std::string to;
};

/// In the capture, so that what is replaced is there exactly once, or `from` begins with "*".
void change(std::string& capture, Edit edit);

/// What fails, and what is worth a look.
using Problems = std::set<std::pair<std::string, CheckStatus>>;
Problems problems_in(const std::vector<Finding>& findings);

/// Of two machines by their captures.
std::vector<Finding> findings_of(const std::string& first, const std::string& second, bool ring);

/// The problems in words, for a test that fails.
std::string listed(const std::vector<Finding>& findings);

/// The first finding of the row; it has to be there.
const Finding& finding_of(const std::vector<Finding>& findings, std::string_view row);

}  // namespace sparkplan::test
