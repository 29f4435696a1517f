// Texts from a node, a file or a foreign plan reach the terminal and other programs as plain text only.
#include <algorithm>

#include "engine/agent/state/node_lock.h"
#include "engine/cli/output/drift_outputs.h"
#include "engine/cli/terminal/screen.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"
#include "engine/plan/saved_plan.h"
#include "engine/report/text/diagnostics_text.h"
#include "tests/support/catch.h"
#include "tests/support/saved_text.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"
#include "tests/unit/cli/reports.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

/// Contains cursor movement by ESC and by the equivalent C1 control, a direction override, hidden text and a line
/// break.
const std::string kEvil = "e\x1b[2J\u009b2J\u202e\u200b\U000e0041\x7f\nsparkplan: all is well";

/// True when a terminal shows every character of the text, in the text's order.
bool is_plain(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const bool may_stand = point.value == U'\n' || point.value == U'\t' || (point.value >= 0x20 && point.value != 0x7F);
    if (!point.valid || !may_stand || is_treacherous(point.value)) return false;
    i += point.length;
  }
  return true;
}

/// A directory used as a node, with hostile texts in its files, and a cluster.yaml for it.
class HostileNode {
 public:
  HostileNode() {
    folder_.write("/node/etc/os-release", "PRETTY_NAME=\"" + std::string("os\x1b[2J\u009b\u202e") + "\"\n");
    folder_.write("/node/etc/hostname", "host\x1b[2J\u009b\u202e\n");
    folder_.write("/node/etc/machine-id", "id\x1b[2J\u009b\u202e\n");
    folder_.write("/node/etc/sysctl.d/99-evil.conf", "vm.swappiness = 1\x1b[2J\u009b\u202e\n");
    folder_.write(
        "/cluster.yaml",
        "version: 1\nname: lab\nsysctl: {vm.swappiness: 10}\nnodes:\n  - {name: n1, transport: local, root: " +
            root().string() + "}\n");
  }

  std::filesystem::path root() const { return folder_ / "/node"; }
  std::string file() const { return (folder_ / "/cluster.yaml").string(); }
  const ScratchDirectory& folder() const { return folder_; }

 private:
  ScratchDirectory folder_;
};

void check_plain(const CapturedOutput& output) {
  INFO(printable(output.standard_output, true) + printable(output.standard_error, true));
  CHECK(is_plain(output.standard_output));
  CHECK(is_plain(output.standard_error));
}

}  // namespace

TEST_CASE("only sparkplan's own colour sequences reach a terminal unescaped") {
  CHECK(without_commands("a\tb\n\033[31mred\033[0m \033[1mbold\033[0m\n") ==
        "a\tb\n\033[31mred\033[0m \033[1mbold\033[0m\n");
  CHECK(without_commands("\033[2J") == "\u241b[2J");
  CHECK(without_commands("\033]0;title\a") == "\u241b]0;title\u2407");
  CHECK(without_commands("\033[8mhidden") == "\u241b[8mhidden");
  CHECK(without_commands("\033\033[31m\033") == "\u241b\033[31m\u241b");
  CHECK(without_commands("\r\u009b2J\u202e\u200d") == "\u240d<U+009B>2J<U+202E><U+200D>");
  CHECK(without_commands("").empty());
}

TEST_CASE("no command prints a control character from a node's files") {
  const HostileNode node;
  const auto textfile = (node.folder() / "/drift.prom").string();
  const auto junit = (node.folder() / "/junit.xml").string();
  const std::vector<std::vector<std::string>> commands{{"validate", node.file()},
                                                       {"validate", "--json", node.file()},
                                                       {"plan", node.file()},
                                                       {"plan", "--json", node.file()},
                                                       {"status", node.file()},
                                                       {"facts", "-f", node.file()},
                                                       {"facts", "--json", "-f", node.file()},
                                                       {"doctor", node.file()},
                                                       {"doctor", "--json", node.file()},
                                                       {"drift", "--textfile", textfile, node.file()},
                                                       {"apply", "--yes", node.file()},
                                                       {"history", "-f", node.file()},
                                                       {"history", "n1", "-f", node.file()},
                                                       {"history", "--json", "n1", "-f", node.file()},
                                                       {"verify", "--junit", junit, node.file()},
                                                       {"-v", "plan", node.file()}};
  for (const auto& command : commands) {
    INFO(join(command, " "));
    check_plain(sparkplan(command));
  }
  CHECK(is_plain(node.folder().read("/drift.prom")));
  CHECK(is_plain(node.folder().read("/junit.xml")));
}

TEST_CASE("a lock's holder is printed on one line, whatever its name") {
  const HostileNode node;
  auto local = LocalNode::open(node.root());
  REQUIRE(local);
  const auto lock = NodeLock::acquire({kEvil, 1, kEvil, kEvil}, *local);
  REQUIRE(lock);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"status", node.file()},
                                                  {"plan", node.file()},
                                                  {"apply", "--yes", node.file()},
                                                  {"unlock", "n1", "--yes", "-f", node.file()}}) {
    INFO(join(command, " "));
    const auto output = sparkplan(command);
    INFO(output.standard_output << output.standard_error);
    check_plain(output);
    CHECK(contains(output.standard_output + output.standard_error, "\u240asparkplan: all is well"));
    CHECK_FALSE(contains(output.standard_output + output.standard_error, "\nsparkplan: all is well"));
  }
}

TEST_CASE("a text in a saved plan cannot start a new output line") {
  SavedPlan plan;
  plan.id = kEvil;
  plan.created = kEvil;
  plan.sparkplan_version = kEvil;
  plan.report.command = "plan";
  plan.report.cluster = "lab";
  plan.report.file = kEvil;
  const ScratchDirectory folder;
  folder.write("/plan", test::saved_text(plan));
  const auto output = sparkplan({"show", (folder / "/plan").string()});
  check_plain(output);
  CHECK_FALSE(contains(output.standard_output + output.standard_error, "\nsparkplan: all is well"));
}

TEST_CASE("invalid command-line words are printed as plain text") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{kEvil},
                                                  {"plan", "--" + kEvil},
                                                  {"plan", kEvil},
                                                  {"export", "--format", kEvil},
                                                  {"--log-file", "/dev/null/" + kEvil, "types"},
                                                  {"trust", kEvil},
                                                  {"init", kEvil}}) {
    const auto output = sparkplan(command);
    CHECK(output.exit_status != 0);
    check_plain(output);
  }
}

TEST_CASE("a metric's label is plain, and types that a manifest invents are one series") {
  auto one = test::node("n1");
  one.plan.changes = {test::change("t\x1b\xff\"\\\nx/name", Origin::kDrift, {{"f", 1, 2}})};
  for (int i = 0; i < 1000; ++i) one.plan.resulting.emplace(ResourceId{"type-" + std::to_string(i), "a"}, Value(1));
  const auto text = drift_metrics(test::report_of({one}), {});
  CHECK(is_plain(text));
  CHECK(contains(text, "sparkplan_drift{node=\"n1\",type=\"unknown\"} 1\n"));
  CHECK(text.size() < 2000);
}

TEST_CASE("a node with thousands of findings does not fill the log, and the other nodes' findings follow") {
  auto flood = test::node("n1");
  for (int i = 0; i < 5000; ++i) {
    flood.plan.changes.push_back(test::change("sysctl/a" + std::to_string(i), Origin::kDrift, {{"running", 1, 2}}));
  }
  auto other = test::node("n2");
  other.plan.changes = {test::change("sysctl/b", Origin::kDrift, {{"running", 1, 2}})};
  const auto messages = drift_messages(test::report_of({flood, other}), Cluster());
  REQUIRE(messages.size() == 202);
  CHECK(messages[200].id == "more");
  CHECK(messages[200].text == "n1: 4800 more findings: `sparkplan drift` lists them");
  CHECK(messages[201].text.starts_with("n2: "));
}

TEST_CASE("the first fifty findings of each severity are printed, independent of their order") {
  std::vector<Diagnostic> findings;
  for (int i = 0; i < 70; ++i) findings.push_back({Severity::kWarning, "w", "weak", "", "f", {1, 1, 2}, {}, ""});
  for (int i = 0; i < 1051; ++i) findings.push_back({Severity::kError, "e", "bad", "", "f", {1, 1, 2}, {}, ""});
  const auto text = diagnostics_text(findings, "x\n", {});
  const auto count = [&](std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  CHECK(count("warning: weak") == 50);
  CHECK(count("error: bad") == 50);
  CHECK(text.ends_with("and 1001 more errors and 20 more warnings\n  hint: use --json to list all\n"));
  TextStyle quiet;
  quiet.quiet = true;
  CHECK_FALSE(contains(diagnostics_text(findings, "x\n", quiet), "warning"));
  findings.resize(51);
  CHECK(contains(diagnostics_text(findings, "", {}), "and 1 more warning\n"));
  findings.resize(50);
  CHECK_FALSE(contains(diagnostics_text(findings, "", {}), "more"));
  CHECK(diagnostics_text({}, "x\n", {}).empty());
}

}  // namespace sparkplan
