#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/doctor/examination.h"

namespace sparkplan::test {

/// Replaces `from` by `to` everywhere in the capture; without `from`, adds `to` as a section.
struct Edit {
  std::string from;
  std::string to;
};

/// Edits the capture. `from` must occur exactly once, unless it begins with "*".
void change(std::string& capture, Edit edit);

/// Failures and warnings.
using Problems = std::set<std::pair<std::string, CheckStatus>>;
Problems problems_in(const std::vector<Finding>& findings);

/// The findings for two machines, given by their captures.
std::vector<Finding> findings_of(const std::string& first, const std::string& second, bool ring);

/// The problems in words, for the message of a failed test.
std::string listed(const std::vector<Finding>& findings);

/// The first finding of the row; it must exist.
const Finding& finding_of(const std::vector<Finding>& findings, std::string_view row);

}  // namespace sparkplan::test
