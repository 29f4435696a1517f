#include <regex>
#include <set>

#include "engine/cli/drift_outputs.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/agent_scratch.h"

namespace sparkplan {
namespace {

Change change(const std::string& id, Origin origin, std::vector<FieldChange> fields) {
  Change made;
  made.id = *ResourceId::parse(id);
  made.origin = origin;
  made.fields = std::move(fields);
  return made;
}

NodeReport node(const std::string& name) {
  NodeReport made;
  made.name = name;
  return made;
}

Report report_of(std::vector<NodeReport> nodes) {
  Report report;
  report.command = "drift";
  report.cluster = "lab";
  report.nodes = std::move(nodes);
  report.duration = std::chrono::duration<double>(1.5);
  return report;
}

/// One drifted, one pending, one unreachable, one half-read and one skipped node.
Report full_report() {
  auto drifted = node("n1");
  drifted.plan.changes = {change("sysctl/a", Origin::kDrift, {{"persistent", 1, 2}, {"running", "x", Value()}}),
                          change("hosts/h", Origin::kForeign, {{"address", "10.0.0.1", "10.0.0.2"}}),
                          change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  auto pending = node("n2");
  pending.plan.changes = {change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  auto unreachable = node("n3");
  unreachable.status = NodeStatus::kUnreachable;
  unreachable.error = Error{ErrorCode::kUnreachable, "no route to \"n3\"", {}, {}, ""};
  auto half_read = node("n4");
  half_read.plan.blocked = {{{"sysctl", "c"}, Error{ErrorCode::kPermissionDenied, "read it", {}, {}, ""}, {}}};
  auto skipped = node("n5");
  skipped.status = NodeStatus::kSkipped;
  return report_of({drifted, pending, unreachable, half_read, skipped});
}

/// Fails the test on a line that Prometheus' text format 0.0.4 does not know, on a second TYPE of one
/// name, and on a sample before its TYPE or given twice.
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

TEST_CASE("syslog gets one line for each field of each finding and for what could not be read") {
  CHECK(drift_log_lines(full_report()) ==
        std::vector<std::string>{
            "cluster=lab node=n1 finding=drift resource=\"sysctl/a\" field=\"persistent\" is=\"1\" should_be=\"2\"",
            "cluster=lab node=n1 finding=drift resource=\"sysctl/a\" field=\"running\" is=\"x\" should_be=\"" +
                display(Value()) + "\"",
            "cluster=lab node=n1 finding=foreign resource=\"hosts/h\" field=\"address\" is=\"10.0.0.1\" "
            "should_be=\"10.0.0.2\"",
            "cluster=lab node=n3 finding=unreadable error=\"no route to \\\"n3\\\"\"",
            "cluster=lab node=n4 finding=unreadable resource=\"sysctl/c\" error=\"read it\""});
}

TEST_CASE("a cluster without findings gives syslog nothing") {
  auto pending = node("n1");
  pending.plan.changes = {change("sysctl/b", Origin::kConfig, {{"persistent", Value(), 2}})};
  CHECK(drift_log_lines(report_of({pending, node("n2")})).empty());
}

TEST_CASE("nothing from a node can forge a syslog line or send a terminal anything") {
  auto hostile = node("n1");
  const std::string evil = "x\" is=\"fine\n<0>kernel: panic\r\x1b[2J\\";
  hostile.plan.changes = {change("sysctl/" + evil, Origin::kDrift, {{evil, evil, evil}})};
  hostile.error = Error{ErrorCode::kFailed, evil, {evil}, {}, evil};
  const auto lines = drift_log_lines(report_of({hostile}));
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    INFO(line);
    for (const char c : line) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    CHECK(line.find("x\" is") == std::string::npos);
    CHECK(line.find("x\\\" is") != std::string::npos);
  }
}

TEST_CASE("the metrics say of every node whether it was read, what drifted and what is pending") {
  const auto text = drift_metrics(full_report(), 1767225600);
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
  CHECK(has_line(text, "sparkplan_last_success_timestamp_seconds 1767225600"));
  CHECK(text.find("sparkplan_run_duration_seconds 1.5") != std::string::npos);
}

TEST_CASE("without any success there is no sample of the last one") {
  const auto text = drift_metrics(report_of({node("n1")}), 0);
  check_well_formed(text);
  CHECK(text.find("last_success") == std::string::npos);
}

TEST_CASE("label values are escaped as the format wants") {
  auto strange = node("a\"b\\c\nd");
  strange.plan.changes = {change("t\"y\\p\ne/x", Origin::kDrift, {{"f", 1, 2}})};
  const auto text = drift_metrics(report_of({strange}), 1);
  check_well_formed(text);
  CHECK(has_line(text, "sparkplan_drift{node=\"a\\\"b\\\\c\\nd\",type=\"t\\\"y\\\\p\\ne\"} 1"));
}

TEST_CASE("the last success is found again in what was written") {
  CHECK(last_success_in(drift_metrics(full_report(), 1767225600)) == 1767225600);
  CHECK(last_success_in(drift_metrics(full_report(), 0)) == 0);
}

TEST_CASE("a text that was cut or is somebody else's has no last success") {
  for (const std::string text :
       {"", "\n", "sparkplan_last_success_timestamp_seconds", "sparkplan_last_success_timestamp_seconds ",
        "sparkplan_last_success_timestamp_seconds\n", "sparkplan_last_success_timestamp_seconds soon\n",
        "# HELP sparkplan_last_success_timestamp_seconds 5\n", "sparkplan_last_success_timestamp_seconds_more 5\n",
        "other 1\n"}) {
    INFO(text);
    CHECK(last_success_in(text) == 0);
  }
}

TEST_CASE("the metrics file is replaced as a whole, readable for all, with nothing left beside it") {
  const test::ScratchDirectory folder;
  const auto path = (folder / "drift.prom").string();
  REQUIRE(replace_textfile(path, "old text\n"));
  std::ifstream reader(path);
  REQUIRE(replace_textfile(path, "new\n"));
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old text\n");
  CHECK(folder.tree() == std::map<std::string, std::string>{{"/drift.prom", std::to_string(0644) + " new\n"}});
}

TEST_CASE("a metrics file that cannot be replaced is an error and leaves nothing behind") {
  const test::ScratchDirectory folder;
  folder.write("/taken/file", "");
  CHECK_FALSE(replace_textfile((folder / "taken").string(), "x"));
  CHECK_FALSE(replace_textfile((folder / "missing/drift.prom").string(), "x"));
  CHECK(folder.tree().size() == 1);
}

}  // namespace sparkplan
