// Reports as HTML pages.
#include "engine/report/page/html_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/report/checks/check_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/page_rules.h"
#include "tests/unit/report/cluster_of_eight.h"
#include "tests/unit/report/page_samples.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using test::complaints_about_page;
using test::occurrences;
using testing::checked_page;
using testing::place_in;
using testing::sample_cluster;

constexpr std::size_t kLargestPage = 2'000'000;

using test::has;

std::string verify_page(const VerifyReport& report, const Cluster& cluster) {
  return to_html(report, {cluster, "1.2.3"});
}

}  // namespace

TEST_CASE("the page of verify has its verdict first, then failures with cause and fix") {
  const Cluster cluster = sample_cluster(8);
  const std::string page = checked_page("verify", verify_page(testing::sample_verify(cluster), cluster));
  const auto verdict = place_in(page, "8 nodes, half A");
  const auto problems = place_in(page, "Failures and warnings</h2>");
  const auto cause = place_in(page, "no packet gets from spark-01 to spark-03 through enP2p1s0f1np1");
  const auto fix = place_in(page, "check the cable and the switch port of half B");
  const auto cabling = place_in(page, "Cabling</h2>");
  CHECK(verdict < problems);
  CHECK(problems < cause);
  CHECK(cause < fix);
  CHECK(fix < cabling);
  CHECK(cabling < place_in(page, "Measurements between nodes</h2>"));
  CHECK(has(page, "2026-11-24 06:15:00 UTC"));
  CHECK(has(page, "sparkplan 1.2.3"));
}

TEST_CASE("a page tells nothing by colour alone") {
  const Cluster cluster = sample_cluster(8);
  const std::string page = verify_page(testing::sample_verify(cluster), cluster);
  // The cell of a failed measurement has a sign beside its number, and a slow receiver a word.
  CHECK(has(page, "<td class=\"h3 f\">\u2717 60.1</td>"));
  CHECK(has(page, "spark-02 <span class=\"slow\">\u25bc slow</span>"));
  CHECK(has(page, "Slow as receiver: spark-02"));
  CHECK_FALSE(has(page, "Slow as sender"));
  CHECK(has(page, "threshold 100 Gb/s"));
  CHECK(has(page, "\u2717 FAIL</text>"));
  CHECK(has(page, "\u2260 6.11.0-1016-nvidia"));
  CHECK_FALSE(has(page, "\u2260 6.14.0-1013-nvidia"));
}

TEST_CASE("the caption of a heat map says which pairs have a threshold, in any order of the pairs") {
  const Cluster cluster = sample_cluster(2);
  const auto caption = [&](std::optional<double> there, std::optional<double> back) {
    VerifyReport report;
    for (const auto& [nodes, threshold] : {std::pair(std::vector<std::string>{"spark-01", "spark-02"}, there),
                                           std::pair(std::vector<std::string>{"spark-02", "spark-01"}, back)}) {
      Check check = skipped(Level::kTcp, nodes, "A", "");
      check.pass("measured");
      check.value = 90;
      check.unit = "Gb/s";
      check.threshold = threshold;
      report.checks.push_back(std::move(check));
    }
    const std::string page = verify_page(report, cluster);
    const auto begin = page.find("columns receive, ", page.find("<caption>tcp A")) + 17;
    return page.substr(begin, page.find('<', begin) - begin);
  };
  CHECK(caption({}, {}) == "no threshold");
  CHECK(caption(100, 100) == "threshold 100 Gb/s");
  CHECK(caption(100, 80) == "thresholds differ");
  CHECK(caption(100, {}) == "threshold 100 Gb/s, none for some pairs");
  CHECK(caption({}, 100) == "threshold 100 Gb/s, none for some pairs");
}

TEST_CASE("the wires of the drawing have the results of the checks of their half") {
  const Cluster cluster = sample_cluster(4);
  const std::string page = verify_page(testing::sample_verify(cluster), cluster);
  // Half B of the third node fails with all other nodes. Their own half B fails only with it.
  CHECK(occurrences(page, "class=\"wire wf\"") == 1);
  CHECK(has(page, "spark-03 enP2p1s0f1np1 (192.168.101.13/24) to the switch: FAIL"));
  CHECK(has(page, "spark-01 enP2p1s0f1np1 (192.168.101.11/24) to the switch: warn"));
  const Cluster ring = sample_cluster(4, "ring");
  const std::string other = checked_page("ring", verify_page(testing::sample_verify(ring), ring));
  CHECK(occurrences(other, "class=\"wire ") == 8);
}

TEST_CASE("a page shows NCCL's bandwidth over size as a chart and as a table") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  const std::string page = verify_page(report, cluster);
  CHECK(has(page, "NCCL over size</h2>"));
  CHECK(has(page, ">16 MiB</text>"));
  CHECK(has(page, "threshold 21.9"));
  CHECK(has(page, "<th scope=\"row\">all_reduce</th><td>1 GiB</td>"));
  CHECK_FALSE(has(page, "time of small messages"));
  for (Check& check : report.checks) check.series.clear();
  CHECK_FALSE(has(verify_page(report, cluster), "NCCL over size"));
}

TEST_CASE("the threshold of NCCL and its band begin at the size that they are for") {
  const Cluster cluster = sample_cluster(4);
  const std::string page = verify_page(testing::sample_verify(cluster), cluster);
  CHECK(has(page, ">threshold 21.9, from 1 GiB on</text>"));
  CHECK(has(page, ">warning from 18 to the threshold, from 1 GiB on</text>"));
  // The last size is at 740: the band and the line begin a little before it, and not at the axis.
  CHECK(has(page, "<rect class=\"band\" x=\"700\" "));
  CHECK(has(page, "class=\"limit\" d=\"M700 "));
}

TEST_CASE("the page of verify compares the run with the one before it, and shows the course of each check") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  const std::string page = verify_page(report, cluster);
  CHECK(has(page, "Compared with the run of 2026-11-23 06:15:00 UTC on spark-[01-04]."));
  // The slower check comes first, with the time and what happened then.
  const auto slower = place_in(page, "<th scope=\"row\">nccl/all/all_reduce</th>");
  CHECK(slower < place_in(page, "<th scope=\"row\">nccl/all/all_gather</th>"));
  CHECK(has(page.substr(slower, 1500),
            "\u25bc slower</span> since 2026-11-23 06:15:00 UTC<br/>at that time: kernel "
            "6.11.0-1016-nvidia -&gt; 6.14.0-1013-nvidia on spark-01"));
  CHECK(has(page.substr(slower, 1500), "class=\"step\""));
  // A reader that does not see the line hears its values.
  CHECK(has(page.substr(slower, 1500), "aria-label=\"13 values, the last 10: "));
  // Half B of the third node carries no packet: it keeps no value.
  CHECK_FALSE(has(page, "<th scope=\"row\">tcp/spark-01/spark-03/B</th>"));
  report.measured.clear();
  CHECK_FALSE(has(verify_page(report, cluster), "History</h2>"));
}

TEST_CASE("the page of verify says which history could not be read, and that a first run has none before it") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  report.measured = testing::sample_measurements(report, 0);
  report.measured[3].measured = {};
  report.measured[3].error = Error{ErrorCode::kFailed, "no answer", {}, {}, ""};
  std::string page = verify_page(report, cluster);
  CHECK(complaints_about_page(page) == "");
  CHECK(has(page, "The history of spark-04 could not be read: no answer"));
  CHECK(has(page, "The nodes keep no earlier run to compare with."));
  CHECK(has(page, "<td>first value</td>"));
  for (NodeMeasurements& node : report.measured) node.measured = {};
  page = verify_page(report, cluster);
  CHECK(complaints_about_page(page) == "");
  CHECK(has(page, "The nodes keep no measurements."));
}

TEST_CASE("a run that one node invents is not the run before, and none of its checks comes before those of others") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  auto& liar = report.measured[1].measured;
  liar.runs.push_back({99, "20261124T000000Z-00000000", {}});
  for (int number = 0; number < 3000; ++number) {
    liar.checks.emplace("tcp/spark-02/a" + std::to_string(number),
                        StoredValues{{100, 100, 100, 1, 1}, {9, 10, 11, 99, 99}});
  }
  const std::string page = verify_page(report, cluster);
  CHECK(complaints_about_page(page) == "");
  CHECK(has(page, "Compared with the run of 2026-11-23 06:15:00 UTC"));
  CHECK(has(page, "<th scope=\"row\">nccl/all/all_gather</th>"));
  CHECK(has(page, " more checks: verify --history --json has all."));
  CHECK(page.size() < kLargestPage / 2);
}

TEST_CASE("a course of the worst values has no run that one node alone reports") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  auto& liar = report.measured[1].measured;
  for (int number = 0; number < 1000; ++number) {
    liar.runs.push_back({1000 + number,
                         std::to_string(20250101 + number / 60 % 28) + "T01" +
                             std::to_string(100 + number % 60).substr(1) + "00Z-" + std::to_string(10'000'000 + number),
                         {}});
    auto& stored = liar.checks["tcp/spark-02/a" + std::to_string(number / 50)];
    stored.values.push_back(1);
    stored.runs.push_back(1000 + number);
  }
  const std::string page = verify_page(report, cluster);
  CHECK(complaints_about_page(page) == "");
  const auto kinds = place_in(page, "The worst value of each kind in each run");
  const auto end = page.find("</table>", kinds);
  REQUIRE(end != std::string::npos);
  CHECK(has(page.substr(kinds, end - kinds), "aria-label=\"13 values, the last 10: "));
  CHECK_FALSE(has(page.substr(kinds, end - kinds), "aria-label=\"1013 values"));
}

TEST_CASE("a sweep has both placements and its latency as charts, one for each of many operations") {
  const Cluster cluster = sample_cluster(4);
  VerifyReport report = testing::sample_verify(cluster);
  const Check sample = *std::find_if(report.checks.begin(), report.checks.end(),
                                     [](const Check& check) { return check.series.size() > 1; });
  std::erase_if(report.checks, [](const Check& check) { return !check.series.empty(); });
  for (const std::string operation : {"all_reduce", "broadcast", "scatter"}) {
    Check check = sample;
    check.what = "all/" + operation;
    check.id = "nccl/all/" + operation;
    for (const std::int64_t bytes : {8, 8192}) {
      check.series.push_back({bytes, 12.5, 0.1, 0.1, true});
    }
    report.checks.push_back(std::move(check));
  }
  const std::string page = checked_page("sweep", verify_page(report, cluster));
  CHECK(has(page, "<h3>scatter, all, "));
  CHECK(has(page, "NCCL time of small messages: broadcast, all, "));
  CHECK(has(page, "<th scope=\"row\">all_reduce in place</th><td>8 KiB</td>"));
}

TEST_CASE("no text of a node or of the file becomes markup, and none can hide") {
  const Cluster cluster = sample_cluster(4);
  const std::string page = checked_page("hostile", verify_page(testing::hostile_verify(cluster), cluster));
  for (const char* part : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\xff", "<img"}) CHECK_FALSE(has(page, part));
  CHECK(has(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  DoctorReport doctor = testing::sample_doctor(cluster);
  for (Finding& finding : doctor.findings) finding.seen = testing::kHostileText;
  doctor.run.cluster = testing::kHostileText;
  CHECK(complaints_about_page(to_html(doctor, {cluster, "1"})) == "");
  for (const auto& [name, report] : testing::sample_reports()) {
    INFO(name);
    CHECK(complaints_about_page(to_html(report, {}, {cluster, "1"})) == "");
  }
}

TEST_CASE("a page of 64 nodes is smaller than 2 MB, also if everything has failed") {
  const Cluster cluster = sample_cluster(64);
  const std::string page = checked_page("verify-64", verify_page(testing::sample_verify(cluster), cluster));
  CHECK(page.size() < kLargestPage);
  const std::string worst = verify_page(testing::everything_failed(cluster), cluster);
  CHECK(complaints_about_page(worst) == "");
  INFO(page.size() << " and " << worst.size());
  CHECK(worst.size() < kLargestPage);
  CHECK(has(worst, "more problems: --json has all of them."));
}

TEST_CASE("a page whose measurements are huge numbers is not larger, and says what is left out") {
  const Cluster cluster = sample_cluster(64);
  VerifyReport report = testing::everything_failed(cluster);
  for (Check& check : report.checks) {
    if (check.value) check.value = -1.2345e300;
    if (check.threshold) check.threshold = 1.2345e300;
  }
  const std::string page = verify_page(report, cluster);
  INFO(page.size());
  CHECK(complaints_about_page(page) == "");
  CHECK(page.size() < kLargestPage);
  CHECK(has(page, "<td class=\"h4 f\">\u2717 -1.23e+300</td>"));
  CHECK(has(page, " more table"));
}

TEST_CASE("the page of doctor groups nodes with the same problem") {
  const Cluster cluster = sample_cluster(3);
  DoctorReport report = testing::sample_doctor(cluster);
  report.snapshots[1].halves[1].state = HalfState::kDown;
  report.snapshots[1].halves[1].reason = "no carrier";
  const std::string page = checked_page("doctor", to_html(report, {cluster, "1.2.3"}));
  CHECK(occurrences(page, "<article") == 2);
  CHECK(place_in(page, "link-mtu: ") < place_in(page, "netplan-mode: "));
  CHECK(has(page, "spark-[01-03]: /etc/netplan/50.yaml has mode 0644"));
  CHECK(has(page, "to the switch: FAIL, spark-02: no carrier"));
}

TEST_CASE("the pages of doctor and plan of 64 nodes are smaller than 2 MB") {
  const Cluster cluster = sample_cluster(64);
  const std::string doctor = checked_page("doctor-64", to_html(testing::sample_doctor(cluster), {cluster, "1.2.3"}));
  CHECK(complaints_about_page(doctor) == "");
  CHECK(doctor.size() < kLargestPage);
  std::vector<NodeReport> nodes;
  for (const NodeSpec& spec : cluster.nodes) {
    nodes.push_back(testing::first_plan_of_eight().nodes.front());
    nodes.back().name = spec.name.str();
  }
  const auto snapshots = testing::sample_snapshots(cluster);
  const std::string plan =
      checked_page("plan-64", to_html(testing::sample_report("plan", nodes), snapshots, {cluster, "1.2.3"}));
  CHECK(complaints_about_page(plan) == "");
  CHECK(plan.size() < kLargestPage);
}

TEST_CASE("the page of doctor has the counts of the terminal") {
  const Cluster cluster = sample_cluster(3);
  DoctorReport report = testing::sample_doctor(cluster);
  // A failure on one node, a warning that all share, a row that all passed and one that all skipped.
  const std::string counts = "1 failed, 1 warning, 1 passed, 1 skipped";
  CHECK(has(to_text(report, {}), "Doctor: " + counts + ". "));
  CHECK(has(to_html(report, {cluster, "1"}), counts + " on 3 nodes."));
  report.findings[1].seen = "/etc/netplan/60.yaml has mode 0644";
  const std::string more = "1 failed, 2 warnings, 1 passed, 1 skipped";
  CHECK(has(to_text(report, {}), "Doctor: " + more + ". "));
  const std::string page = to_html(report, {cluster, "1"});
  CHECK(has(page, more + " on 3 nodes."));
  CHECK(has(page, "spark-[02-03]: /etc/netplan/50.yaml has mode 0644"));
}

TEST_CASE("the page of plan has the changes by type, with their diffs folded") {
  const Cluster cluster = sample_cluster(8);
  const auto snapshots = testing::sample_snapshots(cluster);
  const std::string page = checked_page("plan", to_html(testing::first_plan_of_eight(), snapshots, {cluster, "1.2.3"}));
  CHECK(has(page, "<h3>sysctl</h3>"));
  CHECK(has(page, "Plan: "));
  CHECK(has(page, "<td>+ add</td>"));
  const std::string trouble =
      checked_page("trouble", to_html(testing::trouble_among_eight(), snapshots, {cluster, "1.2.3"}));
  CHECK(has(trouble, "is unreachable</h3>"));
}

TEST_CASE("a page of plan with thousands of changes of one type is cut, and says how many are left out") {
  const Cluster cluster = sample_cluster(2);
  NodeReport node = testing::sample_node(1, NodeStatus::kPending);
  for (int number = 0; number < 3000; ++number) {
    std::string letters = std::to_string(number);  // Names with numbers would fold into one row.
    for (char& digit : letters) digit = static_cast<char>(digit - '0' + 'a');
    node.plan.changes.push_back(testing::sample_change("sysctl/net.k" + letters, Action::kUpdate,
                                                       {{"v", std::string(40, '<'), std::to_string(number)}}));
  }
  const std::string page =
      checked_page("many-changes", to_html(testing::sample_report("plan", {node}), {}, {cluster, "1"}));
  CHECK(page.size() < kLargestPage / 8);
  CHECK(has(page, " more changes: --json has all of them."));
}

TEST_CASE("a page of plan with many values per node is cut, and says what is left out") {
  const Cluster cluster = sample_cluster(2);
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= 64; ++number) {
    nodes.push_back(testing::sample_node(1, NodeStatus::kPending));
    nodes.back().name = "node-" + std::to_string(number);
    for (int at = 0; at < 100; ++at) {
      // No series: one line would be enough for that.
      const std::string value = std::string(30, '<') + std::to_string(number * 100 + at) + (number % 2 == 0 ? "<" : "");
      nodes.back().plan.changes.push_back(
          testing::sample_change("sysctl/net.k" + std::to_string(at), Action::kUpdate, {{"v", "before", value}}));
    }
  }
  const std::string page = to_html(testing::sample_report("plan", nodes), {}, {cluster, "1"});
  CHECK(complaints_about_page(page) == "");
  CHECK(page.size() < kLargestPage / 4);
  CHECK(has(page, "And 40 more columns: --json has all of them."));
  CHECK(has(page, " more nodes: --json has all of them."));
}

TEST_CASE("a page of doctor with hundreds of reasons and long versions is cut, and says what is left out") {
  const Cluster cluster = sample_cluster(64);
  DoctorReport report = testing::sample_doctor(cluster);
  for (int at = 0; at < 500; ++at) {
    const std::string reason = std::to_string(at) + std::string(3000, '<');
    report.findings.push_back({"nvme-not-live", {"spark-01"}, false, CheckStatus::kSkip, reason});
  }
  for (NodeSnapshot& one : report.snapshots) {
    for (VersionFact& version : one.versions) version.text = one.node + std::string(3000, '<');
  }
  const std::string page = to_html(report, {cluster, "1"});
  CHECK(complaints_about_page(page) == "");
  CHECK(page.size() < kLargestPage / 2);
  CHECK(has(page, " more rows: --json has every finding."));
  CHECK(has(page, "class=\"st skip\""));
  CHECK_FALSE(has(page, "\n.skip{"));  // A rule for the class alone would also move or hide the state "skipped".
  CHECK(place_in(page, "Versions</h2>") < place_in(page, " more nodes.</p>"));
}

TEST_CASE("the page of plan hides values of settings that are secret by name") {
  const Cluster cluster = sample_cluster(2);
  NodeReport node = testing::sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      testing::sample_change("profile_env/HF_TOKEN", Action::kUpdate, {{"", "hf_old", "hf_new"}}),
      testing::sample_change("file//etc/app.conf", Action::kUpdate,
                             {{"content", "port = 1\npassword = old-pw\n", "port = 2\npassword = new-pw\n"}})};
  const std::string page = to_html(testing::sample_report("plan", {node}), {}, {cluster, "1"});
  for (const char* secret : {"hf_old", "hf_new", "old-pw", "new-pw"}) CHECK_FALSE(has(page, secret));
  CHECK(has(page, "+port = 2"));
}

}  // namespace sparkplan
