#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"

/// Variables for NCCL: `nccl: {mode, library, env}`. Everything in this header is pure but the type
/// itself.
namespace sparkplan::nccl_env {

inline constexpr std::string_view kProfileFile = "/etc/profile.d/sparkplan-nccl.sh";
inline constexpr std::string_view kConfFile = "/etc/nccl.conf";
inline constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";

/// Fields of a resource: what each of the two files says.
inline constexpr std::string_view kProfile = "profile";      ///< Login shells set it to this.
inline constexpr std::string_view kPrepended = "prepended";  ///< Login shells put this in front of what it is.
inline constexpr std::string_view kConf = "conf";            ///< NCCL itself reads this.

/// The longest value that NCCL reads from its file, in bytes; what is beyond is cut off.
/// Source: NCCL, src/misc/param.cc, setEnvFile().
inline constexpr std::size_t kLongestConfValue = 1023;

/// True for variables that NCCL takes from its file: all of its own but the one that names that file.
bool is_read_from_conf(std::string_view name);

/// One variable as it is wanted or found.
struct Setting {
  std::optional<std::string> profile;
  std::optional<std::string> prepended;
  std::optional<std::string> conf;

  bool operator==(const Setting&) const = default;
};
Value encode(const Setting& setting);
Setting decode_setting(const Value& value);

/// The variables that a section asks for on one node, with warnings about what it will not do there.
struct WantedSetting {
  Setting setting;
  SourceRange where;
};
struct WantedSettings {
  std::map<std::string, WantedSetting> variables;
  std::vector<Diagnostic> diagnostics;
  /// The fabric's interfaces could not all be told, so neither could all variables.
  bool incomplete = false;
};
WantedSettings wanted_settings(const ClusterView& view, const Value& section, const Facts& own);

/// The inverse: the section with the shortest `env` that asks for just these variables on this node; nothing
/// where none does.
std::optional<Value> section_that_gives(const std::map<std::string, Setting>& wanted, const ClusterView& view,
                                        const Facts& own);

/// Our whole file for login shells, header included; nothing when no variable has a part in it.
/// parse_profile() gives back every such part.
std::optional<std::string> render_profile(const std::map<std::string, Setting>& settings);
std::map<std::string, Setting> parse_profile(std::string_view content);

/// The lines of our block, sorted by name; nothing when there are none. The first of equal names in
/// parse_conf() is the one that counts.
std::optional<std::string> render_conf(const std::map<std::string, Setting>& settings);

/// One line of NCCL's own file. Source: NCCL, src/misc/param.cc: "KEY=value", nothing trimmed or
/// quoted, "#" in the first column only.
struct ConfLine {
  std::string name;
  std::string value;
  int number = 0;  ///< From 1.
};
std::vector<ConfLine> parse_conf(std::string_view content);

/// The line above our block that sets the variable: NCCL keeps the first value it reads. `text` is the
/// whole file.
std::optional<ConfLine> set_above(std::string_view text, std::string_view name);

/// Pure. Values that one of the files cannot hold, and names that no login survives.
std::vector<Diagnostic> validate_section(const Value& section);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::nccl_env
