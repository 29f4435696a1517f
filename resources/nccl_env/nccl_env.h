#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

/// Variables for NCCL: `nccl: {mode, library, env}`. Everything in this header is pure.
namespace sparkplan::nccl_env {

inline constexpr std::string_view kProfileFile = "/etc/profile.d/sparkplan-nccl.sh";
inline constexpr std::string_view kConfFile = "/etc/nccl.conf";
inline constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";
/// The soname that programs ask for.
inline constexpr std::string_view kLibraryName = "libnccl.so.2";

/// Fields of a resource: the settings in each of the two files.
inline constexpr std::string_view kProfile = "profile";      ///< The value that login shells set.
inline constexpr std::string_view kPrepended = "prepended";  ///< The directory that login shells prepend.
inline constexpr std::string_view kConf = "conf";            ///< The value that NCCL itself reads.

/// The longest value that NCCL reads from its file, in bytes; NCCL cuts off the rest.
/// Source: NCCL, src/misc/param.cc, setEnvFile().
inline constexpr std::size_t kLongestConfValue = 1023;

/// True for variables that NCCL reads from its file: all its own variables except the one that names this file.
bool is_read_from_conf(std::string_view name);

/// One variable as desired or observed.
struct Setting {
  std::optional<std::string> profile;
  std::optional<std::string> prepended;
  std::optional<std::string> conf;

  bool operator==(const Setting&) const = default;
};
/// The desired value of a variable, and back. A value of another kind counts as missing.
Value encode(const Setting& setting);
Setting decode_setting(const Value& value);

/// The variables that a section declares for one node, with warnings about settings without effect there.
struct WantedSetting {
  Setting setting;
  SourceRange where;
};
struct WantedSettings {
  std::map<std::string, WantedSetting> variables;
  std::vector<Diagnostic> diagnostics;
  /// Some interfaces of the fabric are unknown, so some variables may be missing.
  bool incomplete = false;
};
WantedSettings wanted_settings(const ClusterView& view, const Value& section, const Facts& own);

/// The inverse: the section with the shortest `env` that yields exactly these variables on this node. Nothing if no
/// section does.
std::optional<Value> section_that_gives(const std::map<std::string, Setting>& wanted, const ClusterView& view,
                                        const Facts& own);

/// Our whole file for login shells, with its header; nothing if no variable has a part in it. parse_profile() returns
/// every such part.
std::optional<std::string> render_profile(const std::map<std::string, Setting>& settings);
std::map<std::string, Setting> parse_profile(std::string_view content);

/// The lines of our block, sorted by name; nothing without lines. In parse_conf(), the first of equal names wins.
std::optional<std::string> render_conf(const std::map<std::string, Setting>& settings);

/// One line of NCCL's own file. Source: NCCL, src/misc/param.cc: "KEY=value", not trimmed or quoted, "#" in the first
/// column only.
struct ConfLine {
  std::string name;
  std::string value;
  int number = 0;  ///< From 1.
};
std::vector<ConfLine> parse_conf(std::string_view content);

/// The line above our block that sets the variable: NCCL keeps the first value it reads. `text` is the whole file.
std::optional<ConfLine> set_above(std::string_view text, std::string_view name);

/// Pure. Reports values that a file cannot contain, and names that must not or should not be set for all logins.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::nccl_env
