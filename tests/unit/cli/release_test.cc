// `release` with a name that no node has: the program itself, with a directory as its node.
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

}  // namespace

TEST_CASE("release: before the first apply no node can know a name that the file does not have") {
  ScratchDirectory folder;
  folder.make_directory("/node");
  folder.write("/cluster.yaml", "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: " +
                                    (folder / "/node").string() + "}\n");
  const auto output = sparkplan({"release", "ghost", "--yes", "-f", (folder / "/cluster.yaml").string()});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "there is no node ghost"));
}

TEST_CASE("release: of a name that neither the file nor a manifest knows, only the error is printed") {
  ScratchDirectory folder;
  folder.write("/node/etc/hostname", "n1\n");
  folder.write("/cluster.yaml",
               "version: 1\nname: lab\nprofile_env: {A: b}\nnodes:\n  - {name: n1, transport: local, root: " +
                   (folder / "/node").string() + "}\n");
  const std::string file = (folder / "/cluster.yaml").string();
  REQUIRE(sparkplan({"apply", "--yes", file}).exit_status == 0);
  const auto before = folder.tree();
  for (const bool forget : {false, true}) {
    std::vector<std::string> arguments = {"release", "ghost", "--yes", "-f", file};
    if (forget) arguments.emplace_back("--forget");
    const auto output = sparkplan(arguments);
    CHECK(output.exit_status == 1);
    CHECK(output.standard_output.empty());
    CHECK(contains(output.standard_error, "there is no node ghost"));
    CHECK_FALSE(contains(output.standard_error, "in sync"));
    CHECK(folder.tree() == before);
  }
}

}  // namespace sparkplan
