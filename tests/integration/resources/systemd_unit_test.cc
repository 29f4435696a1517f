// Units on hosts with a real systemd, checked with systemctl.
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/held_agent.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kUnitFile = "/etc/systemd/system/lab-own.service";
const std::string kDropInFile = "/etc/systemd/system/lab-other.service.d/90-sparkplan.conf";
const std::string kMarker = "/run/sparkplan/restart/lab-own.service";

/// The section `units` with lab-own.service running `program`, followed by `more`.
std::string own_unit(const std::string& program, const std::string& more = "") {
  return "units:\n  - name: lab-own.service\n    content: |\n      [Unit]\n      Description=Own unit of the lab\n"
         "      [Service]\n      ExecStart=" +
         program + "\n      [Install]\n      WantedBy=multi-user.target\n    enabled: true\n    state: started\n" +
         more;
}

const std::string kDropIn = "  - {name: lab-other.service, drop_in: \"[Service]\\nLimitNOFILE=5000\\n\"}\n";
const std::string kSleep = "/bin/sleep 1000";

/// A host without units of other cases, and with lab-other.service as a package would install it.
class UnitHost : public Host {
 public:
  explicit UnitHost(int number) : Host(number) {
    shell(
        "systemctl stop 'lab-*' 2>/dev/null; rm -rf /etc/systemd/system/lab-* /usr/lib/systemd/system/lab-* "
        "/etc/systemd/system/*.wants/lab-*; rm -f /run/lab-*");
    write("/usr/lib/systemd/system/lab-other.service",
          "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n");
    shell("systemctl daemon-reload; systemctl reset-failed 'lab-*' 2>/dev/null; systemctl start lab-other.service");
  }

  std::string show(const std::string& property, const std::string& unit = "lab-own.service") const {
    return shell("systemctl show --value -p " + property + " " + unit);
  }
  std::string pid(const std::string& unit = "lab-own.service") const { return show("MainPID", unit); }
  bool active(const std::string& unit = "lab-own.service") const {
    return run({"systemctl", "is-active", "--quiet", unit}).exit_status == 0;
  }
  std::string enabled(const std::string& unit = "lab-own.service") const {
    return std::string(trim(run({"systemctl", "is-enabled", unit}).standard_output));
  }
  bool restart_is_noted() const { return run({"test", "-e", kMarker}).exit_status == 0; }
  /// Everything in /etc/systemd that a second apply must not change.
  std::string traces() const {
    return shell("find /etc/systemd -printf '%p %i %T@ %C@\\n' | sort; ls -A /run/sparkplan/restart 2>/dev/null; true");
  }
};

void apply(const Controller& controller, int code = 0) { require_exit(controller.run({"apply", "--yes"}), code); }

std::string reason_for(const Json& report, const std::string& id) {
  for (const auto& node : report.at("nodes")) {
    for (const auto& blocked : node.at("blocked")) {
      if (blocked.at("id") == id) return blocked.at("error").at("message");
    }
  }
  return "";
}

/// One host with its own unit and a drop-in applied.
struct AppliedUnits {
  AppliedUnits() {
    controller.cluster(own_unit(kSleep, kDropIn) + nodes_of_lab(1));
    apply(controller);
  }
  const UnitHost host{1};
  const Controller controller;
};

TEST_CASE("units: a unit is written, enabled and started, and a drop-in restarts its unit") {
  const UnitHost host(1);
  const Controller controller;
  const std::string other = host.pid("lab-other.service");
  controller.cluster(own_unit(kSleep, kDropIn) + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  CHECK_FALSE(host.has(kUnitFile));
  apply(controller);
  CHECK(host.active());
  CHECK(host.enabled() == "enabled");
  CHECK(contains(host.shell("systemctl cat lab-own.service"), "Description=Own unit of the lab\n[Service]"));
  CHECK(host.shell("stat -c '%a %U:%G' " + kUnitFile + " " + kDropInFile) == "644 root:root\n644 root:root");
  CHECK(host.show("LimitNOFILE", "lab-other.service") == "5000");
  CHECK(host.pid("lab-other.service") != other);
  CHECK(host.shell("grep 'open files' /proc/$(systemctl show --value -p MainPID lab-other.service)/limits | "
                   "awk '{print $4}'") == "5000");
  require_exit(controller.run({"drift"}), 0);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("units: a second apply changes nothing") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  const std::string before = host.traces();
  const std::string own = host.pid();
  const std::string other = host.pid("lab-other.service");
  apply(applied.controller);
  CHECK(host.traces() == before);
  CHECK(host.pid() == own);
  CHECK(host.pid("lab-other.service") == other);
}

TEST_CASE("units: a changed text restarts only its own unit") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  const std::string own = host.pid();
  const std::string other = host.pid("lab-other.service");
  applied.controller.cluster(own_unit("/bin/sleep 2000", kDropIn) + nodes_of_lab(1));
  apply(applied.controller);
  CHECK(host.pid() != own);
  CHECK(contains(host.shell("tr '\\0' ' ' </proc/" + host.pid() + "/cmdline"), "sleep 2000"));
  CHECK(host.pid("lab-other.service") == other);
  CHECK_FALSE(host.restart_is_noted());
  require_exit(applied.controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("units: a change by hand is drift, named and repaired") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  const auto drift_and_repair = [&](const std::string& by_hand, const std::string& field, const std::string& unit) {
    INFO(by_hand);
    host.shell(by_hand);
    const auto drift = applied.controller.run({"drift", "--json"});
    require_exit(drift, 2);
    const auto change = change_in(drift.report(), "spark-01/systemd_unit/" + unit);
    REQUIRE_FALSE(change.is_null());
    CHECK(contains(change.at("fields").dump(), field));
    apply(applied.controller);
    require_exit(applied.controller.run({"drift"}), 0);
  };
  drift_and_repair("echo '# mine' >>" + kUnitFile + " && systemctl daemon-reload", "content", "lab-own.service");
  drift_and_repair("chmod 600 " + kUnitFile, "content.attributes", "lab-own.service");
  drift_and_repair("systemctl disable -q lab-own.service", "enabled", "lab-own.service");
  drift_and_repair("rm /etc/systemd/system/multi-user.target.wants/lab-own.service", "enabled", "lab-own.service");
  drift_and_repair("systemctl stop lab-own.service", "state", "lab-own.service");
  drift_and_repair("rm " + kUnitFile, "content", "lab-own.service");
  drift_and_repair("rm " + kDropInFile, "drop_in", "lab-other.service");
  CHECK(host.active());
  CHECK(host.enabled() == "enabled");
  CHECK(host.show("LimitNOFILE", "lab-other.service") == "5000");
}

TEST_CASE("units: a unit that does not stay up restores the node, and all other changes are made") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  const UnitHost second(2);
  const std::string before = host.shell("cat " + kUnitFile);
  const std::string broken = "/bin/sh -c 'echo no device; exit 3'";
  applied.controller.cluster(own_unit(broken, kDropIn) + "sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto run = applied.controller.run({"apply", "--yes", "--json"});
  require_exit(run, 4);
  const auto reason = reason_for(run.report(), "spark-01/systemd_unit/lab-own.service");
  CHECK(contains(reason, "lab-own.service does not stay up"));
  CHECK(contains(reason, "no device"));
  CHECK(host.shell("cat " + kUnitFile) == before);
  CHECK(host.active());
  CHECK(host.enabled() == "enabled");
  CHECK(contains(host.shell("tr '\\0' ' ' </proc/" + host.pid() + "/cmdline"), kSleep));
  CHECK_FALSE(host.restart_is_noted());
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("units: a new unit that does not start leaves nothing behind") {
  const UnitHost host(1);
  const Controller controller;
  controller.cluster(own_unit("/bin/false") + nodes_of_lab(1));
  const std::string before = host.shell("find /etc/systemd -printf '%p %i\\n' | sort");
  apply(controller, 4);
  CHECK(host.shell("find /etc/systemd -printf '%p %i\\n' | sort") == before);
  CHECK(host.show("LoadState") == "not-found");
  CHECK(host.shell("systemctl list-units --failed --plain --no-legend 'lab-*'").empty());
}

TEST_CASE("units: a finished oneshot and a unit with a false condition are in sync") {
  const UnitHost host(1);
  const Controller controller;
  controller.cluster(R"(
units:
  - {name: lab-once.service, content: "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo x >>/run/lab-once'\n", state: started}
  - {name: lab-never.service, content: "[Unit]\nConditionPathExists=/nowhere\n[Service]\nExecStart=/bin/sleep 9\n", state: started}
)" + nodes_of_lab(1));
  apply(controller);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  CHECK(host.shell("cat /run/lab-once") == "x");
  CHECK_FALSE(host.active("lab-never.service"));
}

TEST_CASE("units: new units that require each other start in the right order, also templates") {
  const UnitHost host(1);
  const Controller controller;
  controller.cluster(R"(
units:
  - {name: lab-a.service, content: "[Unit]\nRequires=lab-z.service\nAfter=lab-z.service\n[Service]\nExecStart=/bin/sleep 9000\n", state: started}
  - {name: lab-a.timer, content: "[Timer]\nOnActiveSec=1h\nUnit=lab-q.service\n", state: started}
  - {name: lab-q.service, content: "[Service]\nType=oneshot\nExecStart=/bin/true\n"}
  - {name: lab-z.service, content: "[Service]\nExecStart=/bin/sleep 9000\n", state: started}
  - {name: lab-t@.service, content: "[Service]\nExecStart=/bin/sleep %i\n[Install]\nWantedBy=multi-user.target\n"}
  - {name: lab-t@9000.service, enabled: true, state: started}
  - {name: lab-x.socket, content: "[Socket]\nListenStream=/run/lab-x\n", state: started}
  - {name: lab-x.service, content: "[Service]\nExecStart=/bin/sleep 9000\n"}
)" + nodes_of_lab(1));
  apply(controller);
  for (const char* unit : {"lab-a.service", "lab-a.timer", "lab-z.service", "lab-t@9000.service", "lab-x.socket"}) {
    INFO(unit);
    CHECK(host.active(unit));
  }
  CHECK(host.enabled("lab-t@9000.service") == "enabled");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.shell("ls /etc/systemd/system | grep lab- || true").empty());
  CHECK(host.shell("systemctl list-units --all --plain --no-legend 'lab-[aztxq]*'").empty());
}

TEST_CASE("units: systemd-analyze rejects a bad unit before it is written, with the reason") {
  const UnitHost host(1);
  const Controller controller;
  const auto refused = [&](const std::string& sections, const std::string& unit, const std::string& why) {
    controller.cluster(sections + nodes_of_lab(1));
    const std::string before = host.traces();
    const auto run = controller.run({"apply", "--yes", "--json"});
    require_exit(run, 4);
    CHECK(contains(reason_for(run.report(), "spark-01/systemd_unit/" + unit), why));
    CHECK(host.traces() == before);
  };
  refused(own_unit("/no/such/program"), "lab-own.service", "/no/such/program is not executable");
  refused("units: [{name: lab-other.service, drop_in: \"[Service]\\nLimitMEMLOK=infinity\\n\"}]\n", "lab-other.service",
          "Unknown key");
  refused("units: [{name: lab-other.service, drop_in: \"[Service]\\nExecStart=/bin/true\\n\"}]\n", "lab-other.service",
          "more than one ExecStart");
}

TEST_CASE("units: foreign units are refused and not changed") {
  const UnitHost host(1);
  const Controller controller;
  host.write("/etc/systemd/system/lab-own.service", "[Service]\nExecStart=/bin/sleep 3000\n");
  host.shell("systemctl daemon-reload && systemctl mask -q lab-masked.service");
  controller.cluster(own_unit(kSleep,
                              "  - {name: lab-other.service, content: \"[Service]\\nExecStart=/bin/sleep 1\\n\"}\n"
                              "  - {name: lab-masked.service, state: started}\n"
                              "  - {name: lab-none.service, drop_in: \"[Service]\\nNice=1\\n\"}\n") +
                     "sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const std::string before = host.traces();
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 9);
  const auto report = run.report();
  CHECK(contains(reason_for(report, "spark-01/systemd_unit/lab-own.service"), "was not written by sparkplan"));
  CHECK(contains(reason_for(report, "spark-01/systemd_unit/lab-other.service"), "would hide"));
  CHECK(contains(reason_for(report, "spark-01/systemd_unit/lab-masked.service"), "is masked"));
  CHECK(contains(reason_for(report, "spark-01/systemd_unit/lab-none.service"), "there is no unit"));
  CHECK(host.traces() == before);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("units: a later foreign drop-in that wins is reported as foreign") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  host.write("/etc/systemd/system/lab-other.service.d/99-mine.conf", "[Service]\nEnvironment=A=1\nLimitNOFILE=4000\n");
  host.shell("systemctl daemon-reload");
  const auto run = applied.controller.run({"plan", "--json"});
  require_exit(run, 0);
  const auto change = change_in(run.report(), "spark-01/systemd_unit/lab-other.service");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "foreign");
  CHECK(contains(change.dump(), "99-mine.conf:3"));
}

TEST_CASE("units: the next run plans and makes a restart that a killed run had pending") {
  const UnitHost host(1);
  const Controller controller;
  const auto with = [](const std::string& seconds) {
    return "units: [{name: lab-own.service, content: \"[Service]\\nExecStart=/bin/sleep " + seconds +
           "\\nExecStop=/bin/sh -c 'while test -e /run/lab-hold; do sleep 0.05; done'\\n\", state: started}]\n" +
           nodes_of_lab(1);
  };
  controller.cluster(with("1000"));
  apply(controller);
  host.shell("touch /run/lab-hold");
  controller.cluster(with("2000"));
  {
    Terminal terminal(controller.command({"apply", "--yes"}));
    REQUIRE(eventually([&] { return host.show("ActiveState") == "deactivating"; }));
    CHECK(host.restart_is_noted());
    HeldAgent(host).kill();
    CHECK(terminal.finish() == 4);
  }
  host.shell("rm /run/lab-hold");
  REQUIRE(eventually([&] { return host.active(); }));
  const std::string pid = host.pid();
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(contains(change_in(plan.report(), "spark-01/systemd_unit/lab-own.service").dump(), "pending"));
  apply(controller);
  CHECK(host.pid() != pid);
  CHECK_FALSE(host.restart_is_noted());
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("units: a missing daemon-reload is planned and made") {
  const AppliedUnits applied;
  const auto& host = applied.host;
  const std::string pid = host.pid();
  host.shell("touch " + kUnitFile);
  const auto plan = applied.controller.run({"plan", "--json"});
  require_exit(plan, 0);
  CHECK(contains(change_in(plan.report(), "spark-01/systemd_unit/lab-own.service").dump(), "reload"));
  apply(applied.controller);
  CHECK(host.show("NeedDaemonReload") == "no");
  CHECK(host.pid() == pid);
  require_exit(applied.controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("units: units removed from the file are removed, and the earlier state is restored") {
  const UnitHost host(1);
  const Controller controller;
  const std::string before = host.shell("find /etc/systemd -printf '%p %i\\n' | sort");
  const std::string limit = host.show("LimitNOFILE", "lab-other.service");
  host.shell("systemctl enable -q lab-other.service");
  controller.cluster(own_unit(kSleep, kDropIn) + nodes_of_lab(1));
  apply(controller);
  controller.cluster("units: [{name: lab-other.service, enabled: false, state: stopped}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.has(kDropInFile));
  CHECK_FALSE(host.active("lab-other.service"));
  CHECK(host.enabled("lab-other.service") == "disabled");
  CHECK_FALSE(host.active());
  CHECK(host.shell("find /etc/systemd -printf '%p %i\\n' | sort") == before);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.active("lab-other.service"));
  CHECK(host.enabled("lab-other.service") == "enabled");
  CHECK(host.show("LimitNOFILE", "lab-other.service") == limit);
  CHECK(host.show("LoadState") == "not-found");
}

}  // namespace
}  // namespace sparkplan::test
