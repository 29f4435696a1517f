// The last line of `verify`, the shades of its matrices, and what a page marks at a node.
#include "engine/report/checks/verify_verdict.h"

#include "engine/report/checks/check_report.h"
#include "engine/report/checks/matrix.h"
#include "engine/report/page/html_report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/report/page_samples.h"

namespace sparkplan {
namespace {

Check pair_check(Level level, const std::string& from, const std::string& to, const std::string& what, double value,
                 const std::string& unit) {
  Check check = skipped(level, {from, to}, what, "");
  check.pass("measured");
  check.value = value;
  check.unit = unit;
  return check;
}

Check link(const std::string& node, const std::string& half) {
  Check check = skipped(Level::kLink, {node}, half, "");
  check.pass("up");
  return check;
}

VerifyReport report_of(std::vector<Check> checks, std::size_t nodes) {
  VerifyReport report;
  report.run.nodes.resize(nodes);
  report.checks = std::move(checks);
  return report;
}

}  // namespace

TEST_CASE("the verdict names the halves and the slowest pair") {
  std::vector<Check> checks{link("a", "A"),
                            link("a", "B"),
                            pair_check(Level::kTcp, "a", "b", "A", 3, "Gb/s"),
                            pair_check(Level::kRdma, "a", "b", "A/bandwidth", 90, "Gb/s"),
                            pair_check(Level::kRdma, "a", "b", "A/latency", 1.5, "us"),
                            pair_check(Level::kNccl, "a", "b", "all_reduce", 24.1, "GB/s"),
                            pair_check(Level::kNccl, "a", "c", "all_reduce", 21.9, "GB/s")};
  CHECK(verdict_of(report_of(checks, 3)) == "3 nodes, both halves good; slowest pair a -> c, 21.9 GB/s");
  checks.resize(5);
  CHECK(verdict_of(report_of(checks, 3)) ==
        "3 nodes, both halves good; slowest pair a -> b, 90 Gb/s (rdma A/bandwidth)");
  checks.resize(3);
  CHECK(verdict_of(report_of(checks, 3)) == "3 nodes, both halves good; slowest pair a -> b, 3 Gb/s (tcp A)");
  checks.resize(1);
  CHECK(verdict_of(report_of(checks, 1)) == "1 node, half A good");
}

TEST_CASE("the verdict says what is not good") {
  std::vector<Check> checks{link("a", "A"), link("a", "B"), skipped(Level::kStorage, {"a"}, "", "none")};
  checks[1].status = CheckStatus::kFail;
  CHECK(verdict_of(report_of(checks, 1)) == "1 node, half A good, half B: 1 check failed");
  checks[2].status = CheckStatus::kWarn;
  CHECK(verdict_of(report_of(checks, 1)) == "1 node, half A good, half B: 1 check failed, other checks: 1 warning");
  VerifyReport lost = report_of({checks[0]}, 3);
  lost.run.nodes[1].error = Error{ErrorCode::kUnreachable, "x", {}, {}, ""};
  lost.run.nodes[2].status = NodeStatus::kSkipped;
  lost.run.interrupted = true;
  CHECK(verdict_of(lost) == "1 of 2 nodes, 1 not verified, half A good; interrupted");
  CHECK(verdict_of(report_of({}, 2)) == "2 nodes, nothing was measured");
}

TEST_CASE("the verdict is the last line of the output, also with --quiet") {
  const VerifyReport report = report_of({link("a", "A")}, 1);
  for (const bool quiet : {false, true}) {
    TextStyle style;
    style.quiet = quiet;
    CHECK(to_text(report, style).ends_with("\n1 node, half A good\n"));
  }
}

TEST_CASE("a node is slow if its best value is worse than what the others reach without it") {
  std::vector<Check> checks;
  const std::vector<std::string> nodes{"a", "b", "c", "d"};
  for (const auto& from : nodes) {
    for (const auto& to : nodes) {
      if (from != to) checks.push_back(pair_check(Level::kTcp, from, to, "A", to == "c" ? 50 : 100, "Gb/s"));
    }
  }
  const PairMatrix matrix = pair_matrices(checks).at(0);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    CHECK(matrix.is_slow(node, true) == (nodes[node] == "c"));
    CHECK_FALSE(matrix.is_slow(node, false));
  }
  CHECK(matrix.shade(*matrix.at(0, 1)) == 0);
  CHECK(matrix.shade(*matrix.at(0, 2)) == 3);
  // Without a third node there is nothing to compare with.
  const PairMatrix two = pair_matrices({pair_check(Level::kTcp, "a", "b", "A", 1, "Gb/s")}).at(0);
  CHECK_FALSE(two.is_slow(0, false));
}

TEST_CASE("no node is called slow by what a single other node claims") {
  const std::vector<std::string> nodes{"a", "b", "c"};
  // Of each value, the sender is the reporter. `b` claims what no network has, or next to nothing.
  for (const double claim : {1e9, 0.001}) {
    std::vector<Check> checks;
    for (const auto& from : nodes) {
      for (const auto& to : nodes) {
        if (from != to) checks.push_back(pair_check(Level::kTcp, from, to, "A", from == "b" ? claim : 100, "Gb/s"));
      }
    }
    const PairMatrix matrix = pair_matrices(checks).at(0);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      INFO(nodes[node] << " " << claim);
      CHECK_FALSE(matrix.is_slow(node, true));
      CHECK(matrix.is_slow(node, false) == (nodes[node] == "b" && claim < 1));
    }
  }
  // At the end of a line, `a` has one neighbour.
  const PairMatrix line =
      pair_matrices(
          {pair_check(Level::kTcp, "b", "a", "A", 1, "Gb/s"), pair_check(Level::kTcp, "a", "b", "A", 1, "Gb/s"),
           pair_check(Level::kTcp, "b", "c", "A", 100, "Gb/s"), pair_check(Level::kTcp, "c", "b", "A", 100, "Gb/s")})
          .at(0);
  CHECK_FALSE(line.is_slow(0, true));
  CHECK_FALSE(line.is_slow(0, false));
  // One report on both directions.
  const PairMatrix times = pair_matrices({pair_check(Level::kRdma, "a", "b", "A/latency", 2, "us"),
                                          pair_check(Level::kRdma, "a", "c", "A/latency", 2, "us"),
                                          pair_check(Level::kRdma, "b", "c", "A/latency", 0.001, "us")})
                               .at(0);
  CHECK_FALSE(times.is_slow(0, false));
  // The value of the slowest rank of NCCL counts.
  const PairMatrix nccl = pair_matrices({pair_check(Level::kNccl, "a", "b", "all_reduce", 10, "GB/s"),
                                         pair_check(Level::kNccl, "a", "c", "all_reduce", 10, "GB/s"),
                                         pair_check(Level::kNccl, "b", "c", "all_reduce", 20, "GB/s")})
                              .at(0);
  CHECK(nccl.is_slow(0, false));
  CHECK_FALSE(nccl.is_slow(1, false));
}

TEST_CASE("a rank of NCCL that reports a short time has no other node marked as slow") {
  // `a` and `c` run a broadcast. The mean of their times is half as long as the time of `c`.
  for (const std::string unit : {"GB/s", "us"}) {
    const bool is_time = unit == "us";
    auto claimed = pair_check(Level::kNccl, "a", "c", "broadcast", is_time ? 5 : 20, unit);
    claimed.of_slowest = 10;
    const PairMatrix matrix = pair_matrices({pair_check(Level::kNccl, "a", "b", "broadcast", 10, unit), claimed,
                                             pair_check(Level::kNccl, "b", "c", "broadcast", 10, unit)})
                                  .at(0);
    for (std::size_t node = 0; node < 3; ++node) {
      CHECK_FALSE(matrix.is_slow(node, false));
      CHECK_FALSE(matrix.is_slow(node, true));
    }
    // Nor do the other cells look worse beside it.
    CHECK(matrix.shade(*matrix.at(0, 1)) == 0);
    CHECK(matrix.at(0, 2)->value == (is_time ? 5 : 20));
  }
}

TEST_CASE("a version is marked if most nodes do not have it, and of two that differ both are") {
  const auto page_of = [](int nodes) {
    const Cluster cluster = testing::sample_cluster(nodes);
    VerifyReport report;
    report.snapshots = testing::sample_snapshots(cluster);
    return to_html(report, {cluster, "1.2.3"});
  };
  // The second node has another kernel.
  const std::string two = page_of(2);
  CHECK(test::has(two, "\u2260 6.11.0-1016-nvidia"));
  CHECK(test::has(two, "\u2260 6.14.0-1013-nvidia"));
  const std::string three = page_of(3);
  CHECK(test::has(three, "\u2260 6.11.0-1016-nvidia"));
  CHECK_FALSE(test::has(three, "\u2260 6.14.0-1013-nvidia"));
  CHECK(test::has(three, "marks what most nodes do not have."));
}

TEST_CASE("a sweep of two nodes is in no matrix") {
  auto sweep = pair_check(Level::kNccl, "a", "b", "all_reduce", 3, "GB/s");
  sweep.series = {{8192, 20, 0.4, 0.4}, {1 << 20, 350, 3, 3}};
  CHECK(pair_matrices({sweep}).size() == 1);
  sweep.one_off = true;
  CHECK(pair_matrices({sweep}).empty());
}

TEST_CASE("less is better for times, and a threshold decides the shade if there is one") {
  auto slow = pair_check(Level::kRdma, "a", "b", "A/latency", 4, "us");
  const auto fast = pair_check(Level::kRdma, "a", "c", "A/latency", 2, "us");
  const PairMatrix times = pair_matrices({slow, fast}).at(0);
  CHECK(times.shade(*times.at(0, 1)) == 3);
  CHECK(times.shade(*times.at(0, 2)) == 0);
  slow.threshold = 4;
  const PairMatrix judged = pair_matrices({slow, fast}).at(0);
  CHECK(judged.shade(*judged.at(0, 1)) == 0);
}

TEST_CASE("cells are shaded only in colour, and their numbers and marks stay") {
  const std::vector<Check> checks{pair_check(Level::kTcp, "a", "b", "A", 10, "Gb/s"),
                                  pair_check(Level::kTcp, "b", "a", "A", 4, "Gb/s")};
  TextStyle colour;
  colour.color = true;
  const std::string plain = matrices(checks);
  const std::string shaded = matrices(checks, colour);
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(shaded.find("\x1b[48;5;24;38;5;255m    10\x1b[0m") != std::string::npos);
  CHECK(shaded.find("\x1b[48;5;214;38;5;16m     4\x1b[0m") != std::string::npos);
}

}  // namespace sparkplan
