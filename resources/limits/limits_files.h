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

/// The files that pam_limits reads, and their lines that win.
namespace sparkplan::limits {

struct LimitsFile {
  std::string path;
  std::vector<Line> lines;
  bool after_ours = false;  ///< Read later than our own file.
};

/// I/O, read-only. /etc/security/limits.conf, then *.conf of limits.d in byte order, as pam_limits reads them; without
/// our own file. Missing files are left out.
/// Errors: kPermissionDenied and others, because an unreadable file might override our values.
Result<std::vector<LimitsFile>> limits_files(const NodeReader& node);

/// A line and its place.
struct Found {
  const Line* line = nullptr;
  std::string source;  ///< "/etc/security/limits.d/99-other.conf:3"
};

/// The line that overrides ours for `name`, soft or hard: the last one for the same domain in a later file.
std::optional<Found> overriding(const LimitName& name, bool soft, std::span<const LimitsFile> files);

/// A file that sets the same limit several times.
struct Repetition {
  std::string path;
  std::vector<int> lines;  ///< For that domain and item, in order. Without these lines, no limit changes.
};

/// Files with two or more lines for `name`, soft or hard; a script that appends a line adds one at each run. Lines that
/// decide a limit are left out. `ours`: the limit in our own file.
std::vector<Repetition> repetitions(const LimitName& name, const Limit& ours, std::span<const LimitsFile> files);

/// The first line that exempts one of `domains` from all limits. A line for "*" does not count.
std::optional<Found> exempting(const std::set<std::string>& domains, std::span<const LimitsFile> files);

/// The user who logs in.
struct Matching {
  std::string user;
  std::set<std::string> groups;
};

/// The foreign line for `name` that is more specific than ours, or as specific and read later. A line for a user wins
/// over one for a group, which wins over "*".
std::optional<Found> winning(const LimitName& name, bool soft, const Matching& who, std::span<const LimitsFile> files);

}  // namespace sparkplan::limits
