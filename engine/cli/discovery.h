#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/host_argument.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// The first of the addresses that answers; where none does, the first of them. None is asked when there is one only.
std::string first_that_answers(const std::vector<std::string>& addresses,
                               const std::function<bool(const std::string& address)>& answers);

/// Machines that announce SSH in the networks this one is in, without those in `known`, after the user has agreed to
/// read them; each by an address of its at which it answers. Nothing when there is no terminal to ask on, or he has
/// not; the reason has been told.
std::optional<std::vector<HostArgument>> discover(const std::vector<HostArgument>& known, const GlobalOptions& global,
                                                  const Interrupts& interrupts, Console& console);

/// The same of machines that have answered those which were read on their fabric. Without a terminal they are told of,
/// and none is contacted.
std::vector<HostArgument> discover_neighbours(const std::vector<InitMachine>& machines, const Interrupts& interrupts,
                                              Console& console);

}  // namespace sparkplan
