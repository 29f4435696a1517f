#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// The offer of the node's package sources, according to its package lists.
namespace sparkplan::package {

/// Pure. The output of `apt-cache policy`: package name -> all its versions. A package that no source has, such as a
/// virtual one, has no versions or is missing.
std::map<std::string, std::set<std::string>> parse_policy(std::string_view output);

/// I/O, read-only. The packages of `ahead` that no source of the node has, or not in the declared version. Empty if
/// nothing is known: no lists, no answer from apt, or a plan that writes below /etc/apt.
std::vector<Ineffective> packages_without_source(const ChangesAhead& ahead, const NodeReader& node);

}  // namespace sparkplan::package
