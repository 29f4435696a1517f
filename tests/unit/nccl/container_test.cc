// Ranks in containers: a program in place of the engine starts the shipped program of the NCCL test, with the driver
// and the NCCL of tests/fake_gpu.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/nccl/nccl_library.h"
#include "engine/remote/programs/container_channel.h"
#include "engine/verify/levels/nccl_checks.h"
#include "engine/verify/levels/nccl_run.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/job/fake_engine.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using test::FakeEngine;
using test::ScratchDirectory;

const std::string kFakeLibraries = SPARKPLAN_FAKE_GPU;
const std::string kImage = "lab/torch:1";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// An engine whose `run` makes the container c0ffee and does `work` in it.
std::string engine_that(const std::string& work) {
  return "case $1 in\n"
         "ps) ls ;;\n"
         "rm) shift 2; rm -f -- \"$@\" ;;\n"
         "run) : >c0ffee; " +
         work + "; status=$?; rm -f c0ffee; exit $status ;;\nesac\n";
}
std::string starts_program(const std::string& variables) {
  return engine_that(variables + " " + std::string(SPARKPLAN_NCCL_PROGRAM) + " --stdio");
}

/// Local nodes with a rank in a container each.
class ContainedRanks {
 public:
  explicit ContainedRanks(int count) : nodes_(test::local_nodes(count)) {
    ::setenv("LD_LIBRARY_PATH", kFakeLibraries.c_str(), 1);
    options.warm_up = 1;
    options.iterations = 2;
    for (const auto& node : nodes_) {
      RankPlace place{&node, 0, "", {}};
      place.container = RankContainer{kImage, ContainerEngine::kDocker, {}};
      places.push_back(std::move(place));
    }
  }
  ContainedRanks(const ContainedRanks&) = delete;
  ContainedRanks& operator=(const ContainedRanks&) = delete;

  NcclOutcome looked() { return inspect_nccl(places, options).at(0); }

  std::vector<RankPlace> places;
  NcclRunOptions options;

 private:
  std::vector<NodeSpec> nodes_;
};

RankEnded exited(int code) {
  RankEnded ended;
  ended.exit_code = code;
  return ended;
}

}  // namespace

TEST_CASE("ranks in containers exchange data, and their containers are removed") {
  const FakeEngine engine(starts_program(""));
  ContainedRanks ranks(2);
  const auto outcome = run_nccl(ranks.places, {{Collective::kAllReduce, {1 << 16}}}, ranks.options);
  if (outcome.failure) FAIL(outcome.failure->error.describe());
  CHECK(outcome.measured.at(0).wrong == 0);
  CHECK(outcome.left_running.empty());
  CHECK_FALSE(engine.has("c0ffee"));
  CHECK(has(engine.calls(), "--label sparkplan.job=verify-"));
  CHECK(has(engine.calls(), "--entrypoint /usr/local/libexec/sparkplan/sparkplan-nccl lab/torch:1 --stdio"));
}

TEST_CASE("a rank that hangs in its container is ended with it") {
  const FakeEngine engine(starts_program(""));
  ContainedRanks ranks(2);
  ranks.places[1].environment["FAKE_NCCL"] = "hang";
  ranks.options.run_timeout = std::chrono::milliseconds(500);
  const auto outcome = run_nccl(ranks.places, {{Collective::kAllReduce, {1 << 16}}}, ranks.options);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->trouble == NcclTrouble::kSilent);
  CHECK(outcome.left_running.empty());
  CHECK_FALSE(engine.has("c0ffee"));
}

TEST_CASE("a container that cannot be removed is reported as left") {
  const FakeEngine engine("case $1 in\nps) echo c0ffee ;;\nrun) " + std::string(SPARKPLAN_NCCL_PROGRAM) +
                          " --stdio ;;\nesac\n");
  ContainedRanks ranks(1);
  CHECK(ranks.looked().left_running == std::vector<std::string>{"spark-01"});
}

TEST_CASE("an image whose C library is missing or too old is named, with the oldest one that will do") {
  struct Row {
    std::string work;
    std::string words;
  };
  for (const auto& row :
       std::vector<Row>{{"echo \"/x: /lib/libc.so.6: version \\`GLIBC_2.34' not found (required by "
                         "/usr/local/libexec/sparkplan/sparkplan-nccl)\" >&2; false",
                         "the C library of image lab/torch:1 is too old"},
                        {"echo '[FATAL tini (7)] exec failed: No such file or directory' >&2; sh -c 'exit 127'",
                         "image lab/torch:1 cannot start the program: [FATAL tini (7)] exec failed"},
                        {"echo 'ERROR (catatonit:2): failed to exec pid1: No such file or directory' >&2; false",
                         "image lab/torch:1 cannot start the program: ERROR (catatonit:2)"}}) {
    INFO(row.words);
    const FakeEngine engine(engine_that(row.work));
    ContainedRanks ranks(1);
    const auto looked = ranks.looked();
    REQUIRE(looked.failure);
    CHECK(looked.failure->error.code == ErrorCode::kUnsupported);
    CHECK(has(looked.failure->error.message, row.words));
    CHECK(has(looked.failure->error.message, "glibc 2.34 or newer"));
    CHECK_FALSE(looked.failure->error.hint.empty());
  }
}

TEST_CASE("the last words of an engine that fails are its reason") {
  const auto error = container_end_error(kImage, exited(125), "Error: unresolvable CDI devices nvidia.com/gpu=all\n");
  CHECK(error.code == ErrorCode::kFailed);
  CHECK(error.message ==
        "the container of image lab/torch:1 ended with status 125: Error: unresolvable CDI devices nvidia.com/gpu=all");
  CHECK(has(container_end_error(kImage, exited(1), "\x1b[2Jx").message, "status 1"));
  CHECK(container_end_error(kImage, exited(1), "\x1b[2Jx").message.find('\x1b') == std::string::npos);
}

TEST_CASE("a container gets the program read-only, the devices of its node and no name that another one has") {
  const RankContainer container{kImage, ContainerEngine::kPodman, {true, true}};
  const auto job = container_job(container, "verify-1");
  CHECK(job.containers.engine == "podman");
  CHECK(job.command.empty());  // Other runs do not see it as a job.
  REQUIRE(job.ranks.size() == 1);
  CHECK(job.ranks[0].input);
  const auto& argv = job.ranks[0].argv;
  const std::string program = "/usr/local/libexec/sparkplan/sparkplan-nccl";
  const auto contains = [&](const std::string& word) {
    return std::find(argv.begin(), argv.end(), word) != argv.end();
  };
  CHECK(contains("type=bind,source=" + program + ",target=" + program + ",readonly"));
  CHECK(contains("nvidia.com/gpu=all"));
  CHECK(contains("/dev/infiniband"));
  CHECK(contains("--interactive"));
  CHECK(argv[argv.size() - 2] == kImage);
  CHECK(argv.back() == "--stdio");
  const auto one = new_container_id();
  const auto other = new_container_id();
  REQUIRE(one);
  REQUIRE(other);
  CHECK(*one != *other);
}

TEST_CASE("NCCL is found in the Python packages of the image's PATH") {
  const ScratchDirectory image;
  const std::string wheel = "/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
  const std::string debian = "/usr/lib/python3/dist-packages/torch/lib/libnccl.so.2";
  image.write(wheel, "");
  image.write(debian, "");
  image.write("/other/lib/python3/site-packages/torch/lib/libnccl.so.2", "");
  const auto path = (image / "/opt/venv/bin").string() + ":relative::" + (image / "/usr/bin/").string() + ":" +
                    (image / "/usr/bin").string() + ":/nowhere";
  CHECK(nccl::python_libraries(path) == std::vector<std::string>{(image / wheel).string(), (image / debian).string()});
  CHECK(nccl::python_libraries("").empty());
}

TEST_CASE("the NCCL of a Python package is loaded where the loader finds none, and named where it finds another") {
  const ScratchDirectory image;
  const std::string packages = "/venv/lib/python3.12/site-packages/nvidia/nccl/lib";
  for (const auto* name : {"libcuda.so.1", "libnccl.so.2"}) {
    image.make_directory(packages);
    std::filesystem::copy_file(kFakeLibraries + "/" + name, image / (packages + "/" + name));
  }
  image.make_directory("/driver");
  std::filesystem::copy_file(kFakeLibraries + "/libcuda.so.1", image / "/driver/libcuda.so.1");
  const auto file = (image / (packages + "/libnccl.so.2")).string();
  const auto looked = [&](const std::string& folder) {
    const FakeEngine engine(starts_program("PATH=" + (image / "/venv/bin").string() + " LD_LIBRARY_PATH=" + folder));
    ContainedRanks ranks(1);
    auto outcome = ranks.looked();
    if (outcome.failure) FAIL(outcome.failure->error.describe());
    return outcome.prepared.at(0);
  };
  const auto of_loader = looked(kFakeLibraries);
  CHECK(of_loader.library == kFakeLibraries + "/libnccl.so.2");
  CHECK(of_loader.python_library == file);
  const auto of_python = looked((image / "/driver").string());
  if (of_python.library != file) {
    WARN("SKIPPED: the loader of this machine finds an NCCL");
    return;
  }
  CHECK(of_python.python_library.empty());
}

}  // namespace sparkplan
