// Which findings of a file each command prints.
#include "engine/cli/input/load_command.h"
#include "engine/core/diagnostic.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a remark about the number of nodes is printed only by the commands that judge a file") {
  const std::vector<Diagnostic> findings{finding(Severity::kWarning, "nodes.not-a-power-of-two", "3 nodes"),
                                         finding(Severity::kWarning, "node.no-effect", "something else")};
  CHECK(findings_to_print("validate", findings) == findings);
  CHECK(findings_to_print("plan", findings) == findings);
  for (const char* command : {"apply", "drift", "verify", "status", "exec", "release"}) {
    INFO(command);
    const auto printed = findings_to_print(command, findings);
    REQUIRE(printed.size() == 1);
    CHECK(printed[0].code == "node.no-effect");
  }
}

}  // namespace sparkplan
