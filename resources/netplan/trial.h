#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::netplan {

/// The new contents of netplan files by path; nothing: the file is removed.
using NetplanFiles = std::map<std::string, std::optional<std::string>>;

/// Checks with `netplan generate --root-dir` whether netplan accepts all netplan files of the node with `changed`
/// applied, on a copy of them. Nothing is activated.
/// Errors: kFailed with netplan's own message and the real path of the file; kUnsupported without netplan. Also
/// kUnsupported if netplan assigns one of our interfaces to networkd or NetworkManager and that does not run.
Result<void> try_netplan_files(const NetplanFiles& changed, Node& node);

/// Changed files among those that netplan generates, by the service that must reload them.
struct GeneratedChanges {
  bool for_networkd = false;
  std::vector<std::string> profiles;  ///< Files of NetworkManager, removed ones included.
};

/// Gives networkd and NetworkManager the files that netplan generates for these interfaces, and removes those that it
/// no longer generates. Files of other interfaces stay unchanged. Generating in place would rewrite all files, and
/// networkd would reconfigure every interface, the one of our connection included. Nothing is activated.
/// Errors: as try_netplan_files(), and those of writing.
Result<GeneratedChanges> install_generated_files(const std::set<std::string>& interfaces, Node& node);

/// The path of networkd's file with the addresses and MTU of an interface.
std::filesystem::path generated_for_networkd(const std::string& interface);

}  // namespace sparkplan::netplan
