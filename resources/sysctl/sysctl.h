#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"

/// Kernel parameters: `sysctl: {KEY: value}`. Everything in this header is pure but the type itself.
namespace sparkplan::sysctl {

inline constexpr std::string_view kOwnFile = "/etc/sysctl.d/90-sparkplan.conf";
inline constexpr std::string_view kProcSys = "/proc/sys/";

/// A kernel parameter, named by its path below /proc/sys.
/// Source: sysctl.d(5). If the first separator is ".", later "." and "/" trade places; if it is
/// "/", both stay. "net.ipv4.conf.enp1s0/200.rp_filter" and "net/ipv4/conf/enp1s0.200/rp_filter"
/// are one key.
struct Key {
  std::string path;                              ///< "net/ipv4/conf/enp1s0.200/rp_filter"; no leading slash.
  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};

/// Errors: kInvalidInput for a single or empty component, "..", a glob, or a character that no
/// parameter has; upper case is taken only where an interface name stands.
Result<Key> parse_key(std::string_view text);

/// The one spelling used in ids and in our file: "net.ipv4.conf.enp1s0/200.rp_filter".
/// parse_key(dotted(key)) yields the key.
std::string dotted(const Key& key);

/// The interface whose parameter it is, "enp1s0.200"; empty for all others and for "all" and
/// "default". Such a parameter comes and goes with its interface.
std::optional<std::string> interface_of(const Key& key);

/// Whether the value from before can be set again: kNo for one-way switches, kBestEffort for those
/// that change others as well.
Reversible reversible_of(const Key& key);

/// Order in which parameters are set and written: a switch that resets others comes before them,
/// the rest is sorted by name.
bool set_before(const Key& a, const Key& b);

/// Blanks and tabs folded to single blanks, ends trimmed, because /proc/sys prints
/// "4096\t131072\t6291456" for what a file spells "4096 131072 6291456". Digits are not touched:
/// "0" is a value like any other.
std::string canonical_value(std::string_view text);

/// A value of cluster.yaml as the kernel is to get it: text or an integer; "256MiB" becomes bytes,
/// also inside a list of numbers ("4096 131072 32MiB").
/// Errors: kInvalidInput for other kinds, control characters, and sizes that are no whole number.
Result<std::string> resolve_value(const Value& value);

/// One line of a sysctl.d file. Source: sysctl.d(5).
struct Line {
  std::string path;                  ///< As Key::path; may hold globs in files of others.
  std::optional<std::string> value;  ///< Canonical; empty for "-KEY", which keeps globs from setting it.
  bool ignore_errors = false;        ///< The line began with "-": failure to write is only logged.
  int number = 0;                    ///< From 1.
};

/// Assignments and exclusions in order. What systemd-sysctl skips is skipped: comments ("#", ";"),
/// blank lines, lines that are no assignment. Only the first "=" separates.
std::vector<Line> parse_file(std::string_view content);

/// Our whole file, header included: parse_file() gives back every setting.
std::string render_file(const std::map<Key, std::string>& settings);

/// A sysctl.d file that comes after ours.
struct ConfigFile {
  std::string path;
  std::string content;
};

/// What is set at boot instead of our value.
struct Override {
  std::optional<std::string> value;  ///< Empty: the file excludes the key, nothing is set.
  std::string source;                ///< "/etc/sysctl.d/99-tuning.conf:3"
};

/// The last line about `key` in files that are applied after ours, in that order. Globs never
/// override: systemd-sysctl leaves out of a glob what any file names explicitly, as ours does.
std::optional<Override> overriding(const Key& key, std::span<const ConfigFile> later_files);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::sysctl
