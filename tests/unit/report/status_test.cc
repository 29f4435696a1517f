// The text and the JSON of `status`.
#include "engine/report/nodes/status_report.h"

#include "engine/core/text.h"
#include "engine/report/exit_code.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/report/golden.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::check_golden;
using testing::sample_change;
using testing::sample_node;
using testing::sample_report;

/// 2026-11-23 18:20 UTC, in a zone one hour ahead.
LocalClock clock_of_tests() {
  return {1'795'458'000, [](std::int64_t) { return std::int64_t{3600}; }};
}

NodeState healthy() {
  NodeState state;
  state.agent = AgentState::kThisBuild;
  state.os = "Ubuntu 24.04.3 LTS";
  state.gpu_driver = "580.95.05";
  state.nccl_version = "2.28.9";
  state.fabric = FabricState{2, 2, {9000}};
  state.last_verify = VerifySummary{"2026-11-23T16:40:00Z", "all", 118, 0, 0};
  state.last_apply = "2026-11-23T16:31:00Z";
  state.resources = 42;
  state.generation = 3;
  return state;
}

/// Eight nodes, nearly each in another state.
StatusReport eight_nodes() {
  StatusReport report{sample_report("status", {}), {}};
  for (int number = 1; number <= 8; ++number) {
    report.run.nodes.push_back(sample_node(number));
    report.nodes.push_back(healthy());
  }
  auto& nodes = report.run.nodes;
  nodes[2].status = NodeStatus::kDrifted;
  nodes[2].plan.changes = {
      sample_change("sysctl/vm.swappiness", Action::kUpdate, {{"running", 60, 10}}, Origin::kDrift)};
  report.nodes[3].fabric = FabricState{2, 1, {1500, 9000}};
  report.nodes[3].last_verify = VerifySummary{"2026-11-20T08:05:00Z", "tcp", 9, 0, 3};
  nodes[4].status = NodeStatus::kPending;
  nodes[4].membership = Membership::kJoining;
  report.nodes[4].last_verify.reset();
  report.nodes[4].last_apply.clear();
  nodes[5].status = NodeStatus::kSkipped;
  report.nodes[5] = NodeState{};
  report.nodes[5].maintenance = true;
  report.nodes[6].agent = AgentState::kOtherBuild;
  report.nodes[6].gpu_driver = "580.82.07";
  report.nodes[6].last_apply = "2025-12-31T23:30:00Z";
  nodes[6].lock_holder = "anna@laptop (pid 4242, apply)";
  nodes[7].status = NodeStatus::kUnreachable;
  nodes[7].error = make_error(ErrorCode::kUnreachable, "connect to 10.0.0.18:22: no route to host", "is it on?");
  report.nodes[7] = NodeState{};
  return report;
}

using test::has;

}  // namespace

TEST_CASE("status shows eight nodes on one screen") {
  const std::string text = to_text(eight_nodes(), clock_of_tests(), {});
  check_golden("status", text);
  for (const auto line : split_lines(text)) {
    CHECK(text_width(line) <= 100);
    CHECK_FALSE(line.ends_with(' '));
  }
  CHECK(split_lines(text).size() <= 24);
}

TEST_CASE("status fits a terminal of 80 columns: its cells are broken behind a comma") {
  TextStyle style;
  style.width = 80;
  auto report = eight_nodes();
  report.run.nodes[7].error->hint = "is it on, and does its sshd run? run `ping 10.0.0.18`, then `ssh spark-08` here";
  const std::string text = to_text(report, clock_of_tests(), style);
  INFO(text);
  for (const auto line : split_lines(text)) {
    CHECK(text_width(line) <= 80);
    CHECK_FALSE(line.ends_with(' '));
  }
  CHECK(has(text,
            "spark-04  in sync      1/2 up,           Nov 20 09:05,     today 17:31   42\n"
            "                       mtu 1500/9000     3 failed (tcp)\n"));
}

TEST_CASE("status in colour is the same text") {
  TextStyle style;
  style.color = true;
  const std::string coloured = to_text(eight_nodes(), clock_of_tests(), style);
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  CHECK(plain == to_text(eight_nodes(), clock_of_tests(), {}));
}

TEST_CASE("quiet status lists only the nodes that need attention") {
  TextStyle style;
  style.quiet = true;
  const std::string text = to_text(eight_nodes(), clock_of_tests(), style);
  CHECK_FALSE(has(text, "spark-01"));
  CHECK(has(text, "spark-03"));
  CHECK(has(text, "spark-08"));
  CHECK(has(text, "Status: "));
}

TEST_CASE("status shows the running jobs of each node, with user, time and command") {
  auto report = eight_nodes();
  report.nodes[1].jobs = {
      {"20261123T181500Z-4f9a1c07", "nvidia", 4242, "2026-11-23T18:15:00Z", "anna@laptop", "python3 train.py"}};
  const std::string text = to_text(report, clock_of_tests(), {});
  CHECK(
      has(text, "    job 20261123T181500Z-4f9a1c07 of nvidia since today 19:15 (\"anna@laptop\"): python3 train.py\n"));
  const Value json = to_json_value(report);
  const Value& node = (*json.find("nodes")->list_items())[1];
  REQUIRE(node.find("jobs") != nullptr);
  const Value& job = (*node.find("jobs")->list_items())[0];
  CHECK(job.text_or("user", "") == "nvidia");
  CHECK(job.text_or("started_by", "") == "anna@laptop");
  CHECK(job.integer_or("pid", 0) == 4242);
  CHECK((*json.find("nodes")->list_items())[0].find("jobs") == nullptr);
}

TEST_CASE("status bounds the jobs that a node can show") {
  auto report = eight_nodes();
  for (int i = 0; i < 60; ++i)
    report.nodes[1].jobs.push_back(
        {"job-" + std::to_string(i), "x", 1, "2026-11-23T18:15:00Z", "", std::string(500, 'a')});
  const std::string text = to_text(report, clock_of_tests(), {});
  CHECK(has(text, "    56 more jobs\n"));
  CHECK_FALSE(has(text, "job-4 "));
  CHECK_FALSE(has(text, std::string(101, 'a')));
}

TEST_CASE("status prints no control character of a node") {
  auto report = eight_nodes();
  report.nodes[0].jobs = {{"a\x1b[2J", "b\x1b[2J", 1, "c\x1b[2J", "d\x1b[2J", "e\x1b[2J\n! spark-09: failed"}};
  report.nodes[0].os = "evil\x1b[2J";
  report.nodes[0].last_apply = "2026\x1b[2J";
  report.run.nodes[0].lock_holder = "anna\x1b[2J";
  for (const char byte : to_text(report, clock_of_tests(), {}))
    REQUIRE((byte == '\n' || (byte & 0x7f) >= 0x20 || byte < 0));
}

TEST_CASE("status shows a time or a level that is none as a question mark, and no run of blanks of a node") {
  auto report = eight_nodes();
  report.nodes[0].last_apply = "today 17:31   70  spark-09";
  report.nodes[0].last_verify = VerifySummary{"today", "tcp), 0 failed", 9, 0, 3};
  report.nodes[0].os = "Ubuntu      580.95.05";
  const std::string text = to_text(report, clock_of_tests(), {});
  INFO(text);
  CHECK(has(text, "  ?, 3 failed (?)  "));
  CHECK(has(text, "  ? "));
  CHECK_FALSE(has(text, "spark-09"));
  CHECK(has(text, "Ubuntu 580.95.05"));
}

TEST_CASE("the JSON of status has UTC times and what the text shows") {
  const Value value = to_json_value(eight_nodes());
  CHECK(value.text_or("command", "") == "status");
  const auto& nodes = *value.find("nodes")->list_items();
  REQUIRE(nodes.size() == 8);
  CHECK(nodes[0].text_or("agent", "") == "this_build");
  CHECK(nodes[0].find("last_verify")->integer_or("passed", 0) == 118);
  CHECK(nodes[0].find("last_apply")->text_or("time", "") == "2026-11-23T16:31:00Z");
  CHECK(nodes[2].integer_or("drifted", 0) == 1);
  CHECK(nodes[3].find("fabric")->integer_or("up", 0) == 1);
  CHECK(nodes[4].find("last_apply") == nullptr);
  CHECK(nodes[5].boolean_or("maintenance", false));
  CHECK(nodes[7].text_or("status", "") == "unreachable");
  CHECK(nodes[7].find("error") != nullptr);
}

TEST_CASE("a time is shown in local time, shorter the nearer it is") {
  const auto clock = clock_of_tests();
  CHECK(local_time_text("2026-11-23T16:40:00Z", clock) == "today 17:40");
  CHECK(local_time_text("2026-11-22T23:30:00Z", clock) == "today 00:30");
  CHECK(local_time_text("2026-11-22T22:59:59Z", clock) == "Nov 22 23:59");
  CHECK(local_time_text("2025-12-31T22:00:00Z", clock) == "2025-12-31");
  CHECK(local_time_text("2025-12-31T23:30:00Z", clock) == "Jan 01 00:30");
  CHECK(local_time_text("", clock).empty());
  for (const std::string other :
       {"yesterday", "2026-13-01T00:00:00Z", "2026-11-23 16:40:00Z", "2026-11-23T16:40Z", "today 17:40, 118 passed"}) {
    CHECK(local_time_text(other, clock) == "?");
  }
}

}  // namespace sparkplan
