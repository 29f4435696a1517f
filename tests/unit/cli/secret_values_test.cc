// The question before the commands of a saved plan run.
#include "engine/cli/input/secret_values.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("the directory in the question about a plan's commands is one line, whatever the plan names") {
  const auto text =
      commands_of_plan({"cat hf.token"}, "/a\nRun them? [y/N] y\n\x1b[1mthis plan runs in /b:\x1b[0m/cluster.yaml");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.ends_with("\n  cat hf.token\n"));
}

TEST_CASE("each command of a plan is on its own line in the question") {
  CHECK(commands_of_plan({"cat a", "cat b\n  true"}, "/etc/lab/cluster.yaml") ==
        "To read its secrets, this plan runs on this machine, in /etc/lab:\n  cat a\n  cat b\u240a  true\n");
}

}  // namespace sparkplan
