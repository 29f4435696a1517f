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

/// A file as a section of a capture.
std::string file(const std::string& path, const std::string& text);
/// Adds a line to /etc/nccl.conf.
Edit nccl_conf(const std::string& line);
/// Adds a route, as `ip -json route` prints it.
Edit route(const std::string& json);
/// A unit that the capture lists as not found runs, and starts at boot.
Edit unit(const std::string& name);

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
