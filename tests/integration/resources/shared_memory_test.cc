// logind, the shared memory of a running job, and our own logins.
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSegment = "/dev/shm/psm_lab_job";
const std::string kDropIn = "/etc/systemd/logind.conf.d/60-sparkplan.conf";
/// systemd refuses a unit's sixth start within ten seconds: each restart by the lab resets its counter first.
const std::string kRestartLogind = "systemctl reset-failed systemd-logind; systemctl restart systemd-logind";
constexpr const char* kSection = R"(files:
  - {path: /etc/systemd/logind.conf.d/60-sparkplan.conf, content: "[Login]\nRemoveIPC=no\n"}
)";

/// A host where logind ends a user one second after the last logout, and a job of that user runs as a service.
class HostWithJob {
 public:
  HostWithJob() : host_(1) {
    host_.write("/etc/systemd/logind.conf.d/zz-lab.conf", "[Login]\nUserStopDelaySec=1\n");
    host_.shell(kRestartLogind);
    start_job();
  }
  HostWithJob(const HostWithJob&) = delete;
  HostWithJob& operator=(const HostWithJob&) = delete;
  ~HostWithJob() {
    try {
      host_.shell("systemctl stop lab-job 2>/dev/null || true; rm -f " + kSegment);
      host_.remove("/etc/systemd/logind.conf.d/zz-lab.conf");
      host_.shell(kRestartLogind);
    } catch (const std::exception&) {  // The case has failed already.
    }
  }
  const Host* operator->() const { return &host_; }

  void start_job() const {
    host_.shell("systemctl stop lab-job 2>/dev/null || true");
    host_.shell("systemd-run --collect --unit=lab-job --uid=operator sh -c 'echo data >" + kSegment +
                "; exec sleep infinity'");
    CHECK(eventually([&] { return has_segment(); }));
  }
  bool has_segment() const { return host_.run({"test", "-e", kSegment}).exit_status == 0; }
  /// logind has no session of the user, and has cleaned up after the last one.
  bool is_logged_out() const { return host_.run({"loginctl", "show-user", "operator"}).exit_status != 0; }

 private:
  Host host_;
};

}  // namespace

TEST_CASE("logind removes a job's shared memory after our login, and no longer with RemoveIPC=no") {
  const HostWithJob host;
  const Controller controller;
  controller.cluster(nodes_of_lab(1, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(eventually([&] { return host.is_logged_out() && !host.has_segment(); }));

  host.start_job();
  controller.cluster(kSection + nodes_of_lab(1, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(eventually([&] { return host.is_logged_out(); }));
  for (const Words& command : {Words{"plan"}, Words{"drift"}, Words{"verify", "--level", "ssh"}, Words{"doctor"}}) {
    INFO(command.front());
    controller.run(command);
    CHECK(eventually([&] { return host.is_logged_out(); }));
    CHECK(host.has_segment());
  }
}

TEST_CASE("a drop-in of logind takes effect at once, is drift until then, and its folder is removed with it") {
  const Host host(1);
  const Controller controller;
  const auto removes_ipc = [&] {
    return std::string(
        trim(host.shell("busctl get-property org.freedesktop.login1 /org/freedesktop/login1 "
                        "org.freedesktop.login1.Manager RemoveIPC")));
  };
  host.shell("mv /etc/systemd/logind.conf.d /root/lab-logind.conf.d; " + kRestartLogind);
  CHECK(removes_ipc() == "b true");
  controller.cluster(kSection + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(removes_ipc() == "b false");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  host.shell("cp " + kDropIn + " /tmp/lab-drop-in; cat /tmp/lab-drop-in >" + kDropIn);
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/file/" + kDropIn).at("fields").at(0).at("path") == "in_effect");
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.has("/etc/systemd/logind.conf.d"));
  host.shell("mv /root/lab-logind.conf.d /etc/systemd/logind.conf.d");
  CHECK(removes_ipc() == "b true");
}

}  // namespace sparkplan::test
