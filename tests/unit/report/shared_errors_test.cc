// Errors that several nodes share, each printed once.
#include "engine/report/text/shared_errors.h"

#include "engine/report/plan/report.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

NodeReport refused_connection(const std::string& number) {
  NodeReport node;
  node.name = "spark-" + number;
  node.address = "10.0.0." + number;
  node.status = NodeStatus::kUnreachable;
  node.error = make_error(ErrorCode::kUnreachable, "connect to " + node.address + " port 22: no answer in time",
                          "is it switched on? try `ping " + node.address + "`");
  return node;
}

Report eight_unreachable() {
  Report report;
  report.command = "plan";
  for (const char* number : {"11", "12", "13", "14", "15", "16", "17", "18"}) {
    report.nodes.push_back(refused_connection(number));
  }
  return report;
}

}  // namespace

TEST_CASE("an error that names each node's own address is printed once, with one address as the example") {
  CHECK(node_errors_text(eight_unreachable(), {}) ==
        "! spark-[11-18] unreachable: connect to 10.0.0.[11-18] port 22: no answer in time\n"
        "    hint: is it switched on? try `ping 10.0.0.11`\n");
}

TEST_CASE("a plan prints such an error once, too") {
  const std::string text = to_text(eight_unreachable(), {});
  INFO(text);
  CHECK(text.starts_with(
      "! spark-[11-18] (10.0.0.[11-18]) unreachable: connect to 10.0.0.[11-18] port 22: no answer in time\n"
      "    hint: is it switched on? try `ping 10.0.0.11`\n"));
}

TEST_CASE("different errors stay apart, and so do hints that name a node: its command is for that node") {
  const auto shared = shared_troubles({{"n1", "10.0.0.1", "the host key is unknown", "run `sparkplan trust n1`"},
                                       {"n2", "10.0.0.2", "the host key is unknown", "run `sparkplan trust n2`"},
                                       {"n3", "10.0.0.3", "no route to 10.0.0.33", ""},
                                       {"n4", "10.0.0.4", "no route to 10.0.0.4", ""}});
  REQUIRE(shared.size() == 4);
  CHECK(shared[0].hint == "run `sparkplan trust n1`");
  CHECK(shared[2].words == "no route to 10.0.0.33");
}

TEST_CASE("an error with a node's name in it has the folded names") {
  const auto shared = shared_troubles({{"n1", "", "n1 has no manifest", ""}, {"n2", "", "n2 has no manifest", ""}});
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(shared[0].words == "n[1-2] has no manifest");
}

}  // namespace sparkplan
