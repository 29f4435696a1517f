#pragma once

#include <filesystem>
#include <string>

#include "engine/node/node.h"

namespace sparkplan {

/// I/O, read-only. A path in a home, with its `served_by` and `shared_mount`. Touches no file system but the system's.
///
/// `served_by` is the home's file system in a few words, if "/" is on another one: "nfs4 10.0.0.11:/home". Its server
/// may be another machine, or a program of a user, and an access may wait for it without end. Also for a home whose
/// file system is unknown: below a link, or without a readable list of mounts. Empty for a home on the system's own
/// file system, and for a node that is not live().
///
/// `shared_mount` is empty for a home that is a mount itself, because its user can mount there. It is also empty where
/// homes wait for different servers in one directory: below an automounter or a link.
UserPath path_in_home(const std::filesystem::path& home, std::filesystem::path below, const NodeReader& node);

}  // namespace sparkplan
