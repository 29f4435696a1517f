#pragma once

#include <vector>

#include "engine/cli/terminal/console.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// Whether the passphrase of a key may be asked for.
enum class Passphrases : bool { kAreNotAsked, kAreAsked };

/// Adds the ssh configuration of the user to `options`, and the question for passphrases on the terminal. `console`
/// outlives the options. With -v, logs which settings are ignored for which of `nodes`.
/// Errors: those of read_ssh_config().
Result<void> add_ssh_of_user(ConnectOptions& options, const std::vector<NodeSpec>& nodes, Passphrases passphrases,
                             const Console& console);

}  // namespace sparkplan
