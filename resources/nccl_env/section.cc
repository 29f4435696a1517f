#include <filesystem>
#include <optional>
#include <utility>

#include "engine/domain/nccl/framework_environment.h"
#include "resources/nccl_env/nccl_env.h"

namespace sparkplan::nccl_env {
namespace {

/// The additions to a mode that yield the desired variables: {library?, env?}. Nothing if no section can.
std::optional<Value> rest_of(const std::map<std::string, Setting>& wanted,
                             const std::map<std::string, WantedSetting>& of_mode) {
  Value rest = Value::map();
  Value::Map environment;  // Value::set() would search for each name among thousands.
  for (const auto& [name, setting] : wanted) {
    const auto found = of_mode.find(name);
    if (found != of_mode.end() && found->second.setting == setting) continue;
    if (name == kLibraryPath && setting.prepended && !setting.profile) {
      rest.set("library", (std::filesystem::path(*setting.prepended) / "libnccl.so.2").string());
      continue;
    }
    const Setting from_environment{setting.profile, {}, is_read_from_conf(name) ? setting.profile : std::nullopt};
    if (!setting.profile || setting != from_environment) return std::nullopt;
    environment.push_back(MapEntry{name, *setting.profile});
  }
  for (const auto& [name, setting] : of_mode) {
    if (!wanted.contains(name)) environment.push_back(MapEntry{name, Value()});
  }
  if (!environment.empty()) rest.set("env", std::move(environment));
  return rest;
}

std::size_t length_of(const Value& rest) {
  const Value* environment = rest.find("env");
  return environment == nullptr ? 0 : environment->entries()->size();
}

/// The values of the key `frameworks`: null, which means all, then every smaller set.
std::vector<Value> framework_sets() {
  const std::vector<std::string>& names = framework_names();
  const unsigned sets = 1U << names.size();
  std::vector<Value> all{Value()};
  for (unsigned set = 0; set + 1 < sets; ++set) {
    Value::List chosen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((set >> i & 1U) != 0) chosen.emplace_back(names[i]);
    }
    all.emplace_back(std::move(chosen));
  }
  return all;
}

}  // namespace

std::optional<Value> section_that_gives(const std::map<std::string, Setting>& wanted, const ClusterView& view,
                                        const Facts& own) {
  std::optional<Value> shortest;
  std::size_t length = 0;
  for (const char* const mode : {"safe", "dmabuf", "socket", "auto"}) {
    for (const Value& frameworks : framework_sets()) {
      Value section = Value::map({{"mode", mode}});
      if (!frameworks.is_null()) section.set(kFrameworks, frameworks);
      const auto rest = rest_of(wanted, wanted_settings(view, section, own).variables);
      if (!rest || (shortest && length_of(*rest) >= length)) continue;
      length = length_of(*rest);
      for (const MapEntry& entry : *rest->entries()) section.set(entry.key, entry.value);
      shortest = std::move(section);
    }
  }
  return shortest;
}

}  // namespace sparkplan::nccl_env
