// `release` with a name that no node has: the program itself, with a directory as its node.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

/// Applies the file, and releases n2. The words of the release.
std::string words_of_release(const ScratchDirectory& folder, const std::string& file) {
  folder.write("/cluster.yaml", file);
  const std::string path = (folder / "/cluster.yaml").string();
  REQUIRE(sparkplan({"apply", "--yes", path}).exit_status == 0);
  const auto output = sparkplan({"release", "n2", "--yes", "-f", path});
  CHECK(output.exit_status == 0);
  return output.standard_error;
}

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

TEST_CASE("release: of one of two nodes names what to edit with the line of the node") {
  for (const bool direct : {true, false}) {
    ScratchDirectory folder;
    std::string file = "version: 1\nname: lab\nprofile_env: {A: b}\n";
    if (direct) file += "fabric: {topology: direct}\n";
    file += "nodes:\n";
    for (const std::string number : {"1", "2"}) {
      folder.write("/n" + number + "/etc/hostname", "n" + number + "\n");
      file += "  - {name: n" + number + ", transport: local, root: " + (folder / ("/n" + number)).string();
      if (direct) file += ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + number + "/24}]}";
      file += "}\n";
    }
    const std::string said = words_of_release(folder, file);
    INFO(said);
    CHECK(contains(said, "still contains this node"));
    CHECK(contains(said, "Topology direct connects exactly two nodes: when you remove n2 from ") == direct);
    CHECK(contains(said, "also remove `fabric` or add another node.") == direct);
  }
}

TEST_CASE("release: a ring that shrinks to two nodes needs another topology, and one of three nodes keeps its own") {
  for (const int count : {3, 4}) {
    ScratchDirectory folder;
    std::string file = "version: 1\nname: lab\nfabric: {topology: ring}\nnodes:\n";
    for (int number = 1; number <= count; ++number) {
      const std::string name = "n" + std::to_string(number);
      folder.write("/" + name + "/etc/hostname", name + "\n");
      file += "  - {name: " + name + ", transport: local, root: " + (folder / ("/" + name)).string() +
              ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + std::to_string(number) + "/24}]}}\n";
    }
    const std::string said = words_of_release(folder, file);
    INFO(said);
    CHECK(contains(said, "still contains this node"));
    CHECK(contains(said, "Topology ring needs at least three nodes: when you remove n2 from ") == (count == 3));
    CHECK(contains(said, "also write `topology: direct` or `topology: dual-cable`, or add another node.") ==
          (count == 3));
  }
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
