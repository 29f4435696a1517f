#pragma once

#include "engine/wire/trial_messages.h"

namespace sparkplan {

/// Tries all targets at the same time, each until it answers or the patience is over. A target that cannot be tried (no
/// such interface, no route) counts as one that did not answer.
ProbeReply probe(const ProbeRequest& request);

}  // namespace sparkplan
