#include "engine/cli/output/audit.h"

#include <syslog.h>

#include "engine/core/text.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/report/exit_code.h"

namespace sparkplan {

void write_audit_line(const Report& report) {
  int done = 0;
  for (const auto& node : report.nodes) {
    for (const auto& [id, outcome] : node.outcomes) done += outcome == Outcome::kDone ? 1 : 0;
  }
  const auto by = printable(this_controller(report.command).who);
  const auto cluster = printable(report.cluster);
  ::openlog("sparkplan", LOG_PID, LOG_USER);
  ::syslog(LOG_NOTICE, "%s cluster=%s by=%s nodes=%zu changes_done=%d exit=%d", report.command.c_str(), cluster.c_str(),
           by.c_str(), report.nodes.size(), done, static_cast<int>(exit_code(report)));
  ::closelog();
}

}  // namespace sparkplan
