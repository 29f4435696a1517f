#pragma once

#include <cstddef>
#include <string>

#include "engine/doctor/doctor_run.h"
#include "engine/load/load.h"
#include "engine/verify/verify_run.h"

// Reports for the tests of pages.
namespace sparkplan::testing {

/// A valid cluster.yaml of `count` nodes behind a switch, or in a ring.
Cluster sample_cluster(int count, const std::string& topology = "switch");

/// All levels between all nodes. Half B of the third node carries no packet, and NCCL has a series.
VerifyReport sample_verify(const Cluster& cluster);
/// Every check fails, each with other texts of the largest size.
VerifyReport everything_failed(const Cluster& cluster);
/// Markup, quotes, escape sequences and broken characters in every text that a node or the file can word.
VerifyReport hostile_verify(const Cluster& cluster);

DoctorReport sample_doctor(const Cluster& cluster);

/// The versions and halves of all nodes; the second node has another kernel.
std::vector<NodeSnapshot> sample_snapshots(const Cluster& cluster);

/// The values that the nodes keep of the checks: this run, and `earlier` runs before it, one a day. Since the last
/// but one, NCCL's first group check is slower; the kernel of the first node changed then.
std::vector<NodeMeasurements> sample_measurements(const VerifyReport& report, std::size_t earlier);

/// The place of `part` in the text. The test fails if it is not there: a comparison with npos would pass.
std::size_t place_in(const std::string& text, const std::string& part);

/// The page, which must keep the rules of pages. SPARKPLAN_PAGES=FOLDER also writes it to NAME.html, for tests/page and
/// for a look at it in a browser.
std::string checked_page(const std::string& name, std::string page);

inline constexpr const char* kHostileText =
    "\"><script>alert(1)</script><img src=x onerror='y'> ' & ]]> `x` \x1b[31m \xc2\x9b \xe2\x80\xae \xff | @anna #1";

}  // namespace sparkplan::testing
