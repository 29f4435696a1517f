// Progress of a running command: live lines in a real terminal, plain lines elsewhere.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/tmux.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\n";

/// A node that hangs: the host's sshd accepts connections and sends nothing until `let_go`.
class HangingSshd {
 public:
  explicit HangingSshd(const Host& host) : host_(host) { host_.shell("kill -STOP $(cat /run/sshd.pid)"); }
  HangingSshd(const HangingSshd&) = delete;
  HangingSshd& operator=(const HangingSshd&) = delete;
  ~HangingSshd() { let_go(); }
  void let_go() const { host_.shell("kill -CONT $(cat /run/sshd.pid)"); }

 private:
  const Host& host_;
};

auto lines_with(const std::string& text, std::string_view part) {
  const auto lines = lines_of(text);
  return std::count_if(lines.begin(), lines.end(), [&](std::string_view line) { return contains(line, part); });
}

/// Fails the case if a live line remains on the screen.
void check_no_leftovers(const std::string& text) {
  INFO(text);
  for (const auto* part : {"connecting", "observ", "facts read", "applying", "applied ", "checking", "waiting"}) {
    CHECK_FALSE(contains(text, part));
  }
}

TEST_CASE("progress: a terminal shows one live line per node, with a clock, and none afterwards") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  const HangingSshd hanging(second);
  const Tmux terminal(controller.command({"plan", "--timeout", "60s"}), 100, 30);
  REQUIRE(terminal.shows("2 s"));
  const auto meanwhile = terminal.everything();
  INFO(meanwhile);
  CHECK(lines_of(meanwhile).size() == 2);
  CHECK(lines_of(meanwhile).at(0) == "  spark-01  facts read");
  CHECK(lines_of(meanwhile).at(1).starts_with("  spark-02  connecting     "));
  hanging.let_go();
  CHECK(terminal.finish() == 0);
  const auto end = terminal.everything();
  check_no_leftovers(end);
  CHECK(end.starts_with("+ spark-[01-02] (10.77.0.1, 10.77.0.2) joining the cluster\n"));
  CHECK(lines_with(end, "Plan: 2 to add") == 1);
}

TEST_CASE("progress: a unit that takes long to start is shown on its node's line") {
  const Host host(1);
  const Controller controller;
  controller.cluster(
      "units:\n  - {name: lab-slow.service, state: started, content: \"[Service]\\nType=oneshot\\n"
      "RemainAfterExit=yes\\nExecStart=/bin/sleep 3\\n\"}\n" +
      nodes_of_lab(1));
  {
    const Tmux terminal(controller.command({"apply", "--yes"}), 100, 30);
    CHECK(terminal.shows("  spark-01  applying systemd_unit/lab-slow.service"));
    CHECK(terminal.shows("1 s"));
    CHECK(terminal.finish() == 0);
    check_no_leftovers(terminal.everything());
  }
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

TEST_CASE("progress: lines fit a narrow terminal, also after its size changes") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  const HangingSshd hanging(second);
  const Tmux terminal(controller.command({"plan", "--timeout", "60s"}), 20, 30);
  REQUIRE(terminal.shows("spark-02  conn..."));
  terminal.resize(100, 30);
  REQUIRE(terminal.shows("spark-02  connecting  "));
  CHECK(lines_of(terminal.everything()).size() == 2);
  hanging.let_go();
  CHECK(terminal.finish() == 0);
  check_no_leftovers(terminal.everything());
  CHECK(terminal.everything().starts_with("+ spark-[01-02]"));
}

TEST_CASE("progress: lines fit a terminal that has become narrow") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const HangingSshd hanging(host);
  const Tmux terminal(controller.command({"plan", "--timeout", "60s"}), 100, 30);
  REQUIRE(terminal.shows("spark-01  connecting"));
  // Tmux wraps the lines some time before it notifies the program. A line drawn in between sometimes remains on the
  // screen; cli_screen_test.cc tests the arithmetic.
  terminal.resize(20, 30);
  CHECK(terminal.shows("spark-01  conn..."));
}

TEST_CASE("progress: with more nodes than rows, the terminal shows the active nodes and a count") {
  std::vector<Host> hosts;
  for (int i = 1; i <= 6; ++i) hosts.emplace_back(i);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(6));
  const HangingSshd hanging(hosts.back());
  const Tmux terminal(controller.command({"plan", "--timeout", "60s"}), 80, 4);
  REQUIRE(terminal.shows("6 nodes: 1 at work, 5 waiting"));
  CHECK(terminal.shows("  spark-06  connecting"));
  const auto meanwhile = terminal.everything();
  INFO(meanwhile);
  CHECK(lines_with(meanwhile, " at work") == 1);
  CHECK(lines_with(meanwhile, "connecting") == 1);
  CHECK(lines_with(meanwhile, "  spark-") == 2);
  hanging.let_go();
  CHECK(terminal.finish() == 0);
  check_no_leftovers(terminal.everything());
}

TEST_CASE("progress: the question of apply is printed without live lines, and the result follows the answer") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const Tmux terminal(controller.command({"apply"}), 100, 30);
  REQUIRE(terminal.shows("Apply these changes? [y/N]"));
  const auto asked = terminal.everything();
  check_no_leftovers(asked);
  CHECK(asked.ends_with("Apply these changes? [y/N]\n"));
  terminal.type({"y", "Enter"});
  CHECK(terminal.finish() == 0);
  const auto end = terminal.everything();
  check_no_leftovers(end);
  CHECK(contains(end, asked.substr(0, asked.size() - 1)));
  CHECK(lines_with(end, "Applied: 1 added") == 1);
}

TEST_CASE("progress: Ctrl-C prints its answer above the live lines and leaves none of them") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const HangingSshd hanging(host);
  const Tmux terminal(controller.command({"plan", "--timeout", "60s"}), 100, 30);
  REQUIRE(terminal.shows("spark-01  connecting"));
  terminal.type({"C-c"});
  // The connection is given up at once, although the server does not answer.
  REQUIRE(terminal.finish());
  hanging.let_go();
  const auto end = terminal.everything();
  check_no_leftovers(end);
  CHECK(end.starts_with("sparkplan: stopping after the current step"));
}

TEST_CASE("progress: a terminal that cannot move its cursor gets plain lines") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  auto plan = controller.command({"plan"});
  plan.insert(plan.begin(), {"env", "TERM=dumb"});
  const Tmux terminal(plan, 100, 30);
  CHECK(terminal.finish() == 0);
  const auto text = terminal.everything();
  INFO(text);
  CHECK(lines_with(text, "spark-01: checked") == 1);
}

TEST_CASE("progress: with standard output piped, live lines appear on standard error only") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const HangingSshd hanging(host);
  auto plan = controller.command({"plan", "--timeout", "60s"});
  plan.insert(plan.begin(), {"sh", "-c", R"("$@" >"$0")", (controller.directory() / "out").string()});
  const Tmux terminal(plan, 100, 30);
  REQUIRE(terminal.shows("  spark-01  connecting"));
  hanging.let_go();
  CHECK(terminal.finish() == 0);
  CHECK(lines_of(terminal.everything()).empty());
  CHECK(controller.text("out").starts_with("+ spark-01"));
  CHECK_FALSE(contains(controller.text("out"), "\033"));
}

TEST_CASE("progress: with standard error piped, it gets plain lines, and the result keeps its colours") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  auto plan = controller.command({"plan"});
  plan.insert(plan.begin(), {"sh", "-c", R"("$@" 2>"$0")", (controller.directory() / "err").string()});
  const Tmux terminal(plan, 100, 30);
  CHECK(terminal.finish() == 0);
  CHECK(terminal.everything().starts_with("+ spark-01"));
  CHECK(contains(controller.text("err"), "spark-01: checked\n"));
  CHECK_FALSE(contains(controller.text("err"), "\033"));
}

TEST_CASE("progress: without a terminal, the newest events are lines, and a sign of life follows every ten seconds") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  const HangingSshd hanging(second);
  const auto run = controller.run({"plan", "--timeout", "12s"});
  require_exit(run, 4);
  INFO(run.err);
  CHECK(lines_with(run.err, ": connecting") == 1);
  CHECK(lines_with(run.err, "spark-01: facts read") == 1);
  CHECK(lines_with(run.err, "still working: spark-02 (connecting, 10 s)") == 1);
  CHECK_FALSE(contains(run.err, "\033"));
}

TEST_CASE("progress: with -v and without a terminal, each event is printed once") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const auto run = controller.run({"plan", "-v"});
  require_exit(run, 0);
  INFO(run.err);
  CHECK(lines_with(run.err, "spark-01: connecting") == 1);
  CHECK(lines_with(run.err, "spark-01: observed") == 1);
}

}  // namespace
}  // namespace sparkplan::test
