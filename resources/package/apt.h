#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::package {

/// The changes that apt-get would make, by its own simulation. Names are in apt-get's form: with ":ARCHITECTURE" for a
/// foreign architecture.
struct Simulation {
  std::set<std::string> installs;
  std::set<std::string> removes;
  std::string complaint;  ///< reason_of_failure(); empty if apt-get would succeed.
};

/// Pure: parses the output of `apt-get --simulate`.
Simulation parse_simulation(const CommandOutput& output);

/// Pure. The lines of apt-get's and dpkg's output that explain a failure, or the exit status.
std::string reason_of_failure(const CommandOutput& output);

/// True if the node has package lists.
bool has_lists(const NodeReader& node);
/// True if the node's package lists are missing or older than a day.
bool lists_are_old(const NodeReader& node);
/// `apt-get update`. Errors: kUnsupported without apt-get, kFailed.
Result<void> update_lists(Node& node);

/// Whether apt may change packages that are held.
enum class Held : std::uint8_t { kStay, kMayChange };

/// `specification` is NAME or NAME:ARCHITECTURE, either with =VERSION or without. Errors: kUnsupported without apt-get.
Result<Simulation> simulate_install(const std::string& specification, Held held, const NodeReader& node);
Result<Simulation> simulate_removal(const std::string& name, const NodeReader& node);

/// install() removes no package. remove() also removes packages that depend on the named one: see simulate_removal().
/// Errors: kUnsupported without apt-get, kFailed with apt's reason.
Result<void> install(const std::string& specification, Held held, Node& node);
Result<void> remove(const std::string& name, Node& node);
/// Marks the package as installed automatically, as a dependency. Errors: as remove().
Result<void> mark_automatic(const std::string& name, Node& node);
/// Holds the package or ends that. Errors: as remove().
Result<void> mark_held(const std::string& name, bool held, Node& node);

/// Pure. The output of `apt-cache policy`: package name -> all its versions. A package that no source has, such as a
/// virtual one, has no versions or is missing.
std::map<std::string, std::set<std::string>> parse_policy(std::string_view output);

/// I/O, read-only. The packages of `ahead` that no source of the node has, or not in the declared version. Empty if
/// nothing is known: no lists, no answer from apt, or a plan that writes below /etc/apt.
std::vector<Ineffective> packages_without_source(const ChangesAhead& ahead, const NodeReader& node);

/// I/O. apt's objections to the steps of a run. Package lists are updated at most once, if they are old or an install
/// fails.
std::vector<Objection> objections_to(std::span<const Step> steps, Node& node);

}  // namespace sparkplan::package
