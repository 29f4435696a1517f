// verify --history: the program itself, with a directory as its node.
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

constexpr auto kHistory = "/var/lib/sparkplan/verify/history.jsonl";
constexpr auto kRuns = "/var/lib/sparkplan/verify/runs.jsonl";

/// A node that was applied, and keeps five values of one check.
class MeasuredNode {
 public:
  MeasuredNode() {
    node_.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
    desk_.write("/cluster.yaml",
                "version: 1\nname: lab\nprofile_env: {HF_HOME: /mnt/hf}\nnodes:\n"
                "  - {name: n1, id: 1, transport: local, root: \"" +
                    node_.path().string() + "\"}\n");
    const auto applied = sparkplan({"apply", "--yes", file()});
    INFO(applied.standard_output << applied.standard_error);
    REQUIRE(applied.exit_status == 0);
    node_.write(kHistory, "{\"id\":\"tcp/n1/n2/A\",\"values\":[100,101,99,50,51],\"runs\":[1,2,3,4,5]}\n");
    std::string runs;
    for (int number = 1; number <= 5; ++number) {
      const std::string text = std::to_string(number);
      runs += "{\"number\":" + text + ",\"run\":\"2026030" + text + "T120000Z-4f9a1c07\",\"versions\":{\"kernel\":\"" +
              (number < 4 ? "6.11" : "6.14") + "\"}}\n";
    }
    node_.write(kRuns, runs);
  }

  std::string file() const { return (desk_ / "/cluster.yaml").string(); }
  const ScratchDirectory& node() const { return node_; }
  CapturedOutput history(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"verify", "--history"});
    more.push_back(file());
    return sparkplan(more);
  }

 private:
  ScratchDirectory desk_;
  ScratchDirectory node_;
};

}  // namespace

TEST_CASE("verify --history prints the last runs and what became slower, and changes nothing") {
  const MeasuredNode node;
  const auto before = node.node().tree("/var/lib/sparkplan/lock");
  const auto output = node.history();
  INFO(output.standard_output << output.standard_error);
  CHECK(output.exit_status == 0);
  CHECK(contains(output.standard_output, "tcp Gb/s"));
  CHECK(contains(output.standard_output, "tcp/n1/n2/A  100     50.5  Gb/s"));
  CHECK(contains(output.standard_output, "at that time: kernel 6.11 -> 6.14 on n1"));
  CHECK(output.standard_output.ends_with("History: 5 runs, 1 check, 1 slower, 0 faster on 1 node\n"));
  const auto json = node.history({"--json"});
  CHECK(json.exit_status == 0);
  CHECK(json.standard_output.starts_with("{"));
  CHECK(contains(json.standard_output, "2026-03-04T12:00:00Z"));
  CHECK(node.node().tree("/var/lib/sparkplan/lock") == before);
}

TEST_CASE("verify --history --check prints all values of one check, and corrects a mistyped id") {
  const MeasuredNode node;
  const auto output = node.history({"--check", "tcp/n1/n2/A"});
  INFO(output.standard_output << output.standard_error);
  CHECK(output.exit_status == 0);
  CHECK(output.standard_output.starts_with("tcp/n1/n2/A, kept on n1\n"));
  CHECK(contains(output.standard_output, "101 Gb/s"));
  const auto mistyped = node.history({"--check", "tcp/n1/n2/B"});
  CHECK(mistyped.exit_status == 1);
  CHECK(contains(mistyped.standard_error, "did you mean tcp/n1/n2/A?"));
}

TEST_CASE("verify --history takes no flag of a measurement, and --check needs it") {
  const ScratchDirectory desk;
  const std::string file = (desk / "/cluster.yaml").string();
  desk.write("/cluster.yaml", "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: /nonexistent}\n");
  const auto level = sparkplan({"verify", "--history", "--level", "tcp", file});
  CHECK(level.exit_status == 1);
  CHECK(contains(level.standard_error, "it takes no --level"));
  const auto force = sparkplan({"verify", "--history", "--force", file});
  CHECK(force.exit_status == 1);
  CHECK(contains(force.standard_error, "--force"));
  const auto check = sparkplan({"verify", "--check", "tcp/n1/n2/A", file});
  CHECK(check.exit_status == 1);
  CHECK(contains(check.standard_error, "--check is for --history"));
}

TEST_CASE("verify --force is refused with a level that looks for no jobs on a GPU") {
  const ScratchDirectory desk;
  const std::string file = (desk / "/cluster.yaml").string();
  desk.write("/cluster.yaml", "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: /nonexistent}\n");
  for (const char* level : {"link", "tcp"}) {
    const auto refused = sparkplan({"verify", "--level", level, "--force", file});
    CHECK(refused.exit_status == 1);
    CHECK(contains(refused.standard_error, "--force is for the levels gpu and nccl"));
  }
  for (const char* level : {"gpu", "nccl", "all"}) {
    const auto taken = sparkplan({"verify", "--level", level, "--force", file});
    CHECK_FALSE(contains(taken.standard_error, "--force"));
  }
}

TEST_CASE("a damaged history of measurements is an error of its node") {
  const MeasuredNode node;
  node.node().write(kHistory, "no history\n");
  const auto output = node.history();
  CHECK(output.exit_status == 4);
  CHECK(contains(output.standard_error, "history.jsonl is damaged"));
  CHECK(output.standard_output.ends_with("History: 0 runs, 0 checks, 0 slower, 0 faster on 0 nodes\n"));
}

}  // namespace sparkplan
