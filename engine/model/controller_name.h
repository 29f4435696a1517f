#pragma once

#include <string_view>

namespace sparkplan {

/// How cluster.yaml names the machine that runs sparkplan, where a node could be named. No node has this name.
inline constexpr std::string_view kControllerName = "here";

}  // namespace sparkplan
