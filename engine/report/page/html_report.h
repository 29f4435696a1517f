#pragma once

#include <string>
#include <vector>

#include "engine/doctor/doctor_run.h"
#include "engine/fleet/session/node_snapshot.h"
#include "engine/model/cluster.h"
#include "engine/plan/report.h"
#include "engine/verify/verify_run.h"

/// Reports as HTML pages of one file: no script, no network, for the screen and for paper. All content of nodes and of
/// the file is escaped, and bounded: a page of 64 nodes stays below 2 MB. All functions are pure.
namespace sparkplan {

/// The input of a page beside its report. The cluster outlives the call.
struct PageContext {
  const Cluster& cluster;
  std::string version;  ///< Of sparkplan.
};

/// Of `verify` and `doctor`: a whole page.
std::string to_html(const VerifyReport& report, const PageContext& context);
std::string to_html(const DoctorReport& report, const PageContext& context);
/// Of `plan`. Values of settings whose names say that they are secret are hidden.
std::string to_html(Report report, const std::vector<NodeSnapshot>& snapshots, const PageContext& context);

}  // namespace sparkplan
