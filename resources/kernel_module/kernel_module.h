#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/resource/resource_type.h"

/// Kernel modules, loaded now and at every boot: `kernel_modules: [nvme-tcp]`.
namespace sparkplan::kernel_module {

/// Source: modules-load.d(5).
inline constexpr std::string_view kLoadFile = "/etc/modules-load.d/90-sparkplan.conf";
/// Source: modprobe.d(5).
inline constexpr std::string_view kOptionsFile = "/etc/modprobe.d/90-sparkplan.conf";

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::kernel_module
