#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/resource/resource_type.h"

/// Limits of logins: `limits: [{domain, item, type, value}]`. Everything in this header is pure but
/// the type itself.
namespace sparkplan::limits {

inline constexpr std::string_view kOwnFile = "/etc/security/limits.d/90-sparkplan.conf";
inline constexpr std::string_view kSoft = "soft";
inline constexpr std::string_view kHard = "hard";

/// Whom and what: the name of a resource is "DOMAIN:ITEM". The domain of a range of users has a
/// colon itself ("500:600:nofile"), an item has none.
struct LimitName {
  std::string domain;
  std::string item;

  bool operator==(const LimitName&) const = default;
  bool operator<(const LimitName& other) const { return std::tie(domain, item) < std::tie(other.domain, other.item); }
  std::string str() const { return domain + ":" + item; }
};
/// Empty for what is no such name, or whose item there is not.
std::optional<LimitName> parse_name(std::string_view text);

/// What is asked for, in canonical form. For an item that has one value both are that value.
struct Limit {
  std::optional<std::string> soft;
  std::optional<std::string> hard;

  bool operator==(const Limit&) const = default;
};

/// {soft, hard}, as far as they are there.
Value encode(const Limit& limit);
Limit decode_limit(const Value& value);

/// A limit of cluster.yaml together with the record that asked for it.
struct WantedLimit {
  Limit limit;
  SourceRange where;
};

/// The records of a section, those of one domain and item taken together. What validate_section()
/// has errors for is left out.
std::map<LimitName, WantedLimit> wanted_limits(const Value& section);

/// The inverse, of one limit: one record where soft and hard are the same, else one for each.
std::vector<Value> records_of(const LimitName& name, const Limit& limit);

/// One line of a file that pam_limits reads. Source: limits.conf(5).
struct Line {
  std::string domain;
  bool soft = false;
  bool hard = false;
  std::string item;
  std::string value;     ///< Canonical.
  bool exempts = false;  ///< "DOMAIN -": no limit at all is set for it, whatever other lines say.
  int number = 0;        ///< From 1.
};

/// The lines in order; what pam_limits skips is skipped: comments, unknown items, no number.
std::vector<Line> parse_file(std::string_view content);

/// The limits that a file's lines come to; of two lines about the same thing the later one counts.
std::map<LimitName, Limit> limits_of(std::string_view content);

/// Our whole file, header included, in columns: limits_of() gives back every limit.
std::string render_file(const std::map<LimitName, Limit>& limits);

/// Pure. Values that pam_limits would not take, and records that contradict each other.
std::vector<Diagnostic> validate_section(const Value& section);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::limits
