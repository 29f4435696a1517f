#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "resources/netplan/foreign_files.h"

namespace sparkplan::netplan {

/// Pure. A profile of NetworkManager's as a definition of the interfaces that it would take when they
/// appear. Source: nm-settings-keyfile(5).
Definition profile_in(const std::string& path, std::string_view keyfile);

/// The persistent Ethernet profiles of NetworkManager that no netplan file has made, that start by themselves and that
/// are for one interface, or would take any interface instead of ours at boot: those of at least our priority, and
/// those that make it part of a bond or bridge. Errors: as NodeReader::read_file().
Result<std::vector<Definition>> profiles_of_one_interface(const NodeReader& node);

}  // namespace sparkplan::netplan
