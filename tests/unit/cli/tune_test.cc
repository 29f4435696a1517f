// The flags of tune: what is wrong is refused before a node is contacted.
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan::test {
namespace {

/// A file with a node that no machine has: a run that contacts it fails with 4.
class TuneDesk {
 public:
  TuneDesk() {
    folder_.write("/cluster.yaml",
                  "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: /nonexistent}\n");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  CapturedOutput tune(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), "tune");
    flags.push_back(path("/cluster.yaml"));
    return sparkplan(flags);
  }
  std::string file() const { return folder_.read("/cluster.yaml"); }

 private:
  ScratchDirectory folder_;
};

}  // namespace

TEST_CASE("tune: a budget without time for one pair is exit 3 before a node is contacted") {
  const TuneDesk desk;
  for (const char* budget : {"0s", "1s", "29999ms"}) {
    INFO(budget);
    const auto output = desk.tune({"--budget", budget});
    CHECK(output.exit_status == 3);
    CHECK(contains(output.standard_error, "has no time for one pair of runs"));
    CHECK_FALSE(contains(output.standard_error, "n1"));
    CHECK(output.standard_output.empty());
  }
  CHECK(desk.tune({"--budget", "many"}).exit_status == 1);
}

TEST_CASE("tune: the fragment does not take the place of the cluster's own file, and needs a directory") {
  const TuneDesk desk;
  const std::string before = desk.file();
  const auto same = desk.tune({"-o", desk.path("/cluster.yaml")});
  CHECK(same.exit_status == 1);
  CHECK(contains(same.standard_error, "which describes the cluster"));
  CHECK(desk.file() == before);
  const auto missing = desk.tune({"-o", desk.path("/missing/nccl.yaml")});
  CHECK(missing.exit_status == 1);
  CHECK(contains(missing.standard_error, "/missing/nccl.yaml"));
}

TEST_CASE("tune: valid flags lead to the nodes, and a node that is missing ends the run") {
  const TuneDesk desk;
  const auto output = desk.tune({"--budget", "30s", "--force", "--json"});
  CHECK(output.exit_status == 4);
  CHECK(contains(output.standard_output, "\"command\": \"tune\""));
  CHECK(contains(output.standard_output, "\"proposed\": {}"));
}

}  // namespace sparkplan::test
