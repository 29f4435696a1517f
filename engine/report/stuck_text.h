#pragma once

#include <string>

#include "engine/launch/stuck_job.h"

namespace sparkplan {

/// What `run --watch` prints of a job without output. Printable.
std::string to_text(const StuckJob& job);

}  // namespace sparkplan
