#include "engine/doctor/doctor_table.h"
#include "engine/verify/verify_run.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Check passed(Level level, std::vector<std::string> nodes, std::optional<double> value = {}) {
  Check check = skipped(level, std::move(nodes), "A", "");
  check.pass("fine");
  check.value = value;
  return check;
}

std::optional<Check> missing(const std::vector<Check>& checks, std::optional<Level> named = {}) {
  VerifyOptions options;
  options.required = named;
  return nothing_measured(checks, options);
}

}  // namespace

TEST_CASE("a run of skipped checks fails with the reasons and what would remove them") {
  const auto check = missing({skipped(Level::kNccl, {"spark-01"}, "", "no GPU", "install the driver"),
                              skipped(Level::kNccl, {"spark-02"}, "", "no GPU", "install the driver")},
                             Level::kNccl);
  REQUIRE(check);
  CHECK(check->id == "nccl/measured");
  CHECK(check->status == CheckStatus::kFail);
  CHECK(check->nodes == std::vector<std::string>{"spark-01", "spark-02"});
  CHECK(check->cause == "no GPU");
  CHECK(check->fix == "install the driver");
}

TEST_CASE("checks of lower levels do not stand in for the named level") {
  const std::vector<Check> checks{passed(Level::kLink, {"spark-01"}),
                                  skipped(Level::kRdma, {"spark-01"}, "A", "no RDMA device")};
  CHECK(missing(checks, Level::kRdma));
  CHECK_FALSE(missing(checks));
}

TEST_CASE("a node that is ready for NCCL is no measurement of NCCL") {
  const std::vector<Check> ready{passed(Level::kNccl, {"spark-01"})};
  const auto check = missing(ready, Level::kNccl);
  REQUIRE(check);
  CHECK(check->fix == "select two nodes or more that share a network");
  CHECK_FALSE(missing({passed(Level::kNccl, {"spark-01", "spark-02"}, 21.9)}, Level::kNccl));
}

TEST_CASE("a known model of a GPU that a job uses is no measurement of it") {
  const auto check = missing({passed(Level::kGpu, {"spark-01"}),
                              skipped(Level::kGpu, {"spark-01"}, "use", "the GPU is in use", "end the job")},
                             Level::kGpu);
  REQUIRE(check);
  CHECK(check->id == "gpu/measured");
  CHECK(check->cause == "the GPU is in use");
  CHECK(check->fix == "end the job");
  CHECK_FALSE(missing({passed(Level::kGpu, {"spark-01"}, 2400)}, Level::kGpu));
}

TEST_CASE("a warning about a node is no measurement of its GPU or between nodes") {
  for (const auto& [level, row] :
       {std::pair(Level::kGpu, RowId("gpu-no-nvml")), std::pair(Level::kGpu, RowId("gpu-other-software")),
        std::pair(Level::kNccl, RowId("nccl-too-old"))}) {
    Check warned = passed(level, {"spark-01"});
    diagnose(warned, CheckStatus::kWarn, row, "as it was told");
    const auto check = missing({warned}, level);
    REQUIRE(check);
    CHECK(check->cause.starts_with("as it was told"));
    warned.value = 24;
    CHECK_FALSE(missing({warned}, level));
  }
}

TEST_CASE("a failed check, or one that a failed check blocks, needs no further failure") {
  Check failed = skipped(Level::kLink, {"spark-01"}, "A", "");
  diagnose(failed, CheckStatus::kFail, "link-no-carrier");
  Check blocked = skipped(Level::kMtu, {"spark-01", "spark-02"}, "A", "");
  blocked.block({"link/spark-01/A failed", "link/spark-01/A"});
  CHECK_FALSE(missing({failed, blocked}, Level::kMtu));
  CHECK_FALSE(missing({failed}));
}

TEST_CASE("a run without nodes that can be asked reports its nodes only") { CHECK_FALSE(missing({}, Level::kLink)); }

}  // namespace sparkplan
