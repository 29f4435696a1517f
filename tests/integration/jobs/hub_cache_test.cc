// A model of the hub whose cache a tool of the hub has made: npm's @huggingface/hub, with a server on loopback.
#include <filesystem>
#include <iostream>
#include <string>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

const std::string kHub = "/home/operator/.cache/huggingface/hub";

CapturedOutput tool_of_hub(const std::string& verb, const fs::path& cache) {
  return run_program({source_folder() + "/tests/lab/hub/cache.sh", verb, cache.string()}, seconds(240));
}

std::string digest_of_cache(const Host& host) {
  return host.shell("cd " + kHub +
                    " && { find models--org--tiny -printf '%p %y %m %u %l\n'; "
                    "find models--org--tiny -type f -exec sha256sum {} +; } | LC_ALL=C sort | sha256sum");
}

/// A host without caches, before a case and after it.
class CacheHost {
 public:
  explicit CacheHost(int number) : host(number) { clean(); }
  CacheHost(const CacheHost&) = delete;
  CacheHost& operator=(const CacheHost&) = delete;
  ~CacheHost() { clean(); }

  const Host host;

 private:
  void clean() const { (void)host.run({"rm", "-rf", "/home/operator/.cache", "/var/lib/sparkplan/copy"}); }
};

}  // namespace

TEST_CASE("sync: a cache that a tool of the hub has made is brought, and the tool finds the model whole there") {
  constexpr int kSkips = 77;
  const ScratchDirectory scratch;
  const auto made = tool_of_hub("make", scratch.path() / "made");
  if (made.exit_status == kSkips) {
    std::cerr << "SKIPPED: " << made.standard_output;
    return;
  }
  INFO(made.standard_error);
  REQUIRE(made.exit_status == 0);

  const CacheHost source(1);
  const CacheHost second(2);
  source.host.shell("mkdir -p " + kHub);
  fs::copy(scratch.path() / "made", source.host.path(kHub),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  source.host.shell("chown -R -h operator: /home/operator/.cache");
  const Controller controller;
  controller.cluster("fabric: {topology: switch, port: 1}\nmodels: [{hub: org/tiny, from: spark-01}]\n" +
                     nodes_of_lab(2, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  CHECK(run.document("sync.schema.json")["items"][0]["nodes"][1]["status"] == "sent");
  CHECK(digest_of_cache(second.host) == digest_of_cache(source.host));

  // The server has no files now: the tool takes all of them from the cache.
  fs::copy(second.host.path(kHub), scratch.path() / "brought",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const auto found = tool_of_hub("check", scratch.path() / "brought");
  INFO(found.standard_output + found.standard_error);
  CHECK(found.exit_status == 0);
}

}  // namespace sparkplan::test
