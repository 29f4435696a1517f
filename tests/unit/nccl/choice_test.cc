// The user's choices for the NCCL test, and whether the nodes can run it.
#include "engine/verify/nccl_choice.h"

#include "engine/core/diagnostic.h"
#include "engine/verify/levels/nccl_places.h"
#include "tests/support/catch.h"
#include "tests/unit/nccl/outcomes.h"

namespace sparkplan {
namespace {

using test::kGibibyte;

NcclNode node(const std::string& name, int gpus, std::int64_t memory, bool unified = false) {
  return {name, PreparedRank{22809, "", 13000, "GPU", memory, unified, "", {}, gpus}};
}

}  // namespace

TEST_CASE("a range of sizes has each power of its factor, from the first to the last that fits") {
  const auto sizes = parse_sizes("8B:8GiB:2");
  REQUIRE(sizes);
  CHECK(sizes->size() == 31);
  CHECK(sizes->front() == 8);
  CHECK(sizes->back() == 8 * kGibibyte);
  CHECK(*parse_sizes("1KiB:5KiB") == std::vector<std::int64_t>{1024, 2048, 4096});
  CHECK(*parse_sizes("1000:1000000:10") == std::vector<std::int64_t>{1000, 10'000, 100'000, 1'000'000});
  CHECK(*parse_sizes("1G:1G") == std::vector<std::int64_t>{kGibibyte});
}

TEST_CASE("what is no range of sizes is refused with a hint") {
  for (const std::string text : {"",
                                 "8",
                                 "8B",
                                 ":",
                                 "8B:",
                                 ":8B",
                                 "8B:x",
                                 "-8:8",
                                 "1:8",
                                 "8:4",
                                 "8:16:1",
                                 "8:16:0",
                                 "8:16:-2",
                                 "8:16:2.5",
                                 "8:16:2:2",
                                 "8:16:",
                                 "8:2TiB",
                                 "8:16:2000",
                                 "8:99999999999999999999",
                                 "1.3B:8B",
                                 "8 bytes:16",
                                 "nan:8"}) {
    INFO(text);
    const auto sizes = parse_sizes(text);
    REQUIRE_FALSE(sizes);
    CHECK(sizes.error().code == ErrorCode::kInvalidInput);
    CHECK_FALSE(sizes.error().hint.empty());
  }
}

TEST_CASE("collectives have nccl-tests' names, and a mistyped one is corrected") {
  CHECK(parse_collectives("all")->size() == kCollectives.size());
  CHECK(*parse_collectives("broadcast, all_reduce,broadcast") ==
        std::vector<Collective>{Collective::kBroadcast, Collective::kAllReduce});
  const auto wrong = parse_collectives("all_reduce,allreduce");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "there is no collective \"allreduce\"");
  CHECK(wrong.error().hint.starts_with("did you mean all_reduce? collectives: all_reduce, "));
  CHECK_FALSE(parse_collectives(""));
  CHECK_FALSE(parse_collectives("all_reduce,"));
  CHECK_FALSE(parse_collectives("all,all_reduce"));
}

TEST_CASE("ranks per node are a number, or one per GPU") {
  CHECK(*parse_ranks_per_node("gpus") == 0);
  CHECK(*parse_ranks_per_node("8") == 8);
  for (const char* text : {"", "0", "-1", "65", "2x", "GPUS", "1e3"}) CHECK_FALSE(parse_ranks_per_node(text));
  NcclChoice choice;
  CHECK(ranks_on_node(choice, 8) == 1);
  choice.ranks_per_node = 0;
  CHECK(ranks_on_node(choice, 8) == 8);
  choice.ranks_per_node = 2;
  CHECK(ranks_on_node(choice, 8) == 2);
}

TEST_CASE("a library is an absolute path") {
  CHECK(*parse_library("/opt/nccl/libnccl.so.2") == "/opt/nccl/libnccl.so.2");
  for (const char* text : {"", "libnccl.so.2", "./libnccl.so.2", "~/libnccl.so.2"}) CHECK_FALSE(parse_library(text));
}

TEST_CASE("only a run without sizes, ranks and library is compared with earlier runs") {
  NcclChoice choice;
  CHECK(choice.usual());
  choice.collectives = {Collective::kBroadcast};
  CHECK(choice.usual());
  choice.ranks_per_node = 0;
  CHECK_FALSE(choice.usual());
}

TEST_CASE("more ranks than GPUs are refused, with each node that has too few") {
  NcclChoice choice;
  choice.ranks_per_node = 2;
  const auto misfits =
      misfits_of(choice, {node("n1", 1, kGibibyte), node("n2", 2, kGibibyte), node("n3", 1, kGibibyte)});
  REQUIRE(misfits.size() == 2);
  CHECK(misfits[0].message == "--ranks-per-node 2: n1 has 1 GPU");
  CHECK(misfits[1].node == "n3");
  CHECK(has_errors(misfits));
  choice.ranks_per_node = 0;
  CHECK(misfits_of(choice, {node("n1", 1, kGibibyte), node("n2", 2, kGibibyte)}).empty());
}

TEST_CASE("sizes that do not fit into memory are refused, with the node and a range that fits") {
  NcclChoice choice;
  choice.sizes = {8, 8 * kGibibyte};
  const std::vector<NcclNode> nodes{node("n1", 1, 100 * kGibibyte), node("n2", 1, 40 * kGibibyte)};
  const auto misfits = misfits_of(choice, nodes);
  REQUIRE(misfits.size() == 1);
  CHECK(misfits[0].node == "n2");
  CHECK(misfits[0].message ==
        "8 GiB is too large: all_reduce needs buffers of 16 GiB on each rank, and the test takes a fifth of the 40 GiB "
        "that are free on n2");
  CHECK(misfits[0].hint == "--sizes 8:4294967296 fits (4 GiB)");
  choice.sizes = {8, 4 * kGibibyte};
  CHECK(misfits_of(choice, nodes).empty());
  CHECK(misfits_of(choice, {}).empty());
  // A node that reports next to nothing gets no range that cannot work.
  choice.sizes = {8 * kGibibyte};
  CHECK(misfits_of(choice, {node("n1", 1, 1)}).at(0).hint.find("--sizes") == std::string::npos);
}

TEST_CASE("ranks on GPUs without their own memory share their node's") {
  NcclChoice choice;
  choice.sizes = {8, 4 * kGibibyte};
  choice.ranks_per_node = 0;
  CHECK(misfits_of(choice, {node("n1", 2, 40 * kGibibyte, false), node("n2", 1, 40 * kGibibyte, true)}).empty());
  CHECK(misfits_of(choice, {node("n1", 2, 40 * kGibibyte, true), node("n2", 1, 40 * kGibibyte, true)}).size() == 1);
}

TEST_CASE("the rank that keeps large messages from being measured is named") {
  const std::vector<NcclRequest> requests{{Collective::kAllReduce, {8192, kGibibyte}},
                                          {Collective::kAllGather, {8192}}};
  NcclOutcome run;
  run.measured = {{Collective::kAllReduce, 8192, 8192, 20, 0.1, {}, 0, ""},
                  {Collective::kAllReduce, kGibibyte, kGibibyte - 64, 20, 0.1, {}, 0, ""}};
  run.memory = {8 * kGibibyte, kGibibyte};
  CHECK(memory_limit_of(requests, run, {"n1", "n2"}).empty());
  run.measured[1].bytes = 1 << 20;
  CHECK(memory_limit_of(requests, run, {"n1", "n2"}) == "n2 reports memory for 1 MiB at most, of 1 GiB");
}

TEST_CASE("sizes are printed with the largest unit that divides them") {
  CHECK(size_text(8) == "8 bytes");
  CHECK(size_text(1000) == "1000 bytes");
  CHECK(size_text(8192) == "8 KiB");
  CHECK(size_text(8 * kGibibyte) == "8 GiB");
  CHECK(size_text(0) == "0 bytes");
}

}  // namespace sparkplan
