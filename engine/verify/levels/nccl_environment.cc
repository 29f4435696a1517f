#include "engine/verify/levels/nccl_environment.h"

namespace sparkplan {
namespace {

constexpr std::string_view kSection = "nccl";
constexpr std::string_view kType = "nccl_env";

/// `conf` is the value for NCCL's own file, `profile` the value for all programs.
std::string value_of(const Value& desired) {
  auto conf = desired.text_or("conf", "");
  if (!conf.empty()) return conf;
  auto profile = desired.text_or("profile", "");
  return profile.empty() ? desired.text_or("prepended", "") : profile;
}

}  // namespace

NcclEnvironment nccl_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                 const Registry& registry) {
  NcclEnvironment environment;
  const auto section = node.sections.find(std::string(kSection));
  const ResourceType* type = registry.find(kType);
  if (section == node.sections.end() || section->second.is_null() || type == nullptr) return environment;
  environment.library = section->second.text_or("library", "");
  const std::map<std::string, NodeExports> no_exports;
  const auto desired = type->desired({cluster, node, no_exports}, section->second, facts);
  for (const auto& resource : desired.resources) {
    environment.variables[resource.id.name] = value_of(resource.desired);
  }
  return environment;
}

}  // namespace sparkplan
