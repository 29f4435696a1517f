#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::package {

/// What apt-get would do, by its own simulation. Names are as apt-get prints them: of a foreign
/// architecture with ":ARCHITECTURE".
struct Simulation {
  std::set<std::string> installs;
  std::set<std::string> removes;
  std::string complaint;  ///< Its "E:" lines; empty when it would do it.
};

/// Pure: of the output of `apt-get --simulate`.
Simulation parse_simulation(const CommandOutput& output);

/// Pure. Of what apt-get and dpkg have printed, the lines that tell why it failed.
std::string reason_of_failure(const CommandOutput& output);

/// The node's package lists are missing, or older than a day.
bool lists_are_old(const NodeReader& node);
/// `apt-get update`. Errors: kUnsupported without apt-get, kFailed.
Result<void> update_lists(Node& node);

/// `specification` is NAME, NAME:ARCHITECTURE or either with =VERSION. Errors: kUnsupported without apt-get.
Result<Simulation> simulate_install(const std::string& specification, const NodeReader& node);
Result<Simulation> simulate_removal(const std::string& name, const NodeReader& node);

/// Neither removes another package than the one named. Errors: kUnsupported without apt-get, kFailed with apt's reason.
Result<void> install(const std::string& specification, Node& node);
Result<void> remove(const std::string& name, Node& node);
/// As if it had been brought along by what needs it. Errors: as remove().
Result<void> mark_automatic(const std::string& name, Node& node);

}  // namespace sparkplan::package
