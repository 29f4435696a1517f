#include "engine/verify/check.h"

#include <limits>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Levels = std::vector<Level>;

}  // namespace

TEST_CASE("each level has a unique name") {
  for (const Level level : all_levels()) CHECK(level_from(to_string(level)) == level);
  CHECK(all_levels().size() == 8);
  CHECK_FALSE(level_from("all"));
  CHECK_FALSE(level_from(""));
}

TEST_CASE("a level includes the lower levels that it requires") {
  CHECK(levels_for(Level::kLink) == Levels{Level::kLink});
  CHECK(levels_for(Level::kMtu) == Levels{Level::kLink, Level::kMtu});
  CHECK(levels_for(Level::kSsh) == Levels{Level::kSsh});
  CHECK(levels_for(Level::kTcp) == Levels{Level::kLink, Level::kMtu, Level::kTcp});
  CHECK(levels_for(Level::kRdma) == Levels{Level::kLink, Level::kMtu, Level::kRdma});
  CHECK(levels_for(Level::kNccl) == Levels{Level::kLink, Level::kMtu, Level::kTcp, Level::kRdma, Level::kNccl});
  CHECK(levels_for(Level::kGpu) == Levels{Level::kGpu});
  CHECK(levels_for(Level::kStorage) == Levels{Level::kStorage});
}

TEST_CASE("an id consists of level, nodes and the checked part") {
  CHECK(check_id(Level::kRdma, {"spark-01", "spark-02"}, "A/latency") == "rdma/spark-01/spark-02/A/latency");
  CHECK(check_id(Level::kLink, {"spark-01"}) == "link/spark-01");
  CHECK(check_id(Level::kNccl, {}, "all/all_reduce") == "nccl/all/all_reduce");
}

TEST_CASE("a number has the digits that a measurement justifies, and never hundreds") {
  CHECK(number_text(9000) == "9000");
  CHECK(number_text(93.44) == "93.4");
  CHECK(number_text(1.466) == "1.47");
  CHECK(number_text(1e9) == "1000000000");
  CHECK(number_text(1.2345e12) == "1.23e+12");
  CHECK(number_text(1e300) == "1e+300");
  for (const double size : {0.0, 1e-300, 999'999'999.9, 1e9, 1.2345e9, std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    INFO(size);
    CHECK(number_text(size).size() <= kLongestNumberText);
    CHECK(number_text(-size).size() <= kLongestNumberText);
  }
}

TEST_CASE("a diagnosis has its row's cause and fix, after the observed state") {
  Check check;
  diagnose(check, CheckStatus::kFail, "link-no-carrier", "enp1s0f1np1 has no carrier");
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.cause.starts_with("enp1s0f1np1 has no carrier: no cable"));
  CHECK_FALSE(check.fix.empty());
}

}  // namespace sparkplan
