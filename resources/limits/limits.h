#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/node/node.h"

/// Limits of logins: `limits: [{domain, item, type, value}]`. Pure except for limits_files().
namespace sparkplan::limits {

inline constexpr std::string_view kOwnFile = "/etc/security/limits.d/90-sparkplan.conf";
inline constexpr std::string_view kSoft = "soft";
inline constexpr std::string_view kHard = "hard";

/// A resource's name, "DOMAIN:ITEM". The domain of a range of users contains a colon ("500:600:nofile"); items do not.
struct LimitName {
  std::string domain;
  std::string item;

  bool operator==(const LimitName&) const = default;
  bool operator<(const LimitName& other) const { return std::tie(domain, item) < std::tie(other.domain, other.item); }
  std::string str() const { return domain + ":" + item; }
};
/// Nothing for text without a domain and a known item.
std::optional<LimitName> parse_name(std::string_view text);

/// The desired limit in canonical form. For an item with only one value, both members have that value.
struct Limit {
  std::optional<std::string> soft;
  std::optional<std::string> hard;

  bool operator==(const Limit&) const = default;
};

/// {soft, hard}, each only if it is set.
Value encode(const Limit& limit);
Limit decode_limit(const Value& value);

/// A limit of cluster.yaml with the place of its first record.
struct WantedLimit {
  Limit limit;
  SourceRange where;
};

/// The records of a section, combined per domain and item. Records with an invalid domain, item or value are left out.
/// Of records that contradict each other, the last one wins.
std::map<LimitName, WantedLimit> wanted_limits(const Value& section);

/// The inverse for one limit: one record if soft and hard are equal, else one for each.
std::vector<Value> records_of(const LimitName& name, const Limit& limit);

/// One line of a file that pam_limits reads. Source: limits.conf(5).
struct Line {
  std::string domain;
  bool soft = false;
  bool hard = false;
  std::string item;
  std::string value;     ///< Canonical.
  bool exempts = false;  ///< "DOMAIN -": pam_limits sets no limit for it, whatever other lines say.
  int number = 0;        ///< From 1.
};

/// The lines in order. Lines that pam_limits skips are left out: comments, unknown items, values without a number.
std::vector<Line> parse_file(std::string_view content);

/// The limits that the lines of a file set; of two lines for the same limit the later one wins.
std::map<LimitName, Limit> limits_of(std::string_view content);

/// Our whole file with its header, in columns: limits_of() returns every limit of it.
std::string render_file(const std::map<LimitName, Limit>& limits);

/// Pure. Reports values that pam_limits would not accept, and records that contradict each other.
std::vector<Diagnostic> validate_section(const Value& section);

/// A file that pam_limits reads.
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
