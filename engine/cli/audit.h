#pragma once

#include "engine/plan/report.h"

namespace sparkplan {

/// One line to the controller's syslog: who changed which cluster, and how it ended. The nodes write
/// their own.
void write_audit_line(const Report& report);

}  // namespace sparkplan
