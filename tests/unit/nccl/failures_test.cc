// Checks of a node before a run, and of a failed run, with cause and fix.
#include <optional>
#include <string>

#include "engine/doctor/nccl_bands.h"
#include "engine/verify/levels/nccl_checks.h"
#include "tests/support/catch.h"
#include "tests/unit/nccl/outcomes.h"

namespace sparkplan {

using namespace test;

TEST_CASE("a Spark with a section nccl fails without a driver, a GPU or a library, and names the fix") {
  NcclGround one{{"spark-01"}, true, false, std::nullopt, 0, false};
  auto looked = failed(NcclTrouble::kFault, RankFault::kNoDriver);
  looked.failure->place = 0;
  for (const RankFault fault : {RankFault::kNoDriver, RankFault::kNoGpu, RankFault::kNoLibrary}) {
    looked.failure->fault = fault;
    one.nccl_declared = true;
    const Check check = check_of_node(looked, one);
    CHECK(check.status == CheckStatus::kFail);
    CHECK(row_of(check) == (fault == RankFault::kNoLibrary ? "nccl-no-library" : "nccl-no-gpu"));
    CHECK_FALSE(check.fix.empty());
    one.nccl_declared = false;
    CHECK(check_of_node(looked, one).status == CheckStatus::kSkip);
  }
}

TEST_CASE("the NCCL of --library is named, and the host's own one if it is another") {
  NcclOutcome looked;
  looked.prepared = {PreparedRank{22809, "/venv/libnccl.so.2", 13000, "GB10", 1 << 30, true, "", {}}};
  NcclGround ground{{"spark-01"}, false, false, std::nullopt, 0, false};
  ground.host_nccl = "2.27.3";
  CHECK(check_of_node(looked, ground).text == "GB10, CUDA driver 13.0, NCCL 2.28.9");
  ground.library = "/venv/libnccl.so.2";
  CHECK(check_of_node(looked, ground).text ==
        "GB10, CUDA driver 13.0, NCCL 2.28.9 from /venv/libnccl.so.2 (the host's is 2.27.3)");
  ground.host_nccl = "2.28.9";
  CHECK(check_of_node(looked, ground).text == "GB10, CUDA driver 13.0, NCCL 2.28.9 from /venv/libnccl.so.2");
}

TEST_CASE(
    "the NCCL of --image is named with its file, the host's own one if it is another, and a second one in the image") {
  NcclOutcome looked;
  looked.prepared = {PreparedRank{22809, "/usr/lib/libnccl.so.2", 13000, "GB10", 1 << 30, true, "", {}}};
  NcclGround ground{{"spark-01"}, false, false, std::nullopt, 0, false};
  ground.image = "torch:1";
  ground.host_nccl = "2.27.3";
  const std::string text = "GB10, CUDA driver 13.0, NCCL 2.28.9 from /usr/lib/libnccl.so.2 of image torch:1";
  CHECK(check_of_node(looked, ground).text == text + " (the host's is 2.27.3)");
  ground.host_nccl = "2.28.9";
  CHECK(check_of_node(looked, ground).text == text);
  looked.prepared[0].python_library = "/venv/libnccl.so.2";
  CHECK(check_of_node(looked, ground).text == text + ", Python programs may load /venv/libnccl.so.2");
}

TEST_CASE("an image without NCCL fails, and the fix is another image") {
  NcclOutcome looked;
  looked.failure = NcclFailure{NcclTrouble::kFault,
                               NcclPhase::kPrepare,
                               0,
                               RankFault::kNoLibrary,
                               make_error(ErrorCode::kNotFound, "there is no NCCL"),
                               {}};
  NcclGround ground{{"spark-01"}, false, false, std::nullopt, 0, false};
  CHECK(check_of_node(looked, ground).status == CheckStatus::kSkip);
  ground.image = "busybox:1";
  const auto check = check_of_node(looked, ground);
  CHECK(check.status == CheckStatus::kFail);
  CHECK(check.fix == "name an image that has NCCL 2.21.5 or later");
}

TEST_CASE("a failed run reports its reason once, and later checks are skipped") {
  auto run = failed(NcclTrouble::kEnded);
  run.failure->transport.warnings = {"no route"};
  const auto checks = checks_of_run("all", kRequests, run, two_sparks());
  REQUIRE(checks.size() == 2);
  CHECK(checks[0].id == "nccl/all/all_reduce");
  CHECK(row_of(checks[0]) == "nccl-rank-ended");
  CHECK(checks[0].cause.starts_with("on spark-02: as it was given; NCCL: no route: "));
  CHECK(checks[1].status == CheckStatus::kSkip);
  CHECK_FALSE(checks[1].cause.empty());
}

TEST_CASE("each trouble has its own row") {
  const auto row = [](const NcclOutcome& run) { return row_of(first_of(run)); };
  CHECK(row(failed(NcclTrouble::kSilent, {}, NcclPhase::kJoin)) == "nccl-join-hangs");
  CHECK(row(failed(NcclTrouble::kSilent, {}, NcclPhase::kRun)) == "nccl-run-hangs");
  CHECK(row(failed(NcclTrouble::kSilent, {}, NcclPhase::kPrepare)) == "nccl-load-hangs");
  CHECK(row(failed(NcclTrouble::kConnection)) == "nccl-not-started");
  CHECK(row(failed(NcclTrouble::kMixedVersions)) == "nccl-mixed-versions");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kNotNccl)) == "nccl-not-a-library");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kLibraryTooOld)) == "nccl-too-old");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kMemory)) == "nccl-memory");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kCuda)) == "nccl-cuda-error");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kNccl)) == "nccl-error");
  CHECK(row(failed(NcclTrouble::kFault, RankFault::kPeer)) == "nccl-peer-gone");
}

TEST_CASE("a machine without a GPU is skipped, and one without the declared NCCL fails") {
  NcclGround one{{"spark-01"}, false, false, std::nullopt, 0, false};
  auto looked = failed(NcclTrouble::kFault, RankFault::kNoGpu);
  looked.failure->place = 0;
  CHECK(check_of_node(looked, one).status == CheckStatus::kSkip);
  looked.failure->fault = RankFault::kNoLibrary;
  CHECK(check_of_node(looked, one).status == CheckStatus::kSkip);
  CHECK(row_of(check_of_node(looked, one)) == "nccl-no-library");
  one.library_declared = true;
  CHECK(check_of_node(looked, one).status == CheckStatus::kFail);
}

TEST_CASE("an error that names its cause is not followed by a cause that repeats it or guesses") {
  const NcclGround one{{"spark-01"}, false, false, std::nullopt, 0, true};
  const auto cause = [&](NcclTrouble trouble, std::optional<RankFault> fault, const std::string& message) {
    auto looked = failed(trouble, fault.value_or(RankFault::kProtocol));
    looked.failure->place = 0;
    looked.failure->fault = fault;
    looked.failure->error = make_error(ErrorCode::kNotFound, message);
    return check_of_node(looked, one).cause;
  };
  const std::string loader = "cannot open shared object file: No such file or directory";
  CHECK(cause(NcclTrouble::kFault, RankFault::kNoDriver, "there is no NVIDIA driver (libcuda.so.1: " + loader + ")") ==
        "on spark-01: there is no NVIDIA driver (libcuda.so.1: " + loader + ")");
  CHECK(cause(NcclTrouble::kFault, RankFault::kNoLibrary, "there is no NCCL: libnccl.so.2: " + loader) ==
        "on spark-01: there is no NCCL: libnccl.so.2: " + loader);
  CHECK(cause(NcclTrouble::kFault, RankFault::kNotNccl, "/x is not NCCL: it has no ncclGetVersion") ==
        "on spark-01: /x is not NCCL: it has no ncclGetVersion");
  CHECK(cause(NcclTrouble::kConnection, std::nullopt, "no route to host") == "on spark-01: no route to host");
  // This error says what happened, and the row says why.
  CHECK(cause(NcclTrouble::kFault, RankFault::kLibraryTooOld, "it is NCCL 2.10.3").ends_with("falls back to TCP"));
}

TEST_CASE("the warnings of a rank that has failed are cut: they are in the checks of all its pairs") {
  NcclOutcome run = failed(NcclTrouble::kFault, RankFault::kNccl);
  run.failure->transport.warnings.assign(60, std::string(4096, '"'));
  CHECK(first_of(run).cause.size() < 10'000);
}

TEST_CASE("a version with a known fault is a warning on a Spark") {
  CHECK(judge_nccl_version(22809, false, true).status == CheckStatus::kPass);
  CHECK(judge_nccl_version(22809, true, false).row->id == "nccl-version-hang");
  CHECK(judge_nccl_version(22903, true, false).status == CheckStatus::kPass);
  CHECK(judge_nccl_version(22903, true, true).row->id == "nccl-version-ring");
  CHECK(judge_nccl_version(23007, true, true).status == CheckStatus::kPass);
}

}  // namespace sparkplan
