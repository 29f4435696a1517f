#pragma once

#include "engine/plan/report.h"

namespace sparkplan {

/// Writes one line to the controller's syslog: the user, the cluster and the outcome. The nodes write their own lines.
void write_audit_line(const Report& report);

}  // namespace sparkplan
