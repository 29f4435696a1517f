#include "tests/unit/report/page_samples.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "engine/core/text.h"
#include "engine/verify/measurements.h"
#include "tests/support/catch.h"
#include "tests/support/page_rules.h"

namespace sparkplan::testing {
namespace {

constexpr double kExpected = 100;

std::string page_node_name(int number) { return (number < 10 ? "spark-0" : "spark-") + std::to_string(number); }

Check made(Level level, std::vector<std::string> nodes, const std::string& what, const std::string& text) {
  Check check = skipped(level, std::move(nodes), what, "");
  check.pass(text);
  return check;
}

Check measured(Level level, const std::string& from, const std::string& to, const std::string& what, double value,
               const std::string& unit) {
  Check check = made(level, {from, to}, what, "measured");
  check.value = value;
  check.unit = unit;
  if (unit == "Gb/s" && level == Level::kRdma) check.threshold = kExpected;
  return check;
}

/// Different for every pair, and below the threshold for what the second node receives.
double rate(std::size_t from, std::size_t to) {
  const double base = to == 1 ? 0.6 : 1.05;
  return kExpected * base + static_cast<double>((from * 7 + to * 3) % 10) / 10;
}

void add_pair(const std::vector<std::string>& nodes, std::size_t from, std::size_t to, std::vector<Check>& checks) {
  const std::string& a = nodes[from];
  const std::string& b = nodes[to];
  for (const char* half : {"A", "B"}) {
    const std::string what = half;
    checks.push_back(made(Level::kMtu, {a, b}, what, "unfragmented"));
    checks.back().value = 9000;
    checks.back().unit = "bytes";
    checks.push_back(measured(Level::kTcp, a, b, what, rate(from, to) / 5, "Gb/s"));
    checks.push_back(measured(Level::kRdma, a, b, what + "/bandwidth", rate(from, to), "Gb/s"));
    checks.push_back(measured(Level::kRdma, a, b, what + "/bytes", 100, "%"));
    checks.back().text = "sent " + std::to_string(from * 1000 + to) + " bytes";
    if (from < to) checks.push_back(measured(Level::kRdma, a, b, what + "/latency", 1.5, "us"));
  }
  checks.push_back(measured(Level::kRdma, a, b, "both/bandwidth", rate(from, to) * 1.8, "Gb/s"));
  checks.push_back(made(Level::kSsh, {a, b}, "nvidia", "ssh works"));
  if (from > to) return;
  checks.push_back(measured(Level::kNccl, a, b, "all_reduce", rate(from, to) / 4.5, "GB/s"));
  checks.push_back(measured(Level::kNccl, a, b, "all_gather", rate(from, to) / 4.6, "GB/s"));
}

Check group_check(const std::vector<std::string>& nodes, const std::string& operation, double best) {
  Check check = made(Level::kNccl, nodes, "all/" + operation, "1 GiB, IB over rocep1s0f1, busbw");
  check.id = "nccl/all/" + operation;
  check.value = best;
  check.unit = "GB/s";
  check.threshold = 21.875;
  check.warning_from = 18;
  double part = 0.25;
  for (std::int64_t bytes = 1 << 20; bytes <= std::int64_t{1} << 30; bytes *= 4) {
    check.series.push_back({bytes, static_cast<double>(bytes) / 1e4, best * part / 2, best * part});
    part = std::min(1.0, part + 0.15);
  }
  return check;
}

std::vector<std::string> names_in(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeSpec& node : cluster.nodes) names.push_back(node.name.str());
  return names;
}

Report run_of(const std::string& command, const Cluster& cluster) {
  Report run;
  run.command = command;
  run.cluster = cluster.name;
  run.file = cluster.file;
  run.config_digest = std::string(64, '0');
  run.run = "20261124T061500Z-4f9a1c07";
  run.duration = std::chrono::milliseconds(73'200);
  for (const NodeSpec& node : cluster.nodes) {
    run.nodes.emplace_back();
    run.nodes.back().name = node.name.str();
    run.nodes.back().address = node.address;
  }
  return run;
}

void fail(Check& check, const std::string& cause, const std::string& fix) {
  check.status = CheckStatus::kFail;
  check.cause = cause;
  check.fix = fix;
}

}  // namespace

std::size_t place_in(const std::string& text, const std::string& part) {
  const auto place = text.find(part);
  INFO(part);
  REQUIRE(place != std::string::npos);
  return place;
}

Cluster sample_cluster(int count, const std::string& topology) {
  std::string yaml =
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\nfabric: {topology: " + topology + "}\nnodes:\n";
  for (int number = 1; number <= count; ++number) {
    yaml += "  - {name: " + page_node_name(number) + ", address: 10.0.0." + std::to_string(10 + number) + "}\n";
  }
  auto loaded = load_cluster(yaml, "cluster.yaml", builtin_registry());
  for (const auto& finding : loaded.diagnostics) UNSCOPED_INFO(finding.message);
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

std::vector<NodeSnapshot> sample_snapshots(const Cluster& cluster) {
  std::vector<NodeSnapshot> snapshots;
  for (const NodeSpec& node : cluster.nodes) {
    Facts facts;
    facts.product = "NVIDIA DGX Spark";
    facts.architecture = "aarch64";
    facts.os_name = "Ubuntu 24.04.3 LTS";
    facts.kernel = snapshots.size() == 1 ? "6.11.0-1016-nvidia" : "6.14.0-1013-nvidia";
    facts.host.bios_version = "5.36_0ACUM018";
    facts.host.gpu_driver = "580.95.05";
    facts.nccl_version = "2.28.9";
    for (const char* name : {"enp1s0f1np1", "enP2p1s0f1np1"}) {
      LinkFacts link;
      link.name = name;
      link.port = "p1";
      link.pci = name[2] == 'P' ? "0002:01:00.1" : "0000:01:00.1";
      link.up = link.carrier = true;
      facts.links.push_back(std::move(link));
    }
    snapshots.push_back(snapshot_of(node, facts, cluster.profile));
  }
  return snapshots;
}

VerifyReport sample_verify(const Cluster& cluster) {
  VerifyReport report;
  report.run = run_of("verify", cluster);
  report.snapshots = sample_snapshots(cluster);
  const auto nodes = names_in(cluster);
  for (const std::string& node : nodes) {
    for (const char* half : {"A", "B"}) {
      report.checks.push_back(made(Level::kLink, {node}, half, "enp1s0f1np1 up, MTU 9000"));
      report.checks.push_back(made(Level::kLink, {node}, std::string(half) + "/cable", "cabled as declared"));
    }
  }
  for (std::size_t from = 0; from < nodes.size(); ++from) {
    for (std::size_t to = 0; to < nodes.size(); ++to) {
      if (from != to) add_pair(nodes, from, to, report.checks);
    }
  }
  report.checks.push_back(group_check(nodes, "all_reduce", 24.1));
  report.checks.push_back(group_check(nodes, "all_gather", 23.2));
  for (const std::string& node : nodes) {
    report.checks.push_back(skipped(Level::kStorage, {node}, "", "no storage declared", "declare `storage`"));
  }
  for (Check& check : report.checks) {
    const bool of_third =
        nodes.size() > 2 && std::find(check.nodes.begin(), check.nodes.end(), nodes[2]) != check.nodes.end();
    if (of_third && check.level == Level::kMtu && check.what == "B") {
      check.text = "no packet arrives";
      check.value.reset();
      fail(check, "no packet gets from " + check.nodes[0] + " to " + check.nodes[1] + " through enP2p1s0f1np1",
           "check the cable and the switch port of half B");
    } else if (of_third && check.nodes.size() == 2 && check.what.starts_with("B")) {
      check.status = CheckStatus::kSkip;
      check.value.reset();
      check.block({"mtu failed", "mtu/" + check.nodes[0] + "/" + check.nodes[1] + "/B"});
    } else if (check.threshold && check.value && *check.value < *check.threshold && check.level == Level::kRdma) {
      fail(check, "only " + number_text(*check.value) + " of 100 Gb/s", "check the lanes of PCIe");
    }
  }
  report.run.verification_failed = true;
  report.measured = sample_measurements(report, 12);
  return report;
}

std::vector<NodeMeasurements> sample_measurements(const VerifyReport& report, std::size_t earlier) {
  std::vector<NodeMeasurements> nodes;
  for (const NodeReport& node : report.run.nodes) {
    NodeMeasurements& kept = nodes.emplace_back();
    kept.node = node.name;
    for (std::size_t at = 0; at <= earlier; ++at) {
      // One run a day, up to this one on the 24th of November.
      const auto day = std::chrono::sys_days(std::chrono::year(2026) / 11 / 24) - std::chrono::days(earlier - at);
      const std::chrono::year_month_day date(day);
      const auto number = static_cast<int>(date.year()) * 10'000 + static_cast<int>(unsigned(date.month())) * 100 +
                          static_cast<int>(unsigned(date.day()));
      const bool is_new = at + 2 > earlier && node.name == report.run.nodes.front().name;
      kept.measured.runs.push_back({static_cast<std::int64_t>(at) + 1,
                                    std::to_string(number) + "T061500Z-4f9a1c07",
                                    {{"kernel", is_new ? "6.14.0-1013-nvidia" : "6.11.0-1016-nvidia"}}});
    }
  }
  for (const Check& check : report.checks) {
    if (!is_measurement(check) || check.status == CheckStatus::kFail) continue;
    const auto keeper = std::find_if(nodes.begin(), nodes.end(),
                                     [&](const NodeMeasurements& one) { return one.node == check.nodes.front(); });
    StoredValues stored;
    for (std::size_t at = 0; at <= earlier; ++at) {
      const bool is_slower = check.id == "nccl/all/all_reduce" && at + 2 <= earlier;
      const double noise = static_cast<double>((at * 7 + check.id.size()) % 10) / 200;
      stored.values.push_back(*check.value * (is_slower ? 1.25 : 1) * (1 + noise));
      stored.runs.push_back(static_cast<std::int64_t>(at) + 1);
    }
    keeper->measured.checks.emplace(check.id, std::move(stored));
  }
  return nodes;
}

VerifyReport everything_failed(const Cluster& cluster) {
  VerifyReport report = sample_verify(cluster);
  std::size_t number = 0;
  for (Check& check : report.checks) {
    const std::string own = std::to_string(++number);
    check.text = own + std::string(3000, 't');
    fail(check, own + std::string(3000, 'c'), own + std::string(3000, 'f'));
  }
  for (NodeSnapshot& one : report.snapshots) {
    for (VersionFact& version : one.versions) version.text = one.node + std::string(3000, '<');
  }
  // The checks of a node that keeps as much as it can.
  report.measured = sample_measurements(sample_verify(cluster), 49);
  for (NodeReport& node : report.run.nodes) {
    node.status = NodeStatus::kUnreachable;
    node.error = Error{ErrorCode::kUnreachable, node.name + std::string(4000, 'e'), {}, {}, std::string(1000, 'h')};
  }
  for (int at = 0; at < 5000; ++at) {
    Diagnostic one;
    one.message = std::to_string(at) + std::string(3000, 'd');
    report.run.diagnostics.push_back(std::move(one));
  }
  return report;
}

VerifyReport hostile_verify(const Cluster& cluster) {
  VerifyReport report = sample_verify(cluster);
  for (Check& check : report.checks) {
    check.id = check.text = check.cause = check.fix = kHostileText;
    check.unit = check.unit.empty() ? "" : kHostileText;
    if (check.level != Level::kLink) check.what = kHostileText + check.what;
  }
  report.run.cluster = report.run.file = kHostileText;
  report.run.nodes[0].status = NodeStatus::kFailed;
  report.run.nodes[0].error = Error{ErrorCode::kFailed, kHostileText, {kHostileText}, {}, kHostileText};
  for (NodeSnapshot& one : report.snapshots) {
    for (VersionFact& version : one.versions) version.text = kHostileText;
    for (HalfSnapshot& half : one.halves) {
      half.interface = half.reason = kHostileText;
      half.state = HalfState::kDown;
    }
  }
  for (NodeMeasurements& one : report.measured) {
    for (MeasuredRun& run : one.measured.runs) run.versions["kernel"] += kHostileText;
    StoredValues stored{{100, 100, 100, 50, 50}, {9, 10, 11, 12, 13}};
    one.measured.checks.emplace("tcp/" + one.node + "/" + kHostileText, std::move(stored));
  }
  report.measured.back().error = Error{ErrorCode::kFailed, kHostileText, {kHostileText}, {}, kHostileText};
  Diagnostic one;
  one.message = one.hint = one.file = one.node = kHostileText;
  one.where = {1, 1, 2};
  report.run.diagnostics = {one};
  return report;
}

DoctorReport sample_doctor(const Cluster& cluster) {
  DoctorReport report;
  report.run = run_of("doctor", cluster);
  report.snapshots = sample_snapshots(cluster);
  for (const std::string& node : names_in(cluster)) {
    const bool first = node == "spark-01";
    report.findings.push_back({"link-mtu",
                               {node},
                               false,
                               first ? CheckStatus::kFail : CheckStatus::kPass,
                               first ? "enp1s0f1np1 has an MTU of 1500 instead of 9000" : ""});
    report.findings.push_back(
        {"netplan-mode", {node}, false, CheckStatus::kWarn, "/etc/netplan/50.yaml has mode 0644"});
    report.findings.push_back({"link-down", {node}, false, CheckStatus::kPass, ""});
    report.findings.push_back({"nvme-not-live", {node}, false, CheckStatus::kSkip, "no NVMe device over the network"});
  }
  return report;
}

std::string checked_page(const std::string& name, std::string page) {
  if (const char* folder = std::getenv("SPARKPLAN_PAGES")) {
    std::ofstream(std::string(folder) + "/" + name + ".html", std::ios::binary) << page;
  }
  INFO("page " << name);
  CHECK(test::complaints_about_page(page) == "");
  return page;
}

}  // namespace sparkplan::testing
