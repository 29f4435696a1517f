#pragma once

#include <filesystem>
#include <string>

#include "engine/node/node.h"

namespace sparkplan {

/// I/O, read-only. The file system of a directory in a few words, if "/" is on another one: "nfs4
/// 10.0.0.11:/home". Its server may be another machine, or a program of a user, and an access may wait for it without
/// end. Also for a directory whose file system is unknown: below a link, or without a readable list of mounts. Empty
/// for a directory of the system's own file system, and for a node that is not live(). Touches no other file system.
std::string served_by(const std::filesystem::path& directory, const NodeReader& node);

}  // namespace sparkplan
