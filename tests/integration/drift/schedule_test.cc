// Drift on a schedule, set up as docs/drift.md describes. Host 1 checks host 2 as an unprivileged user who may only run
// the agent there.
#include <algorithm>
#include <fstream>
#include <regex>

#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = fs::path(source_folder()) / "examples";
const std::string kMetricsDirectory = "/var/lib/prometheus/node-exporter";
const std::string kMetrics = kMetricsDirectory + "/sparkplan.prom";
const std::string kService = "sparkplan-drift.service";
const std::string kTimer = "sparkplan-drift.timer";
const std::string kDrifted = R"(sparkplan_drift{node="spark-02",type="sysctl"} 1)";

std::string example(const std::string& name) {
  std::ifstream stream(kExamples / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns `text` with the only occurrence of `part` replaced; fails the case when `part` is missing.
std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const auto at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

/// Host 1 with the program, its user and its cluster.yaml; host 2 in sync.
class Schedule {
 public:
  Schedule() {
    clean_up();
    const Controller administrator;
    for (const auto& node : {node_, quiet_node_}) {
      administrator.cluster(cluster_of(node, "root"));
      require_exit(administrator.run({"apply", "--yes"}), 0);
      node.write("/etc/sudoers.d/zz-lab", "guarded ALL=(root) NOPASSWD: /usr/local/libexec/sparkplan/agent --stdio\n",
                 0440);
    }
    install_program();
    host_.shell(
        "useradd --system --home-dir /var/lib/sparkplan-drift --create-home --shell /usr/sbin/nologin sparkplan-drift "
        "&& install -d -m 0700 /var/lib/sparkplan-drift/.ssh && install -d /etc/sparkplan && "
        "install -d -o sparkplan-drift " +
        kMetricsDirectory);
    for (const auto* file : {"id_ed25519", "known_hosts"}) {
      fs::copy_file(Lab::get().home() / ".ssh" / file, host_.path("/var/lib/sparkplan-drift/.ssh") / file);
    }
    host_.shell("chown -R sparkplan-drift: /var/lib/sparkplan-drift");
    host_.write("/etc/sparkplan/cluster.yaml", "version: 1\nname: lab\n" + cluster_of(node_, "guarded"));
    host_.write("/etc/sparkplan/quiet.yaml", "version: 1\nname: lab\n" + cluster_of(quiet_node_, "guarded"));
  }
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() { clean_up(); }

  const Host& host() const { return host_; }
  const Host& node() const { return node_; }
  void make_drift() const { node_.set_sysctl("net.core.somaxconn", "128"); }

  /// Installs the units of examples/systemd, with a timer that starts after one second instead of every quarter of an
  /// hour.
  void install_units() const {
    for (const auto& unit : {kService, kTimer}) host_.write("/etc/systemd/system/" + unit, example("systemd/" + unit));
    host_.write("/etc/systemd/system/" + kTimer + ".d/lab.conf",
                "[Timer]\nOnCalendar=\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=100ms\n");
    host_.write("/etc/systemd/system/" + kService + ".d/lab.conf", "[Unit]\nOnFailure=lab-told.service\n");
    // The OnFailure= unit of docs/drift.md, writing a file instead of sending a mail.
    host_.write("/etc/systemd/system/lab-told.service",
                "[Service]\nType=oneshot\n"
                "ExecStart=/bin/sh -c 'echo \"$MONITOR_UNIT $MONITOR_EXIT_STATUS\" >/etc/lab-told'\n");
    host_.shell("systemctl daemon-reload");
  }

  bool metrics_say(const std::string& line, const std::string& file = kMetrics) const {
    const auto text = host_.text(file).value_or("");
    const auto lines = lines_of(text);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  std::string property(const std::string& name) const {
    return host_.shell("systemctl show --value -p " + name + " " + kService);
  }
  /// Journal entries that match, since the case began, messages only.
  std::string journal(const std::string& matches) const {
    return host_.run({"sh", "-c", "journalctl -q -b --no-pager -o cat " + since_ + " " + matches}).standard_output;
  }

 private:
  static std::string cluster_of(const Host& node, const std::string& user) {
    return "ssh: {user: " + user + "}\nsysctl: {net.core.somaxconn: 8192}\nnodes:\n  - {name: " + node.name() +
           ", address: " + node.address() + "}\n";
  }

  /// Copies libssh and other libraries from the build machine, because the lab's hosts lack them.
  void install_program() const {
    const auto bin = host_.path("/usr/local/bin/sparkplan");
    REQUIRE(run_program({"strip", "-o", bin.string(), SPARKPLAN_PROGRAM}).exit_status == 0);
    const auto libraries = host_.path("/usr/local/lib/lab-sparkplan");
    fs::create_directories(libraries);
    const auto listed = run_program({"ldd", SPARKPLAN_PROGRAM}).standard_output;
    const std::regex found(R"(=> (/\S+))");
    for (std::sregex_iterator match(listed.begin(), listed.end(), found), end; match != end; ++match) {
      const std::string library = (*match)[1];
      if (!fs::exists(host_.path(library))) fs::copy(library, libraries / fs::path(library).filename());
    }
    host_.write("/etc/ld.so.conf.d/lab-sparkplan.conf", "/usr/local/lib/lab-sparkplan\n");
    host_.shell("ldconfig && sparkplan version");
  }

  void clean_up() const {
    host_.shell(
        "rm -f /etc/cron.d/sparkplan-drift; "
        "systemctl -q stop sparkplan-drift.timer sparkplan-drift.service 2>/dev/null; "
        "systemctl -q disable --now rsyslog 2>/dev/null; systemctl -q stop syslog.socket 2>/dev/null; "
        "rm -f /etc/rsyslog.d/lab.conf /var/log/lab-parts; "
        "[ -e /etc/rsyslog.conf.lab ] && mv /etc/rsyslog.conf.lab /etc/rsyslog.conf; "
        "rm -rf /etc/systemd/system/sparkplan-drift.* /etc/systemd/system/lab-told.service; systemctl daemon-reload; "
        "systemctl -q reset-failed; "
        "userdel sparkplan-drift 2>/dev/null; "
        "rm -rf /var/lib/sparkplan-drift /var/lib/prometheus /etc/sparkplan /usr/local/bin/sparkplan "
        "/usr/local/lib/lab-sparkplan /etc/ld.so.conf.d/lab-sparkplan.conf; ldconfig");
    for (const auto& node : {node_, quiet_node_}) node.remove("/etc/sudoers.d/zz-lab");
  }

  const Host host_{1};
  const Host node_{2};
  const Host quiet_node_{3};
  const std::string since_ = "--since '" + host_.shell("date '+%F %T'") + "'";
};

TEST_CASE("schedule: the example units are valid and sandboxed") {
  const Schedule schedule;
  schedule.install_units();
  const auto verified = schedule.host().run(
      {"systemd-analyze", "verify", "/etc/systemd/system/" + kService, "/etc/systemd/system/" + kTimer});
  INFO(verified.standard_output << verified.standard_error);
  CHECK(verified.exit_status == 0);
  CHECK(verified.standard_error.empty());
  // 0 is the most restricted and 10 the least; a service without any restriction has 9.6.
  CHECK(schedule.host().run({"systemd-analyze", "security", "--threshold=15", kService}).exit_status == 0);
}

TEST_CASE("schedule: under a systemd timer, drift fails the service, and is reported, logged and measured") {
  const Schedule schedule;
  schedule.install_units();
  const auto& host = schedule.host();
  host.shell("systemctl start " + kTimer);
  REQUIRE(eventually([&] { return schedule.metrics_say(R"(sparkplan_node_up{node="spark-02"} 1)"); }));
  REQUIRE(eventually([&] { return schedule.property("ActiveState") == "inactive"; }));
  CHECK(schedule.property("Result") == "success");
  CHECK(schedule.metrics_say(R"(sparkplan_drift{node="spark-02",type="sysctl"} 0)"));
  CHECK(schedule.journal("_COMM=sparkplan").empty());
  CHECK_FALSE(host.has("/etc/lab-told"));

  schedule.make_drift();
  host.shell("systemctl restart " + kTimer);
  REQUIRE(eventually([&] { return schedule.metrics_say(kDrifted); }));
  REQUIRE(eventually([&] { return schedule.property("ActiveState") == "failed"; }));
  CHECK(schedule.property("ExecMainStatus") == "2");
  CHECK(eventually([&] { return host.text("/etc/lab-told") == kService + " 2\n"; }));
  const auto logged = schedule.journal("_COMM=sparkplan _TRANSPORT=syslog PRIORITY=4 SYSLOG_FACILITY=3");
  INFO(logged);
  CHECK(lines_of(logged).size() == 1);
  CHECK(contains(logged,
                 R"( drift [sparkplan@32473 cluster="lab" node="spark-02" resource="sysctl/net.core.somaxconn")"));
  // The journal contains one line per finding and nothing else.
  CHECK(schedule.journal("_COMM=sparkplan") == logged);

  schedule.node().set_sysctl("net.core.somaxconn", "8192");
  host.shell("systemctl start " + kService);
  CHECK(schedule.property("Result") == "success");
  CHECK_FALSE(schedule.metrics_say(kDrifted));
}

TEST_CASE("schedule: an unreachable node is exit 4, and the time of the last success stays") {
  const Schedule schedule;
  schedule.install_units();
  const auto& host = schedule.host();
  host.shell("systemctl start " + kService);
  const std::regex success(R"(sparkplan_last_success_timestamp_seconds \d+)");
  std::smatch first;
  const auto before = host.text(kMetrics).value();
  REQUIRE(std::regex_search(before, first, success));
  schedule.node().shell("systemctl stop ssh");
  CHECK(host.run({"systemctl", "start", kService}).exit_status != 0);
  schedule.node().shell("systemctl start ssh");
  CHECK(schedule.property("ExecMainStatus") == "4");
  CHECK(schedule.metrics_say(R"(sparkplan_node_up{node="spark-02"} 0)"));
  CHECK(schedule.metrics_say(first[0]));
  CHECK(contains(schedule.journal("_TRANSPORT=syslog PRIORITY=3"), " unreachable [sparkplan@32473 "));
}

TEST_CASE("schedule: under cron, only findings are printed, logged and measured") {
  const Schedule schedule;
  const auto& host = schedule.host();
  schedule.make_drift();
  // The example's own line; the same line with its output in a file; the same again for a cluster in sync.
  const auto each_minute =
      replaced(replaced(example("cron/sparkplan-drift"), "*/15 *", "* *"), "--splay 2m", "--splay 1s");
  const auto line = each_minute.substr(each_minute.find("* * * * *"));
  const auto to_file = [](const std::string& entry, const std::string& name) {
    return replaced(replaced(entry, "sparkplan.prom", name + ".prom"), "\n",
                    " >>/var/lib/sparkplan-drift/" + name + ".log 2>&1\n");
  };
  // A restarted cron reads the complete file. It also does not wait for a clock that an earlier case has set back.
  host.write("/etc/cron.d/sparkplan-drift",
             each_minute + to_file(line, "drifted") + to_file(replaced(line, "cluster.yaml", "quiet.yaml"), "quiet"));
  host.shell("systemctl restart cron");
  // Cron reads its files and starts jobs at the beginning of a minute.
  const auto all_ran = [&] {
    return schedule.metrics_say(kDrifted) && schedule.metrics_say(kDrifted, kMetricsDirectory + "/drifted.prom") &&
           schedule.metrics_say(R"(sparkplan_drift{node="spark-03",type="sysctl"} 0)",
                                kMetricsDirectory + "/quiet.prom");
  };
  const bool have_all_run = eventually(all_ran, seconds(130));
  host.remove("/etc/cron.d/sparkplan-drift");
  const auto printed = [&](const std::string& name) { return host.text("/var/lib/sparkplan-drift/" + name + ".log"); };
  INFO("cron: " << schedule.journal("_COMM=cron")
                << "\nof the cluster with drift: " << printed("drifted").value_or("nothing was run")
                << "\nmetrics: " << host.text(kMetrics).value_or("none"));
  REQUIRE(have_all_run);
  CHECK(eventually([&] { return contains(printed("drifted").value_or(""), "spark-02"); }));
  CHECK(contains(printed("drifted").value_or(""), "net.core.somaxconn  128 -> 8192"));
  INFO("of the cluster in sync: " << printed("quiet").value_or("nothing was run"));
  CHECK_FALSE(contains(printed("quiet").value_or("net.core"), "net.core"));
  CHECK(schedule.metrics_say(R"(sparkplan_node_up{node="spark-02"} 1)"));
  const auto logged = schedule.journal("_COMM=sparkplan _TRANSPORT=syslog");
  CHECK(contains(logged, R"( drift [sparkplan@32473 cluster="lab" node="spark-02")"));
  CHECK_FALSE(contains(logged, "spark-03"));
  // cron tries to mail the output, and this host has no mail program.
  CHECK(eventually([&] { return contains(schedule.journal("_COMM=cron"), "No MTA installed, discarding output"); }));
}

TEST_CASE("schedule: rsyslog parses the messages it receives through journald") {
  const Schedule schedule;
  schedule.install_units();
  const auto& host = schedule.host();
  host.shell("cp -a /etc/rsyslog.conf /etc/rsyslog.conf.lab");
  host.write("/etc/rsyslog.conf", replaced(host.text("/etc/rsyslog.conf").value(), R"(module(load="imuxsock"))",
                                           R"(module(load="imuxsock" SysSock.UseSpecialParser="off"))"));
  host.write("/etc/rsyslog.d/lab.conf",
             "template(name=\"parts\" type=\"string\" string=\"%app-name%|%msgid%|%hostname%|%pri%|%structured-data%|"
             "%msg%\\n\")\nif $app-name == 'sparkplan' then action(type=\"omfile\" file=\"/var/log/lab-parts\" "
             "template=\"parts\")\n");
  host.shell("systemctl enable --now rsyslog 2>&1");
  schedule.make_drift();
  CHECK(host.run({"systemctl", "start", kService}).exit_status != 0);
  REQUIRE(eventually([&] { return host.has("/var/log/lab-parts"); }));
  CHECK(eventually([&] {
    return host.text("/var/log/lab-parts") ==
           R"(sparkplan|drift|spark-01|28|[sparkplan@32473 cluster="lab" node="spark-02" resource="sysctl/net.core.somaxconn" field="running" before="128" after="8192"]|spark-02: sysctl/net.core.somaxconn running is 128, should be 8192)"
           "\n";
  }));
  INFO(host.text("/var/log/lab-parts").value());
  CHECK(lines_of(host.text("/var/log/lab-parts").value()).size() == 1);
}

}  // namespace
}  // namespace sparkplan::test
