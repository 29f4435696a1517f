// The flags of verify for the NCCL test: what is wrong is refused before a node is contacted.
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan::test {
namespace {

/// Runs verify for a node that exists nowhere: whatever contacts it fails with 4.
CapturedOutput verify(std::vector<std::string> flags) {
  const ScratchDirectory desk;
  desk.write("/cluster.yaml", "version: 1\nname: lab\nnodes:\n  - {name: n1, transport: local, root: /nonexistent}\n");
  flags.insert(flags.begin(), "verify");
  flags.push_back((desk / "/cluster.yaml").string());
  return sparkplan(flags);
}

}  // namespace

TEST_CASE("sizes, collectives, ranks and a library that are none are exit 3, with a hint") {
  struct Row {
    std::vector<std::string> flags;
    std::string words;
  };
  for (const auto& row : std::vector<Row>{{{"--sizes", "8B:many"}, "\"many\" is no size"},
                                          {{"--sizes", "8GiB:8B"}, "begins with the larger size"},
                                          {{"--sizes", ""}, "is no range of sizes"},
                                          {{"--collectives", "all_reduce,bcast"}, "there is no collective \"bcast\""},
                                          {{"--collectives", "allreduce"}, "did you mean all_reduce?"},
                                          {{"--ranks-per-node", "many"}, "is no number of ranks per node"},
                                          {{"--library", "libnccl.so.2"}, "takes an absolute path"},
                                          {{"--image", "a b"}, "\"a b\" is no name of an image"},
                                          {{"--image", ""}, "is no name of an image"}}) {
    INFO(row.flags[0] << " " << row.flags[1]);
    const auto output = verify(row.flags);
    CHECK(output.exit_status == 3);
    CHECK(contains(output.standard_error, row.words));
    CHECK(output.standard_output.empty());
  }
}

TEST_CASE("flags of the NCCL test are refused where the level nccl does not run") {
  const auto level = verify({"--level", "tcp", "--sizes", "8B:8GiB:2"});
  CHECK(level.exit_status == 1);
  CHECK(contains(level.standard_error, "are for the level nccl"));
  const auto image = verify({"--level", "tcp", "--image", "vllm:1"});
  CHECK(image.exit_status == 1);
  CHECK(contains(image.standard_error, "are for the level nccl"));
  for (const std::string flag : {"--collectives", "--image"}) {
    const auto history = verify({"--history", flag, "all"});
    CHECK(history.exit_status == 1);
    CHECK(contains(history.standard_error, "--history measures nothing"));
  }
}

TEST_CASE("a library of the nodes and an image exclude each other") {
  const auto both = verify({"--library", "/opt/libnccl.so.2", "--image", "vllm:1"});
  CHECK(both.exit_status == 1);
  CHECK(contains(both.standard_error, "--library and --image exclude each other"));
}

TEST_CASE("valid flags of the NCCL test lead to the nodes") {
  CHECK(verify({"--level", "nccl", "--sizes", "8B:8GiB:2", "--collectives", "all", "--ranks-per-node", "gpus",
                "--library", "/opt/libnccl.so.2"})
            .exit_status != 3);
}

}  // namespace sparkplan::test
