// --report and --format: the program itself, with a directory as its node.
#include "engine/cli/output/report_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/page_rules.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

/// A cluster.yaml for a directory used as a node.
class DirectoryNode {
 public:
  DirectoryNode() {
    folder_.write("/node/etc/os-release", "PRETTY_NAME=\"<b>os</b>\"\n");
    folder_.write(
        "/cluster.yaml",
        "version: 1\nname: lab\nsysctl: {vm.swappiness: 10}\nnodes:\n  - {name: n1, transport: local, root: " +
            (folder_ / "/node").string() + "}\n");
  }
  std::string file() const { return (folder_ / "/cluster.yaml").string(); }
  std::string page() const { return (folder_ / "/page.html").string(); }
  std::string written() const { return folder_.read("/page.html"); }
  const ScratchDirectory& folder() const { return folder_; }

 private:
  ScratchDirectory folder_;
};

}  // namespace

TEST_CASE("a path where no report can be written is an error") {
  const ScratchDirectory folder;
  folder.write("/old.html", "old");
  folder.make_directory("/directory");
  CHECK(check_report_path(""));
  CHECK(check_report_path((folder / "new.html").string()));
  CHECK(check_report_path((folder / "old.html").string()));
  CHECK_FALSE(check_report_path((folder / "directory").string()));
  CHECK_FALSE(check_report_path((folder / "missing/new.html").string()));
  CHECK_FALSE(check_report_path("/dev/null"));
  CHECK(write_report((folder / "old.html").string(), "new"));
  CHECK(folder.read("/old.html") == "new");
}

TEST_CASE("a report path that is not writable ends the command before a node is contacted") {
  const ScratchDirectory folder;
  folder.write("/cluster.yaml",
               "version: 1\nname: lab\nssh: {user: x}\nnodes:\n  - {name: never-asked, address: 192.0.2.1}\n");
  const std::string missing = (folder / "missing/page.html").string();
  for (const char* command : {"verify", "doctor", "plan", "tune"}) {
    INFO(command);
    const auto output = sparkplan({command, "--report", missing, (folder / "/cluster.yaml").string()});
    CHECK(output.exit_status == 1);
    CHECK(contains(output.standard_error, missing + ": there is no directory "));
    CHECK(contains(output.standard_error, "hint: create it"));
    CHECK_FALSE(contains(output.standard_error, "never-asked"));
    CHECK(output.standard_output.empty());
  }
}

TEST_CASE("verify refuses to write JUnit to what is no regular file, before it measures") {
  const DirectoryNode node;
  const std::string fifo = (node.folder() / "/fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto output = sparkplan({"verify", "--junit", fifo, node.file()});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, fifo + " is not a regular file"));
  CHECK(output.standard_output.empty());
}

TEST_CASE("verify, doctor and plan write a page beside their output") {
  const DirectoryNode node;
  for (const char* command : {"verify", "doctor", "plan"}) {
    INFO(command);
    const auto without = sparkplan({command, node.file()});
    const auto output = sparkplan({command, "--report", node.page(), node.file()});
    INFO(output.standard_output << output.standard_error);
    CHECK(output.exit_status == without.exit_status);
    const std::string page = node.written();
    CHECK(test::complaints_about_page(page) == "");
    CHECK(contains(page, std::string("<h1>") + command + ": lab</h1>"));
    CHECK(contains(page, "&lt;b&gt;os&lt;/b&gt;"));
    node.folder().remove("/page.html");
  }
}

TEST_CASE("a plan is saved although its page cannot be written") {
  const DirectoryNode node;
  const std::string plan = (node.folder() / "/change.plan").string();
  // The name itself fits into a directory, the one of its draft does not.
  const std::string page = (node.folder() / ("/" + std::string(250, 'p'))).string();
  const auto output = sparkplan({"plan", "-o", plan, "--report", page, node.file()});
  INFO(output.standard_output << output.standard_error);
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "File name too long"));
  CHECK(node.folder().exists("/change.plan"));
}

TEST_CASE("a plan and its page cannot be one file") {
  const DirectoryNode node;
  const std::string folder = node.folder().path().string();
  const auto output = sparkplan({"plan", "-o", folder + "/out", "--report", folder + "/./node/../out", node.file()});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "-o and --report name the same file"));
  CHECK_FALSE(node.folder().exists("/out"));
}

TEST_CASE("the page of verify and its JUnit file cannot be one file") {
  const DirectoryNode node;
  const auto output = sparkplan({"verify", "--junit", node.page(), "--report", node.page(), node.file()});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "--junit and --report name the same file"));
  CHECK_FALSE(node.folder().exists("/page.html"));
}

TEST_CASE("plan prints text, JSON or markdown") {
  const DirectoryNode node;
  const auto text = sparkplan({"plan", "--format", "text", node.file()});
  CHECK(contains(text.standard_output, "Plan: "));
  CHECK(contains(text.standard_output, "+ sysctl"));
  const auto json = sparkplan({"plan", "--format", "json", node.file()});
  CHECK(json.standard_output.starts_with("{"));
  CHECK(sparkplan({"plan", "--json", "--format", "json", node.file()}).standard_output.starts_with("{"));
  const auto markdown = sparkplan({"plan", "--format", "markdown", node.file()});
  CHECK(markdown.standard_output.starts_with("## sparkplan plan: <code>lab</code>\n"));
  CHECK(contains(markdown.standard_output, "<details>"));
  CHECK(sparkplan({"plan", "--json", "--format", "markdown", node.file()}).exit_status == 1);
  const auto wrong = sparkplan({"plan", "--format", "html", node.file()});
  CHECK(wrong.exit_status == 1);
  CHECK(contains(wrong.standard_error, "markdown"));
}

TEST_CASE("a result that cannot be printed is exit 1, and a reader that ends early is not") {
  const DirectoryNode node;
  const auto plan_into = [&](const std::string& where) {
    auto output = run_and_capture(
        std::vector<std::string>{"bash", "-c", "\"$0\" plan --json \"$1\" " + where, SPARKPLAN_BINARY, node.file()});
    REQUIRE(output);
    return *std::move(output);
  };
  const auto full = plan_into("> /dev/full");
  CHECK(full.exit_status == 1);
  CHECK(contains(full.standard_error, "write the result to standard output: No space left on device"));
  const auto closed = plan_into("2>&1 | true; exit ${PIPESTATUS[0]}");
  CHECK(closed.exit_status == 0);
}

}  // namespace sparkplan
