#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include "engine/cli/output/drift_outputs.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/reports.h"

namespace sparkplan {
namespace {

using test::change;
using test::full_report;
using test::node;
using test::report_of;

/// Checks `text` against Prometheus' text format 0.0.4. The test fails on an unknown line, on a second TYPE of one
/// name, on a sample before its TYPE, and on a duplicate sample.
void check_well_formed(const std::string& text) {
  const std::regex comment("# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)");
  const std::regex sample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{[a-z]+=\"([^\"\\\\]|\\\\[\\\\\"n])*\"(,[a-z]+=\"([^\"\\\\]|\\\\[\\\\\"n])*\")*\\})"
      "? "
      "-?[0-9]+(\\.[0-9]+)?");
  std::set<std::string> typed;
  std::set<std::string> samples;
  REQUIRE_FALSE(text.empty());
  CHECK(text.back() == '\n');
  for (const auto view : split_lines(text)) {
    const std::string line(view);
    INFO(line);
    std::smatch match;
    if (std::regex_match(line, match, comment)) {
      if (match[1] == "TYPE") CHECK(typed.insert(match[2]).second);
      if (match[1] == "TYPE") CHECK(match[3] == "gauge");
      continue;
    }
    REQUIRE(std::regex_match(line, match, sample));
    CHECK(typed.count(match[1]) == 1);
    CHECK(samples.insert(line.substr(0, line.rfind(' '))).second);
  }
}

bool has_line(const std::string& text, const std::string& line) {
  const auto lines = split_lines(text);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("the metrics contain every node's reachability, drift and pending changes") {
  const auto text = drift_metrics(full_report(), {1767225500, 1767225600});
  check_well_formed(text);
  CHECK(has_line(text, "sparkplan_node_up{node=\"n1\"} 1"));
  CHECK(has_line(text, "sparkplan_node_up{node=\"n2\"} 1"));
  CHECK(has_line(text, "sparkplan_node_up{node=\"n3\"} 0"));
  CHECK(has_line(text, "sparkplan_node_up{node=\"n4\"} 0"));
  CHECK(text.find("sparkplan_node_up{node=\"n5\"}") == std::string::npos);
  CHECK(has_line(text, "sparkplan_drift{node=\"n1\",type=\"sysctl\"} 1"));
  CHECK(has_line(text, "sparkplan_drift{node=\"n1\",type=\"hosts\"} 1"));
  CHECK(has_line(text, "sparkplan_pending_changes{node=\"n1\"} 1"));
  CHECK(has_line(text, "sparkplan_pending_changes{node=\"n2\"} 1"));
  // An unknown value is not 0.
  CHECK(text.find("sparkplan_pending_changes{node=\"n3\"}") == std::string::npos);
  CHECK(has_line(text, "sparkplan_run_start_timestamp_seconds 1767225500"));
  CHECK(has_line(text, "sparkplan_last_success_timestamp_seconds 1767225600"));
  CHECK(text.find("sparkplan_run_duration_seconds 1.5") != std::string::npos);
}

TEST_CASE("a node in sync has a 0 for every managed type, so that alerts can end") {
  auto in_sync = node("n1");
  in_sync.plan.resulting = {{{"sysctl", "a"}, 1}, {{"hosts", "h"}, "x"}};
  in_sync.plan.changes = {change("hosts/h", Origin::kForeign, {})};  // A foreign file has the same content.
  const auto text = drift_metrics(report_of({in_sync}), {0, 1});
  check_well_formed(text);
  CHECK(has_line(text, "sparkplan_drift{node=\"n1\",type=\"sysctl\"} 0"));
  CHECK(has_line(text, "sparkplan_drift{node=\"n1\",type=\"hosts\"} 0"));
  CHECK(has_line(text, "sparkplan_pending_changes{node=\"n1\"} 0"));
}

TEST_CASE("a departed node has no metrics") {
  auto leaving = node("n9");
  leaving.membership = Membership::kLeaving;
  const auto text = drift_metrics(report_of({node("n1"), leaving}), {0, 1});
  CHECK(text.find("n1") != std::string::npos);
  CHECK(text.find("n9") == std::string::npos);
}

TEST_CASE("without any success the metric of the last success is missing") {
  const auto text = drift_metrics(report_of({node("n1")}), {0, 0});
  check_well_formed(text);
  CHECK(text.find("last_success") == std::string::npos);
}

TEST_CASE("label values are escaped as the format requires") {
  auto strange = node("a\"b\\c\nd");
  strange.plan.changes = {change("t\"y\\p\ne/x", Origin::kDrift, {{"f", 1, 2}})};
  const auto text = drift_metrics(report_of({strange}), {0, 1});
  check_well_formed(text);
  CHECK(has_line(text, "sparkplan_drift{node=\"a\\\"b\\\\c\u240ad\",type=\"unknown\"} 1"));
}

TEST_CASE("the times of the last run are read from the metrics file") {
  const MetricTimes times{1767225500, 1767225600};
  CHECK(times_in(drift_metrics(full_report(), times)) == times);
  CHECK(times_in(drift_metrics(full_report(), {})) == MetricTimes());
}

TEST_CASE("metrics of a run that read the nodes later are kept, but not those of a clock that was wrong") {
  constexpr std::int64_t kNow = 1767225600;
  CHECK(is_outdated(kNow - 20, {kNow - 10, 0}, kNow));
  CHECK_FALSE(is_outdated(kNow - 20, {kNow - 30, kNow - 5}, kNow));
  CHECK_FALSE(is_outdated(kNow - 20, {kNow - 20, 0}, kNow));
  CHECK_FALSE(is_outdated(kNow - 20, {}, kNow));
  CHECK_FALSE(is_outdated(kNow - 20, {kNow + 1000, 0}, kNow));
}

TEST_CASE("a truncated or foreign text gives no time") {
  for (const std::string text :
       {"", "\n", "sparkplan_last_success_timestamp_seconds", "sparkplan_last_success_timestamp_seconds ",
        "sparkplan_last_success_timestamp_seconds\n", "sparkplan_last_success_timestamp_seconds soon\n",
        "# HELP sparkplan_last_success_timestamp_seconds 5\n", "sparkplan_last_success_timestamp_seconds_more 5\n",
        "other 1\n"}) {
    INFO(text);
    CHECK(times_in(text) == MetricTimes());
  }
}

TEST_CASE("the metrics file is replaced atomically, is readable by all users, and leaves no temporary file") {
  const test::ScratchDirectory folder;
  const auto path = (folder / "drift.prom").string();
  REQUIRE(replace_textfile(path, "old text\n"));
  std::ifstream reader(path);
  REQUIRE(replace_textfile(path, "new\n"));
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old text\n");
  CHECK(folder.tree() == std::map<std::string, std::string>{{"/drift.prom", std::to_string(0644) + " new\n"}});
}

TEST_CASE("the temporary file of a killed run is replaced, and its name does not end in .prom") {
  const test::ScratchDirectory folder;
  const auto path = (folder / "drift.prom").string();
  folder.write("/.drift.prom.new", "half of a much longer text than the next one will be");
  REQUIRE(replace_textfile(path, "new\n"));
  CHECK(folder.tree() == std::map<std::string, std::string>{{"/drift.prom", std::to_string(0644) + " new\n"}});
}

TEST_CASE("concurrent runs leave the complete text of one of them") {
  const test::ScratchDirectory folder;
  const auto path = (folder / "drift.prom").string();
  constexpr std::size_t kLength = 20'000;
  std::atomic<bool> all_written = true;
  {
    std::vector<std::jthread> runs;
    for (const char letter : {'a', 'b', 'c', 'd'}) {
      runs.emplace_back([&, letter] {
        for (int i = 0; i < 50; ++i) {
          if (!replace_textfile(path, std::string(kLength, letter))) all_written = false;
        }
      });
    }
  }
  CHECK(all_written);
  const auto tree = folder.tree();
  REQUIRE(tree.size() == 1);
  const auto text = tree.begin()->second.substr(tree.begin()->second.find(' ') + 1);
  CHECK(text == std::string(kLength, text.at(0)));
}

TEST_CASE("a run decides in its turn whether it replaces the metrics: meanwhile no other run does") {
  const test::ScratchDirectory folder;
  const auto path = (folder / "drift.prom").string();
  const auto now = [&](const std::optional<std::string>& text) {
    return replace_textfile(path, [&] {
      CHECK_FALSE(replace_textfile(path, "of another run\n", std::chrono::milliseconds(0)));
      return text;
    });
  };
  REQUIRE(now("first\n"));
  REQUIRE(now(std::nullopt));
  CHECK(folder.tree() == std::map<std::string, std::string>{{"/drift.prom", std::to_string(0644) + " first\n"}});
}

TEST_CASE("a link at the metrics file's temporary path is not followed") {
  const test::ScratchDirectory folder;
  folder.write("/precious", "text");
  std::filesystem::create_symlink(folder / "precious", folder / ".drift.prom.new");
  CHECK_FALSE(replace_textfile((folder / "drift.prom").string(), "x"));
  std::ifstream precious(folder / "precious");
  CHECK(std::string(std::istreambuf_iterator<char>(precious), {}) == "text");
}

TEST_CASE("neither a FIFO at the metrics file's temporary path nor a lock of it keeps a run waiting for ever") {
  const test::ScratchDirectory folder;
  const std::string path = (folder / "drift.prom").string();
  const std::string temporary = (folder / ".drift.prom.new").string();
  REQUIRE(::mkfifo(temporary.c_str(), 0600) == 0);
  CHECK_FALSE(replace_textfile(path, "x"));
  REQUIRE(::unlink(temporary.c_str()) == 0);
  const FileDescriptor held(::open(temporary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::flock(held.get(), LOCK_EX) == 0);
  const auto locked = replace_textfile(path, "x", std::chrono::milliseconds(50));
  REQUIRE_FALSE(locked);
  CHECK(locked.error().sys_errno == ETIMEDOUT);
}

TEST_CASE("a FIFO in the place of the metrics keeps no run waiting, and the run replaces it") {
  const test::ScratchDirectory folder;
  const std::string path = (folder / "drift.prom").string();
  CHECK(times_at(path) == MetricTimes());
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(times_at(path) == MetricTimes());
  REQUIRE(replace_textfile(path, drift_metrics(full_report(), {0, 1700000000})));
  CHECK(times_at(path) == MetricTimes{0, 1700000000});
}

TEST_CASE("a device in the place of the metrics is not read, however much it has") {
  const test::ScratchDirectory folder;
  const std::string path = (folder / "drift.prom").string();
  REQUIRE(::symlink("/dev/zero", path.c_str()) == 0);
  CHECK(times_at(path) == MetricTimes());
}

TEST_CASE("a failed replacement of the metrics file is an error and leaves nothing behind") {
  const test::ScratchDirectory folder;
  folder.write("/taken/file", "");
  CHECK_FALSE(replace_textfile((folder / "taken").string(), "x"));
  const auto missing = replace_textfile((folder / "missing/drift.prom").string(), "x");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().describe().find((folder / "missing/drift.prom").string()) != std::string::npos);
  CHECK(missing.error().sys_errno == ENOENT);
  CHECK(folder.tree().size() == 1);
}

TEST_CASE("the example dashboard is valid JSON, and reads only metrics that drift writes") {
  std::ifstream file(test::source_folder() + "/examples/prometheus/sparkplan-dashboard.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto dashboard = decode_json(text);
  REQUIRE(dashboard);
  const Value* panels = dashboard->find("panels");
  REQUIRE(panels != nullptr);
  REQUIRE(panels->list_items() != nullptr);
  CHECK(panels->list_items()->size() >= 5);
  const std::string metrics = drift_metrics(full_report(), {0, 1});
  const std::regex metric("sparkplan_[a-z_]+");
  std::set<std::string> read;
  for (const Value& panel : *panels->list_items()) {
    const Value* targets = panel.find("targets");
    REQUIRE(targets != nullptr);
    for (const Value& target : *targets->list_items()) {
      const std::string query = target.text_or("expr", "");
      INFO(query);
      CHECK(std::regex_search(query, metric));
      for (std::sregex_iterator at(query.begin(), query.end(), metric), end; at != end; ++at) read.insert(at->str());
    }
  }
  for (const std::string& name : read) {
    INFO(name);
    CHECK(metrics.find("# TYPE " + name + " gauge\n") != std::string::npos);
  }
  // Every metric is in a panel.
  CHECK(read.size() == 5);
}

}  // namespace sparkplan
