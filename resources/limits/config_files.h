#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/limits/limits.h"

/// The files that pam_limits reads, and which of their lines win.
namespace sparkplan::limits {

struct ConfigFile {
  std::string path;
  std::vector<Line> lines;
  bool after_ours = false;  ///< Read later than our own file.
};

/// I/O, read-only. /etc/security/limits.conf, then *.conf of limits.d in the order of bytes, as
/// pam_limits reads them; without our own. A file that is missing says nothing.
/// Errors: kPermissionDenied and others: what cannot be read might override us.
Result<std::vector<ConfigFile>> config_files(const NodeReader& node);

/// A line and where it stands.
struct Found {
  const Line* line = nullptr;
  std::string source;  ///< "/etc/security/limits.d/99-other.conf:3"
};

/// The line that decides in place of ours about `name`, soft or hard: the last one about the same
/// domain in a file read later.
std::optional<Found> overriding(const LimitName& name, bool soft, std::span<const ConfigFile> files);

/// A file that says the same thing several times.
struct Repetition {
  std::string path;
  std::vector<int> lines;  ///< About that domain and item, in order; without them all limits stay what they are.
};

/// Files that have two lines or more about `name`, soft or hard: what appends a line does so at each run. Lines that
/// decide something are left out. `ours`: what our own file says of it.
std::vector<Repetition> repetitions(const LimitName& name, const Limit& ours, std::span<const ConfigFile> files);

/// The first line that takes one of `domains` out of all limits. One for "*" does not count.
std::optional<Found> exempting(const std::set<std::string>& domains, std::span<const ConfigFile> files);

/// Who logs in: domains that match him, from the most specific one.
struct Matching {
  std::string user;
  std::set<std::string> groups;
};

/// The line of other files that is more specific than ours about `name`, or as specific and read
/// later: a line about a user beats one about a group, and that beats "*".
std::optional<Found> winning(const LimitName& name, bool soft, const Matching& who, std::span<const ConfigFile> files);

}  // namespace sparkplan::limits
