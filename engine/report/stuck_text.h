#pragma once

#include <string>

#include "engine/launch/stuck_job.h"

namespace sparkplan {

/// The report of `run --watch` on a job without output. Printable.
std::string to_text(const StuckJob& job);

}  // namespace sparkplan
