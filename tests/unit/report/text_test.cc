#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/report/report.h"
#include "tests/support/catch.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::sample_change;
using testing::sample_node;
using testing::sample_report;
using testing::sample_reports;

/// SPARKPLAN_ACCEPT=1 writes the current text; read it before you commit it.
void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SPARKPLAN_SOURCE_DIR) + "/tests/unit/report/goldens/" + name + ".txt";
  if (std::getenv("SPARKPLAN_ACCEPT") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ostringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  INFO(path);
  CHECK(text == golden.str());
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string last_line(const std::string& text) {
  const auto end = text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? text : text.substr(end + 1);
}

TEST_CASE("every sample reads as accepted") {
  for (const auto& [name, report] : sample_reports()) check_golden(name, to_text(report, {}));
}

TEST_CASE("colour adds to the text and changes none of it") {
  TextStyle style;
  style.color = true;
  for (const auto& [name, report] : sample_reports()) {
    std::string plain;
    const std::string coloured = to_text(report, style);
    for (std::size_t i = 0; i < coloured.size(); ++i) {
      if (coloured[i] == '\x1b')
        i = coloured.find('m', i);
      else
        plain += coloured[i];
    }
    CHECK(plain == to_text(report, {}));
    if (name == "plan-example") check_golden("plan-example-colour", coloured);
  }
}

TEST_CASE("no sample lets a control character through") {
  for (const auto& [name, report] : sample_reports()) {
    for (const char byte : to_text(report, {})) {
      const auto code = static_cast<unsigned char>(byte);
      REQUIRE((code >= 0x20 || byte == '\n' || byte == '\t'));
      REQUIRE(code != 0x7f);
    }
  }
}

TEST_CASE("no line ends in blanks") {
  for (const auto& [name, report] : sample_reports()) {
    INFO(name);
    CHECK_FALSE(has(to_text(report, {}), " \n"));
  }
}

TEST_CASE("quiet leaves out what needs no attention, never the last line") {
  TextStyle style;
  style.quiet = true;
  for (const auto& [name, report] : sample_reports()) {
    const std::string text = to_text(report, style);
    CHECK_FALSE(has(text, "in sync\n"));
    CHECK_FALSE(has(text, "note:"));
    CHECK(last_line(text) == last_line(to_text(report, {})));
  }
}

TEST_CASE("somebody else's setting that does no harm stands below a node in sync, unless quiet is asked for") {
  NodeReport node = sample_node(1);
  node.plan.changes = {sample_change("limits/*:memlock", Action::kUpdate, {}, Origin::kForeign)};
  node.plan.changes[0].note = "/etc/security/limits.conf says it more than once";
  const Report report = sample_report("drift", {node, sample_node(2)});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "= spark-01 in sync\n  ! limits  *:memlock\n"));
  CHECK(has(text, "/etc/security/limits.conf says it more than once"));
  CHECK(has(text, "= spark-02 in sync\n"));
  CHECK_FALSE(has(text, "Foreign"));
  TextStyle quiet;
  quiet.quiet = true;
  CHECK(to_text(report, quiet) == last_line(text));
}

TEST_CASE("nodes in sync can be left out") {
  TextStyle style;
  style.show_in_sync = false;
  CHECK_FALSE(has(to_text(sample_reports()[0].second, style), "in sync"));
}

TEST_CASE("more than three addresses are folded like names") {
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= 4; ++number) {
    nodes.push_back(sample_node(number, NodeStatus::kPending));
    nodes.back().plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})};
  }
  CHECK(has(to_text(sample_report("plan", nodes), {}), "~ spark-[01-04] (10.0.0.[11-14])\n"));
}

TEST_CASE("nodes that differ in any value are never shown as one") {
  std::vector<NodeReport> nodes = {sample_node(1, NodeStatus::kPending), sample_node(2, NodeStatus::kPending)};
  nodes[0].plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})};
  nodes[1].plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 3}})};
  const std::string text = to_text(sample_report("plan", nodes), {});
  CHECK(has(text, "~ spark-01 (10.0.0.11)\n"));
  CHECK(has(text, "~ spark-02 (10.0.0.12)\n"));
}

TEST_CASE("fields with one common value are one line, with the names of those that differ") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("x/y", Action::kUpdate, {{"running", 60, 10}})};
  node.plan.after_steps[{"x", "y"}] = Value::map({{"running", 10}, {"persistent", 10}});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  ~ x  y  60 -> 10  [running]\n"));
  node.plan.after_steps[{"x", "y"}] = Value::map({{"running", 10}, {"other", 7}});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  ~ x  y\n      running  60 -> 10\n"));
}

TEST_CASE("fields with one value to be but two values now are told one by one") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("x/y", Action::kUpdate, {{"persistent", 40, 10}, {"running", 60, 10}})};
  CHECK(has(to_text(sample_report("plan", {node}), {}),
            "  ~ x  y\n      persistent  40 -> 10\n      running     60 -> 10\n"));
}

TEST_CASE("lists are told by what comes and goes, and in full when only the order differs") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("x/y", Action::kUpdate, {{"v", Value::list({"a", "b"}), Value::list({"b", "c"})}})};
  CHECK(has(to_text(sample_report("plan", {node}), {}), "y  + c, - a\n"));
  node.plan.changes[0].fields[0].after = Value::list({"b", "a"});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "y  [a, b] -> [b, a]\n"));
}

TEST_CASE("the summary of each command") {
  NodeReport node = sample_node(1, NodeStatus::kDrifted);
  node.plan.changes = {sample_change("x/a", Action::kUpdate, {{"v", 1, 2}}, Origin::kDrift),
                       sample_change("x/b", Action::kCreate, {{"v", 1, 2}}),
                       sample_change("x/c", Action::kRemove, {{"v", 1, Value()}})};
  const auto summary = [&](const std::string& command) {
    return last_line(to_text(sample_report(command, {node, sample_node(2)}), {}));
  };
  CHECK(summary("plan") ==
        "Plan: 1 to add, 1 to change, 1 to remove on 1 of 2 nodes. Drift: 1 change on 1 node. 0.12 s\n");
  CHECK(summary("drift") == "Drift: 1 change on 1 of 2 nodes. Pending: 2 changes on 1 node. 0.12 s\n");
  for (const Change& change : node.plan.changes) node.outcomes[change.id] = Outcome::kDone;
  CHECK(summary("apply") == "Applied: 1 added, 1 changed, 1 removed on 1 of 2 nodes. 0.12 s\n");
  node = sample_node(1);
  CHECK(summary("plan") == "Plan: nothing to do on 2 nodes. Drift: none. 0.12 s\n");
  CHECK(summary("drift") == "Drift: none on 2 nodes. Pending: none. 0.12 s\n");
  CHECK(summary("apply") == "Applied: nothing to do on 2 nodes. 0.12 s\n");
  node = sample_node(1, NodeStatus::kUnreachable);
  CHECK(summary("drift") == "Drift: none on 1 of 2 nodes. Pending: none. 1 node unreachable. 0.12 s\n");
}

}  // namespace
}  // namespace sparkplan
