// The live lines, at any size of the terminal.
#include "engine/cli/terminal/gathered_events.h"
#include "engine/cli/terminal/progress_lines.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

constexpr ScreenSize kUsual{100, 30};

NodeProgress at_work(const std::string& node, const std::string& doing, milliseconds since = milliseconds(0)) {
  return {node, doing, Activity::kWorking, since};
}

std::vector<NodeProgress> many_nodes(int count) {
  std::vector<NodeProgress> nodes;
  for (int i = 1; i <= count; ++i) {
    auto name = "spark-" + std::string(i < 10 ? "0" : "") + std::to_string(i);
    nodes.push_back({std::move(name), "observed", Activity::kWaiting, seconds(5)});
  }
  return nodes;
}

}  // namespace

TEST_CASE("each node's line shows its activity, and the duration from one second on") {
  const std::vector<NodeProgress> nodes{at_work("spark-01", "applying net.core.rmem_max", milliseconds(3400)),
                                        at_work("n2", "connecting", milliseconds(900)),
                                        at_work("n3", "connecting", seconds(75)),
                                        at_work("n4", "connecting", seconds(3720))};
  CHECK(progress_lines(nodes, kUsual, false) == Lines{"  spark-01  applying net.core.rmem_max            3 s",
                                                      "  n2        connecting",
                                                      "  n3        connecting                            1 min 15 s",
                                                      "  n4        connecting                            1 h 2 min"});
}

TEST_CASE("a failed node is marked, also without colours, and a waiting node has no clock") {
  const std::vector<NodeProgress> nodes{{"n1", "no route to host", Activity::kFailed, seconds(9)},
                                        {"n2", "observed", Activity::kWaiting, seconds(9)}};
  CHECK(progress_lines(nodes, kUsual, false) == Lines{"! n1  no route to host", "  n2  observed"});
  CHECK(progress_lines(nodes, kUsual, true) ==
        Lines{"\033[31m! n1  no route to host\033[0m", "\033[2m  n2  observed\033[0m"});
}

TEST_CASE("every line is narrower than the screen, whatever its width") {
  const std::vector<NodeProgress> nodes{
      at_work("spark-01", "applying /etc/systemd/system/rdma-tune.service", seconds(12)),
      {"spark-02", "the machine has a name in German, \xC3\x84rger", Activity::kFailed, seconds(1)},
      at_work("spark-03", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", seconds(1))};
  for (int columns = 1; columns <= 120; ++columns) {
    INFO(columns);
    for (const bool color : {false, true}) {
      for (const auto& line : progress_lines(nodes, {columns, 30}, color)) {
        INFO(line);
        CHECK(visible_width(line) <= static_cast<std::size_t>(std::max(columns - 1, 1)));
      }
    }
  }
}

TEST_CASE("on a narrow screen the activity is shortened, and a node's name and time stay") {
  const std::vector<NodeProgress> nodes{
      at_work("spark-01", "applying /etc/systemd/system/rdma-tune.service", seconds(12))};
  CHECK(progress_lines(nodes, {40, 30}, false) == Lines{"  spark-01  applying /etc/syst...  12 s"});
  CHECK(progress_lines(nodes, {24, 30}, false) == Lines{"  spark-01  applying..."});
  CHECK(progress_lines(nodes, {11, 30}, false) == Lines{"  spark-01"});
}

TEST_CASE("there are fewer lines than screen rows, and the last line counts all nodes") {
  auto nodes = many_nodes(40);
  nodes[20].activity = Activity::kWorking;
  nodes[30].activity = Activity::kFailed;
  const auto lines = progress_lines(nodes, {100, 6}, false);
  CHECK(lines == Lines{"  spark-01  observed", "  spark-02  observed",
                       "  spark-21  observed                              5 s", "! spark-31  observed",
                       "  40 nodes: 1 at work, 38 waiting, 1 failed"});
  for (int rows = 1; rows <= 60; ++rows) {
    INFO(rows);
    CHECK(progress_lines(nodes, {100, rows}, false).size() == static_cast<std::size_t>(std::clamp(rows - 1, 1, 40)));
  }
}

TEST_CASE("a sign of life names the active nodes and their durations") {
  auto nodes = many_nodes(6);
  CHECK(sign_of_life(nodes) == "still working: 6 waiting");
  nodes[1] = at_work("n2", "connecting", seconds(20));
  nodes[3] = at_work("n4", "observing", seconds(3));
  CHECK(sign_of_life(nodes) == "still working: n2 (connecting, 20 s), n4 (observing, 3 s)");
  for (auto& node : nodes) node.activity = Activity::kWorking;
  CHECK(sign_of_life(nodes) ==
        "still working: spark-01 (observed, 5 s), n2 (connecting, 20 s), spark-03 (observed, 5 s), n4 (observing, 3 s) "
        "and 2 more");
}

TEST_CASE("the width of a line is counted in characters, without bytes and colours") {
  CHECK(visible_width("") == 0);
  CHECK(visible_width("\xC3\xA4") == 1);
  CHECK(visible_width("\033[31mab\033[0m") == 2);
  CHECK(visible_width("\xE6\x97\xA5") == 2);
  CHECK(visible_width("a\xFF") >= 2);
}

TEST_CASE("without live lines, nodes that do the same share a line, and only the newest event of a node is kept") {
  GatheredEvents events;
  const GatheredEvents::Clock::time_point now{seconds(1000)};
  for (const char* node : {"spark-02", "spark-01", "spark-03"}) events.add(node, "connecting", now);
  events.add("spark-01", "facts read", now);
  CHECK(events.take() == Lines{"spark-[02-03]: connecting", "spark-01: facts read"});
  CHECK(events.take().empty());
}

TEST_CASE("without live lines, nodes at more than two different steps share a line without the steps") {
  GatheredEvents events;
  const GatheredEvents::Clock::time_point now{seconds(1000)};
  events.add("spark-01", "applying 14 steps", now);
  events.add("spark-04", "applied", now);
  events.add("spark-02", "applying sysctl/vm.swappiness", now);
  CHECK(events.take() ==
        Lines{"spark-01: applying 14 steps", "spark-04: applied", "spark-02: applying sysctl/vm.swappiness"});
  events.add("spark-03", "applying 14 steps", now);
  events.add("spark-04", "applied", now);
  events.add("spark-01", "applying hosts/spark-01", now);
  events.add("spark-02", "applying sysctl/vm.swappiness", now);
  CHECK(events.take() == Lines{"spark-[01-03]: applying", "spark-04: applied"});
}

TEST_CASE("without live lines, a run of a minute prints its events nine times, first after half a second") {
  GatheredEvents events;
  const GatheredEvents::Clock::time_point begin{seconds(1000)};
  CHECK_FALSE(events.due(begin));
  std::vector<milliseconds> printed;
  for (milliseconds after{0}; after <= seconds(60); after += milliseconds(100)) {
    // The first event after the lines opens the next group.
    events.add("spark-01", "applying step " + std::to_string(after.count()), begin + after);
    if (!events.due(begin + after)) continue;
    CHECK(events.take() == Lines{"spark-01: applying step " + std::to_string(after.count())});
    printed.push_back(after);
  }
  REQUIRE(printed.size() == 9);
  CHECK(printed[0] == milliseconds(500));
  CHECK(printed[1] == milliseconds(1600));
  CHECK(printed[8] - printed[7] == milliseconds(10'100));
}

}  // namespace sparkplan
