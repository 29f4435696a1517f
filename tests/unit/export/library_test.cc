// The NCCL library that the file names, in the formats for jobs.
#include <string>

#include "engine/export/export.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr const char* kWithLibrary = R"(
version: 1
name: lab
profile: dgx-spark
ssh: {user: nvidia}
fabric: {topology: direct}
nccl: {library: "/opt/my nccl/libnccl.so.2"}
nodes:
  - {name: spark-01, address: 10.0.0.11}
  - {name: spark-02, address: 10.0.0.12}
)";

std::string text_of(const std::string& format) {
  const auto loaded = load_cluster(kWithLibrary, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  auto exported = export_cluster(*loaded.cluster, format, builtin_registry(), {});
  REQUIRE(exported);
  return exported->text;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("exports for jobs: each node's library goes in front of the path that the shell has") {
  const std::string path = "LD_LIBRARY_PATH='/opt/my nccl'\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"";
  for (const std::string format : {"env", "torchrun", "vllm", "ray"}) {
    INFO(format);
    CHECK(count_of(text_of(format), path) == 2);
  }
  CHECK(count_of(text_of("env"), "export " + path + "\n") == 2);
  CHECK(count_of(text_of("mpirun"), "-x " + path + " \\\n") == 2);
}

TEST_CASE("exports for containers: the library of the host stays outside") {
  for (const std::string format : {"docker", "compose"}) {
    INFO(format);
    CHECK(count_of(text_of(format), "LD_LIBRARY_PATH") == 0);
  }
}

}  // namespace sparkplan
