#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/resource/resource_type.h"

/// What the firewall lets in: `firewall: {allow_fabric: true}`.
namespace sparkplan::firewall {

/// Source: ufw(8), ufw-framework(8).
inline constexpr std::string_view kUfwSettings = "/etc/ufw/ufw.conf";
inline constexpr std::string_view kUfwRules = "/etc/ufw/user.rules";

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::firewall
