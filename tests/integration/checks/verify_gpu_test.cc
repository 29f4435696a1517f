// `verify --level gpu` over SSH. The hosts use the driver and the NVML of tests/fake_gpu, whose properties are in a
// file of the host.
#include <filesystem>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kLibraries = "/opt/fake-gpu";
const std::string kProgram = "/usr/local/libexec/sparkplan/sparkplan-nccl";

/// A host that appears to have a GPU, for one case.
class GpuHost {
 public:
  explicit GpuHost(int number) : host_(number) {
    host_.shell("mkdir -p " + kLibraries);
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
      std::filesystem::copy_file(std::filesystem::path(SPARKPLAN_FAKE_GPU) / name, host_.path(kLibraries + "/" + name),
                                 std::filesystem::copy_options::overwrite_existing);
    }
    host_.shell("echo " + kLibraries + " > /etc/ld.so.conf.d/fake-gpu.conf; ldconfig");
    has("");
  }
  GpuHost(const GpuHost&) = delete;
  GpuHost& operator=(const GpuHost&) = delete;
  ~GpuHost() {
    try {
      host_.shell("rm -rf " + kLibraries + " /etc/ld.so.conf.d/fake-gpu.conf /etc/fake-gpu.conf " + kProgram +
                  "; ldconfig");
    } catch (const std::exception&) {  // The case has failed already.
    }
  }
  const Host* operator->() const { return &host_; }

  /// Lines NAME=VALUE, as tests/fake_gpu/variables.h reads them, separated by blanks.
  void has(const std::string& properties) const {
    host_.shell("printf '%s\\n' FAKE_GPU_COUNT=1 FAKE_GPU_MEMORY=536870912 " + properties + " > /etc/fake-gpu.conf");
  }
  bool runs_program() const { return !host_.shell("pgrep sparkplan-nccl || true").empty(); }

 private:
  Host host_;
};

Json verify(const Controller& controller, int code, const Words& more = {}) {
  Words arguments{"verify", "--level", "gpu", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto run = controller.run(arguments, std::chrono::seconds(120));
  require_exit(run, code);
  return run.verification();
}

bool has_check(const Json& report, const std::string& id) {
  for (const auto& check : report.at("checks")) {
    if (check.at("id") == id) return true;
  }
  return false;
}

Json check_in(const Json& report, const std::string& id) {
  for (const auto& check : report.at("checks")) {
    if (check.at("id") == id) return check;
  }
  FAIL("there is no check " + id + " in " + report.at("checks").dump(1));
  return nullptr;
}

}  // namespace

TEST_CASE("verify gpu: two equal hosts are measured, and no program remains") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(nodes_of_lab(2, "operator"));
  const auto report = verify(controller, 0);
  for (const std::string node : {"spark-01", "spark-02"}) {
    CHECK(check_in(report, "gpu/" + node + "/clock").at("value") == 2400);
    CHECK(check_in(report, "gpu/" + node + "/bandwidth").at("value").get<double>() == Approx(218).epsilon(0.01));
    CHECK(check_in(report, "gpu/" + node + "/parity").at("status") == "pass");
  }
  CHECK(eventually([&] { return !first.runs_program() && !second.runs_program(); }));
  CHECK(first->shell("stat -c '%a %U:%G' " + kProgram) == "755 root:root");
  // The driver's cache of compiled programs is off.
  CHECK(first->shell("ls -d /home/operator/.nv 2>/dev/null || true").empty());
}

TEST_CASE("verify gpu: a slow GPU of two is a warning on both, a throttled one fails") {
  const GpuHost first(1);
  const GpuHost second(2);
  const Controller controller;
  controller.cluster(nodes_of_lab(2, "operator"));
  second.has("FAKE_GPU_CLOCK=1000 FAKE_GPU_DRIVER=580.142");
  const auto mixed = verify(controller, 0);
  CHECK(check_in(mixed, "gpu/spark-02/clock").at("status") == "warn");
  const auto parity = check_in(mixed, "gpu/spark-01/parity");
  CHECK(parity.at("status") == "warn");
  CHECK(parity.at("cause") == check_in(mixed, "gpu/spark-02/parity").at("cause"));
  second.has("FAKE_GPU_REASONS=128");
  const auto throttled = check_in(verify(controller, 8), "gpu/spark-02/clock");
  CHECK(throttled.at("status") == "fail");
  CHECK(contains(throttled.at("cause").get<std::string>(), "lowered by power"));
  CHECK_FALSE(throttled.at("fix").get<std::string>().empty());
}

TEST_CASE("verify gpu: a GPU in use is named, and measured only with --force") {
  const GpuHost first(1);
  const Controller controller;
  controller.cluster(nodes_of_lab(1, "operator"));
  first.has("FAKE_GPU_PROCESS=1");
  const auto used = verify(controller, 8);
  CHECK(contains(check_in(used, "gpu/spark-01/use").at("cause").get<std::string>(), "in use by systemd (pid 1)"));
  CHECK(check_in(used, "gpu/measured").at("status") == "fail");
  CHECK_FALSE(has_check(used, "gpu/spark-01/clock"));
  CHECK(has_check(verify(controller, 0, {"--force"}), "gpu/spark-01/clock"));
}

TEST_CASE("verify gpu: --force with a level that looks for no jobs is refused before anything is measured") {
  const Controller controller;
  controller.cluster(nodes_of_lab(1));
  const auto run = controller.run({"verify", "--level", "tcp", "--force"});
  require_exit(run, 1);
  CHECK(contains(run.err, "--force is for the levels gpu and nccl"));
}

}  // namespace sparkplan::test
