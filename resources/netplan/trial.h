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

/// What is to stand in netplan files, by path, in place of what stands there; nothing: the file is to be gone.
using NetplanFiles = std::map<std::string, std::optional<std::string>>;

/// Asks `netplan generate --root-dir` whether it takes all netplan files of the node with `changed` in
/// place of what is there, on a copy of them. Nothing is activated.
/// Errors: kFailed with netplan's own words and the real path of the file it complains about;
/// kUnsupported when there is no netplan on the node, or when what it hands an interface of ours to, be
/// it networkd or NetworkManager, does not run there.
Result<void> try_netplan_files(const NetplanFiles& changed, Node& node);

/// What has changed of what netplan generates, by who has to read it again.
struct GeneratedChanges {
  bool for_networkd = false;
  std::vector<std::string> profiles;  ///< Files of NetworkManager's; those that are gone, too.
};

/// Gives networkd and NetworkManager the files that netplan generates for these interfaces from what is
/// on the node, and takes away those it no longer generates. Files of other interfaces stay as they are:
/// generating in place would write all of them anew, and networkd would then configure every interface
/// again, the one of our connection too. Nothing is activated.
/// Errors: as try_netplan_files(), and those of writing.
Result<GeneratedChanges> install_generated_files(const std::set<std::string>& interfaces, Node& node);

/// Where networkd finds an interface's addresses and MTU.
std::filesystem::path generated_for_networkd(const std::string& interface);

}  // namespace sparkplan::netplan
