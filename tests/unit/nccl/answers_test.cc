// From the answers of all ranks to sizes, one measurement and the table. No process is started.
#include <cstdint>
#include <limits>
#include <string>

#include "engine/model/collective.h"
#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/levels/nccl_run.h"
#include "engine/wire/nccl_messages.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("the largest size leaves four fifths of the memory free") {
  const std::int64_t gibibyte = std::int64_t{1} << 30;
  CHECK(size_that_fits(Collective::kAllReduce, gibibyte, 2, 10 * gibibyte) == gibibyte);
  CHECK(size_that_fits(Collective::kAllReduce, gibibyte, 2, 10 * gibibyte - 1) == gibibyte / 2);
  CHECK(size_that_fits(Collective::kAllGather, gibibyte, 2, 15 * gibibyte / 2) == gibibyte);
  CHECK(size_that_fits(Collective::kAllReduce, 4096, 2, gibibyte) == 4096);
  CHECK(size_that_fits(Collective::kAllReduce, gibibyte, 2, 1 << 20) == 0);
}

TEST_CASE("wrong elements of one rank stand, whatever numbers the ranks report") {
  const RunCollective run{Collective::kAllReduce, 4096, 1, 20, true, 1};
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto wrong = [&](std::int64_t first, std::int64_t second) {
    const auto measured = measurement_of(
        run, 4096, {{4096, 0.5, first, "element 1", {}}, {4096, 0.5, second, "element 2", {}}}, {"n1", "n2"});
    CHECK(measured.first_wrong.empty() == (measured.wrong == 0));
    return measured.wrong;
  };
  CHECK(wrong(0, 0) == 0);
  CHECK(wrong(0, 3) == 3);
  // 1024 elements are all that a rank receives.
  CHECK(wrong(kMost, kMost) == 2048);
  CHECK(wrong(kMost, 0) == 1024);
  // The decoder refuses a negative number, and even an accepted one could not hide a finding.
  CHECK(wrong(-kMost, 1) == 1);
}

TEST_CASE("a short time of one rank does not make the operation of all ranks fast") {
  const auto measured = [](Collective collective, double first, double second) {
    const RunCollective run{collective, 4096, 1, 20, true, 1};
    return measurement_of(run, 4096, {{4096, first, 0, "", {}}, {4096, second, 0, "", {}}}, {"n1", "n2"});
  };
  // Each rank waits for the data of all: the honest one shows how long that takes.
  for (const auto collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kAllToAll, Collective::kAllToAllV, Collective::kHypercube}) {
    INFO(to_string(collective));
    CHECK(measured(collective, 0.5, 1e-9).seconds == 0.5);
    CHECK(measured(collective, 0.5, 1e-9).early == "n2");
    CHECK(measured(collective, 0.45, 0.5).seconds == Approx(0.475));
    CHECK(measured(collective, 0.45, 0.5).early.empty());
  }
  // A root may end before the others.
  CHECK(measured(Collective::kBroadcast, 0.1, 0.5).seconds == Approx(0.3));
  CHECK(measured(Collective::kBroadcast, 0.1, 0.5).early.empty());
  // Where one rank could make the mean half as long, the time of the slowest rank is known, too.
  for (const auto collective : {Collective::kBroadcast, Collective::kSendReceive, Collective::kAllReduce}) {
    CHECK(measured(collective, 1e-9, 1).longest == 1);
    CHECK(measured(collective, 0.9, 1).longest == 1);
  }
}

TEST_CASE("the rank that limits the sizes is the one with the least memory for each of its ranks") {
  PreparedRank shared;
  shared.unified_memory = true;
  shared.memory_free_bytes = 80;
  PreparedRank own;
  own.memory_free_bytes = 40;
  NcclOutcome outcome;
  CHECK_FALSE(place_of_least_memory(outcome));
  outcome.memory = {memory_of_rank(own, 1), memory_of_rank(shared, 8)};
  CHECK(place_of_least_memory(outcome) == 1U);
}

TEST_CASE("the first rank's answer is refused without the unique id that it was asked for") {
  PreparedRank without;
  PreparedRank with;
  with.id = std::string(kUniqueIdBytes, 'i');
  CHECK(fits_phase(with, NcclPhase::kPrepare, true));
  CHECK_FALSE(fits_phase(without, NcclPhase::kPrepare, true));
  CHECK(fits_phase(without, NcclPhase::kPrepare, false));
  CHECK_FALSE(fits_phase(with, NcclPhase::kJoin, true));
  CHECK_FALSE(fits_phase(JoinedRank{}, NcclPhase::kPrepare, false));
  CHECK(fits_phase(JoinedRank{}, NcclPhase::kJoin, true));
  CHECK(fits_phase(CollectiveResult{}, NcclPhase::kRun, true));
}

TEST_CASE("a size is judged by the command, so that a false one accuses only the rank that reports it") {
  const RunCollective run{Collective::kAllReduce, 4096, 1, 20, true, 1};
  const auto place = [&](std::int64_t first, std::int64_t second) {
    return place_of_other_size(run, {{first, 0.5, 0, "", {}}, {second, 0.5, 0, "", {}}});
  };
  CHECK_FALSE(place(4096, 4096));
  CHECK(place(8192, 4096) == 0U);
  CHECK(place(4096, 1) == 1U);
  // Both report the same false size.
  CHECK(place(8192, 8192) == 0U);
}

TEST_CASE("measurements are printed in nccl-tests' format") {
  NcclMeasurement one{Collective::kAllReduce, 1 << 20, 1 << 20, 20, 0.001, {1.05, 1.05}, 0, ""};
  CHECK(nccl_table({one}, 2) ==
        "# all_reduce, 2 ranks, out of place\n"
        "#        size        count    type  iters       time    algbw    busbw  #wrong\n"
        "#         (B)   (elements)                      (us)   (GB/s)   (GB/s)\n"
        "      1048576       262144   float     20    1000.00     1.05     1.05       0\n");
}

TEST_CASE("no claim of a rank makes a row of the table longer") {
  const NcclMeasurement honest{Collective::kAllReduce, 1 << 20, 1 << 20, 20, 0.001, {1.05, 1.05}, 0, ""};
  NcclMeasurement claimed = honest;
  claimed.bandwidth = {1e300, 1e300};
  CHECK(nccl_table({claimed}, 2).size() == nccl_table({honest}, 2).size());
}

TEST_CASE("a table has one row per size, smallest first, with both placements") {
  const NcclMeasurement large{Collective::kAllReduce, 1 << 20, 1 << 20, 20, 0.001, {1.05, 1.05}, 0, ""};
  NcclMeasurement in_place = large;
  in_place.in_place = true;
  in_place.wrong = 3;
  const NcclMeasurement small{Collective::kAllReduce, 8192, 8192, 20, 0.00002, {0.41, 0.41}, 0, ""};
  CHECK(nccl_table({large, in_place, small}, 2) ==
        "# all_reduce, 2 ranks, out of place, then in place\n"
        "#        size        count    type  iters       time    algbw    busbw  #wrong       time    algbw    busbw"
        "  #wrong\n"
        "#         (B)   (elements)                      (us)   (GB/s)   (GB/s)               (us)   (GB/s)   (GB/s)\n"
        "         8192         2048   float     20      20.00     0.41     0.41       0\n"
        "      1048576       262144   float     20    1000.00     1.05     1.05       0    1000.00     1.05     1.05"
        "       3\n");
}

}  // namespace sparkplan
