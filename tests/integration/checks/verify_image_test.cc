// `verify --image` with the real podman of the distribution on two hosts. The image has the driver and the NCCL of
// tests/fake_gpu, NCCL as a Python package.
#include <filesystem>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kImage = "localhost/nccl:1";
const std::string kNoLoader = "localhost/static:1";
const std::string kPackage = "/usr/lib/python3/dist-packages/nvidia/nccl/lib";

/// Two hosts without a GPU, whose image has all that a rank needs.
struct Pair {
  Pair() : first(1, Lab::containers()), second(2, Lab::containers()), controller(Lab::containers()) {
    make_images();
    std::filesystem::copy_file(first.path("/root/nccl.tar"), second.path("/root/nccl.tar"),
                               std::filesystem::copy_options::overwrite_existing);
    second.shell("podman load -q -i /root/nccl.tar");
    with("");
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const Host* host : {&first, &second}) {
      static_cast<void>(host->run({"sh", "-c",
                                   "podman rm -f -a; podman rmi -f " + kImage + " " + kNoLoader +
                                       "; rm -rf /root/tree /root/static /root/*.tar"}));
    }
  }

  void with(const std::string& env) const {
    controller.cluster("nccl: {mode: auto, env: {NCCL_SOCKET_IFNAME: \"=mgmt0\"" + env + "}}\n" + nodes_of_lab(2));
  }

  /// The C library is the host's own one. Both archives are of one build, so that the ids are the same.
  void make_images() const {
    first.shell("rm -rf /root/tree /root/nccl.tar /root/static.tar; mkdir -p /root/tree" + kPackage +
                " /root/tree/opt/fake /root/tree/etc /root/tree/tmp");
    const std::filesystem::path fakes = SPARKPLAN_FAKE_GPU;
    const auto overwrite = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(fakes / "libcuda.so.1", first.path("/root/tree/opt/fake/libcuda.so.1"), overwrite);
    std::filesystem::copy_file(fakes / "libnccl.so.2", first.path("/root/tree" + kPackage + "/libnccl.so.2"),
                               overwrite);
    first.shell("cd /root/tree; for one in $(LD_LIBRARY_PATH=opt/fake ldd opt/fake/libcuda.so.1 ." + kPackage +
                "/libnccl.so.2 /bin/true | grep -o '/[^ :]*' | grep -v fake | sort -u); do "
                "case $one in *.so*) mkdir -p .$(dirname $one); cp -L $one .$one ;; esac; done; "
                "for one in /lib/*/libm.so.6; do mkdir -p .$(dirname $one); cp -L $one .$one; done; "
                "echo /opt/fake >etc/ld.so.conf; ldconfig -r /root/tree; "
                "tar -C /root/tree -c . | podman import -q - " +
                kImage + "; podman save -q -o /root/nccl.tar " + kImage);
    first.shell("mkdir -p /root/static/tmp; tar -C /root/static -c . | podman import -q - " + kNoLoader +
                "; podman save -q -o /root/static.tar " + kNoLoader);
    std::filesystem::copy_file(first.path("/root/static.tar"), second.path("/root/static.tar"), overwrite);
    second.shell("podman load -q -i /root/static.tar");
  }

  bool none_left() const {
    for (const Host* host : {&first, &second}) {
      if (!host->shell("podman ps -aq; pgrep 'sparkplan-(nccl|job)' || true").empty()) return false;
    }
    return true;
  }
  bool both_run() const {
    for (const Host* host : {&first, &second}) {
      if (host->shell("podman ps -q --filter label=sparkplan.job").empty()) return false;
    }
    return true;
  }

  Host first;
  Host second;
  Controller controller;
};

Words verifying(const std::string& image, const Words& more = {}) {
  Words words{"verify", "--level", "nccl", "--sizes", "4KiB:64KiB:4", "--collectives", "all_reduce", "--image", image};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json check_of(const Json& report, const std::string& id) {
  for (const auto& check : report.at("checks")) {
    if (check.at("id") == id) return check;
  }
  FAIL("there is no check " + id + " in " + report.at("checks").dump(1));
  return nullptr;
}

}  // namespace

TEST_CASE("verify image: the NCCL of a Python package in the image is measured, and no container remains",
          "[containers]") {
  const Pair pair;
  const auto run = pair.controller.run(verifying(kImage, {"--json"}), std::chrono::seconds(200));
  require_exit(run, 0);
  const auto report = run.verification();
  CHECK(contains(check_of(report, "nccl/spark-01").at("text").get<std::string>(),
                 " from " + kPackage + "/libnccl.so.2 of image " + kImage));
  const auto measured = check_of(report, "nccl/spark-01/spark-02/all_reduce");
  CHECK(measured.at("status") == "pass");
  CHECK(measured.at("value") > 0);
  CHECK(eventually([&] { return pair.none_left(); }, seconds(5)));
}

TEST_CASE("verify image: a missing image and one without a C library are named", "[containers]") {
  const Pair pair;
  const auto missing = pair.controller.run(verifying("localhost/none:1"), std::chrono::seconds(200));
  require_exit(missing, 8);
  CHECK(contains(missing.out, "podman has no image localhost/none:1"));
  CHECK(contains(missing.out, "podman pull localhost/none:1"));
  const auto bare = pair.controller.run(verifying(kNoLoader, {"--json"}), std::chrono::seconds(200));
  require_exit(bare, 8);
  const auto cause = check_of(bare.verification(), "nccl/spark-01").at("cause").get<std::string>();
  CHECK(contains(cause, "image " + kNoLoader + " cannot start the program"));
  CHECK(contains(cause, "glibc 2.34 or newer"));
  CHECK(eventually([&] { return pair.none_left(); }, seconds(5)));
}

TEST_CASE("verify image: a killed controller and a killed process starter leave no container", "[containers]") {
  const Pair pair;
  pair.with(", FAKE_NCCL: hang");
  {
    Terminal terminal(pair.controller.command(verifying(kImage)));
    REQUIRE(eventually([&] { return pair.both_run(); }, seconds(60)));
    terminal.kill();
    CHECK(eventually([&] { return pair.none_left(); }, seconds(10)));
  }
  Terminal terminal(pair.controller.command(verifying(kImage)));
  REQUIRE(eventually([&] { return pair.both_run(); }, seconds(60)));
  // Between two groups of ranks, no process starter runs.
  REQUIRE(eventually([&] { return !pair.first.shell("pkill -KILL -x sparkplan-job && echo killed || true").empty(); }));
  // The next group of ranks hangs, too.
  terminal.interrupt();
  CHECK(terminal.finish());
  CHECK(eventually([&] { return pair.none_left(); }, seconds(10)));
}

}  // namespace sparkplan::test
