#pragma once

#include "engine/model/resource.h"
#include "engine/wire/frame.h"

namespace sparkplan {

/// Replaces the largest observations by errors until a reply with the rest is within `limits`. So a large file on the
/// node blocks its own resource; a reply over the limits would fail the node. Claims are kept, so the reply can still
/// be over the limits.
void keep_within(ObservedState& observed, const FrameLimits& limits);

}  // namespace sparkplan
