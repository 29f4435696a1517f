#pragma once

#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/resource.h"
#include "engine/resource/config_files.h"
#include "engine/resource/resource_type.h"

/// Kernel parameters: `sysctl: {KEY: value}`. Pure except for later_config_files() and values_to_be_refused().
namespace sparkplan::sysctl {

inline constexpr std::string_view kOwnFile = "/etc/sysctl.d/90-sparkplan.conf";
inline constexpr std::string_view kProcSys = "/proc/sys/";

/// A kernel parameter, named by its path below /proc/sys.
/// Source: sysctl.d(5). If the first separator is ".", later "." and "/" are swapped; if it is "/", both stay.
/// "net.ipv4.conf.enp1s0/200.rp_filter" and "net/ipv4/conf/enp1s0.200/rp_filter" are one key.
struct Key {
  std::string path;                              ///< "net/ipv4/conf/enp1s0.200/rp_filter"; no leading slash.
  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};

/// Errors: kInvalidInput for a single or empty component, "..", a glob, or a character that no parameter has. Upper
/// case is allowed only in the name of an interface.
Result<Key> parse_key(std::string_view text);

/// The only spelling in ids and in our file: "net.ipv4.conf.enp1s0/200.rp_filter".
/// parse_key(dotted(key)) yields the key.
std::string dotted(const Key& key);

/// The interface of the parameter, "enp1s0.200"; nothing for other parameters and for "all" and "default". Such a
/// parameter exists only while its interface exists.
std::optional<std::string> interface_of(const Key& key);

/// Whether the earlier value can be restored: kNo for one-way switches, kBestEffort for parameters that also change
/// others.
Reversible reversible_of(const Key& key);

/// The order in which parameters are set and written: a switch that resets others comes before them. All others are
/// sorted by name.
bool set_before(const Key& a, const Key& b);

/// White space is folded to single blanks and trimmed: /proc/sys prints "4096\t131072\t6291456" where a file has
/// "4096 131072 6291456". Digits stay unchanged: "0" is a value like any other.
std::string canonical_value(std::string_view text);

/// A value of cluster.yaml in the kernel's form: text or an integer. "256MiB" becomes bytes, also inside a list of
/// numbers ("4096 131072 32MiB").
/// Errors: kInvalidInput for other kinds, control characters, and sizes that are not a whole number of bytes.
Result<std::string> resolve_value(const Value& value);

/// One line of a sysctl.d file. Source: sysctl.d(5).
struct Line {
  std::string path;                  ///< As Key::path; may contain globs in foreign files.
  std::optional<std::string> value;  ///< Canonical; empty for "-KEY", which excludes the key from globs.
  bool ignore_errors = false;        ///< The line begins with "-": a failed write is only logged.
  int number = 0;                    ///< From 1.
};

/// Assignments and exclusions in order. Lines that systemd-sysctl skips are left out: comments ("#", ";"), blank lines,
/// and lines without an assignment. Only the first "=" separates.
std::vector<Line> parse_file(std::string_view content);

/// Our whole file with its header: parse_file() returns every setting of it.
std::string render_file(const std::map<Key, std::string>& settings);

/// I/O, read-only. The sysctl.d files that are applied after ours, in that order: by file name across all directories.
/// A name in /etc hides the same name in /run, and so on for /usr/local/lib, /usr/lib and /lib. An empty file, a
/// directory, and a link to /dev/null or to a missing file hide a name and add nothing.
/// /etc/sysctl.conf counts if a link leads to it (99-sysctl.conf on Debian 12), because systemd-sysctl does not read it
/// otherwise. Source: sysctl.d(5).
/// Errors: kPermissionDenied and others, because an unreadable file might override our values.
Result<std::vector<ConfigFile>> later_config_files(const NodeReader& node);

/// The setting that wins over ours at boot.
struct Override {
  std::optional<std::string> value;  ///< Nothing: the file excludes the key, so it is not set.
  std::string source;                ///< "/etc/sysctl.d/99-tuning.conf:3"
};

/// The last line for `key` in files that are applied after ours, in that order. Globs never override: systemd-sysctl
/// excludes keys from a glob that any file names explicitly, as our file does.
std::optional<Override> overriding(const Key& key, std::span<const ConfigFile> later_files);

/// Pure. Reports invalid names, values that our file cannot contain, and two spellings of one key. Also reports pairs
/// of keys that the kernel does not keep together.
std::vector<Diagnostic> validate_section(const Value& section);

/// Pure. Why the kernel will refuse or change `wanted`, by its bounds and by the form of the `running` value; nothing
/// if that is not known. Both values are canonical.
std::optional<std::string> why_refused(const Key& key, std::string_view wanted, std::string_view running);

/// I/O, read-only. The parameters of `ahead` that cannot be set to their values.
std::vector<Ineffective> values_to_be_refused(const ChangesAhead& ahead, const NodeReader& node);

}  // namespace sparkplan::sysctl
