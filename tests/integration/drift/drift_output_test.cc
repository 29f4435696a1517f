// drift under cron: its output, its log messages and its file for the node exporter.
#include <regex>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/syslog_socket.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// Two hosts in sync with the configuration.
struct Applied {
  Applied() {
    controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
  const Host first{1};
  const Host second{2};
  const Controller controller;
};

/// The samples of a file in Prometheus' text format: name with labels -> value. Fails the case for a line that is not
/// in the format.
std::map<std::string, std::string> samples_of(const std::string& text) {
  static const std::regex sample(
      R"re(([a-z_:][a-z0-9_:]*(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})?) (-?[0-9.e+-]+))re");
  static const std::regex comment(R"(# (HELP [a-z_:]+ .+|TYPE [a-z_:]+ gauge))");
  std::map<std::string, std::string> samples;
  REQUIRE(text.ends_with('\n'));
  for (const auto line : lines_of(text)) {
    const std::string copy(line);
    INFO(copy);
    std::smatch match;
    if (copy.starts_with('#')) {
      CHECK(std::regex_match(copy, comment));
    } else {
      REQUIRE(std::regex_match(copy, match, sample));
      CHECK(samples.emplace(match[1], match[6]).second);
    }
  }
  return samples;
}

TEST_CASE("drift output: --quiet prints nothing when everything is in sync") {
  const Applied applied;
  const auto run = applied.controller.run({"drift", "--quiet"});
  require_exit(run, 0);
  CHECK(run.out.empty());
  CHECK(run.err.empty());
}

TEST_CASE("drift output: --quiet still prints findings") {
  const Applied applied;
  applied.second.set_sysctl("net.core.somaxconn", "128");
  const auto run = applied.controller.run({"drift", "--quiet"});
  require_exit(run, 2);
  CHECK(contains(run.out, "spark-02"));
  CHECK(contains(run.out, "net.core.somaxconn"));
  CHECK_FALSE(contains(run.out, "spark-01"));
}

TEST_CASE("drift output: the metrics are in Prometheus' text format and contain the findings") {
  const Applied applied;
  const auto metrics = (applied.controller.directory() / "sparkplan.prom").string();
  require_exit(applied.controller.run({"drift", "--textfile", metrics}), 0);
  auto samples = samples_of(applied.controller.text("sparkplan.prom"));
  CHECK(samples[R"(sparkplan_node_up{node="spark-01"})"] == "1");
  const auto success = samples["sparkplan_last_success_timestamp_seconds"];
  CHECK_FALSE(success.empty());

  applied.first.set_sysctl("net.core.somaxconn", "128");
  applied.second.remove(kAgentFile);
  require_exit(applied.controller.run({"drift", "--textfile", metrics}), 4);
  samples = samples_of(applied.controller.text("sparkplan.prom"));
  CHECK(samples[R"(sparkplan_drift{node="spark-01",type="sysctl"})"] == "1");
  CHECK(samples[R"(sparkplan_node_up{node="spark-02"})"] == "0");
  CHECK(samples["sparkplan_last_success_timestamp_seconds"] == success);
  // No temporary file may remain: the exporter reads every file in the directory.
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(applied.controller.directory())) {
    files += entry.path().filename().string().starts_with("sparkplan.prom") ? 1 : 0;
  }
  CHECK(files == 1);
}

TEST_CASE("drift output: --syslog sends one message of RFC 5424 per finding, and none when all is in sync") {
  const Applied applied;
  SyslogSocket syslog;
  const auto drift = syslog.logging_here(applied.controller.command({"drift", "--syslog"}));
  CHECK(run_program(drift).exit_status == 0);
  CHECK(syslog.read().empty());
  applied.first.set_sysctl("net.core.somaxconn", "128");
  applied.second.remove(kAgentFile);
  CHECK(run_program(drift).exit_status == 4);
  const auto messages = syslog.read();
  INFO(messages);
  const std::string header = R"(>1 [0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z [!-~]+ sparkplan [0-9]+ )";
  const std::regex drifted(
      "<28" + header +
      R"re(drift \[sparkplan@32473 cluster="lab" node="spark-01" )re"
      R"re(resource="sysctl/net.core.somaxconn" field="running" before="128" after="8192"\] .+)re");
  const std::regex unreadable(
      "<27" + header + R"re(unreadable \[sparkplan@32473 cluster="lab" node="spark-02" error="not_found"\] .+)re");
  REQUIRE(lines_of(messages).size() == 2);
  CHECK(std::regex_match(std::string(lines_of(messages)[0]), drifted));
  CHECK(std::regex_match(std::string(lines_of(messages)[1]), unreadable));
}

TEST_CASE("drift output: an unreachable syslog is an error, and all other outputs are complete") {
  const Applied applied;
  applied.first.set_sysctl("net.core.somaxconn", "128");
  SyslogSocket syslog;
  syslog.fall_silent();
  const auto metrics = (applied.controller.directory() / "sparkplan.prom").string();
  const auto output =
      run_program(syslog.logging_here(applied.controller.command({"drift", "--syslog", "--textfile", metrics})));
  INFO(output.standard_error);
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "/dev/log"));
  CHECK(contains(output.standard_output, "net.core.somaxconn"));
  CHECK(contains(applied.controller.text("sparkplan.prom"), R"(sparkplan_drift{node="spark-01",type="sysctl"} 1)"));
}

TEST_CASE("drift output: an invalid cluster.yaml is logged, and the metrics of the last check stay") {
  const Applied applied;
  SyslogSocket syslog;
  const auto metrics = (applied.controller.directory() / "sparkplan.prom").string();
  const auto drift = syslog.logging_here(applied.controller.command({"drift", "--syslog", "--textfile", metrics}));
  CHECK(run_program(drift).exit_status == 0);
  const auto before = applied.controller.text("sparkplan.prom");
  applied.controller.file("cluster.yaml", "version: 1\nname: lab\nnodse: []\n");
  CHECK(run_program(drift).exit_status == 3);
  const auto messages = syslog.read();
  INFO(messages);
  CHECK_FALSE(messages.empty());
  for (const auto line : lines_of(messages)) CHECK(contains(line, " invalid [sparkplan@32473 code="));
  CHECK(applied.controller.text("sparkplan.prom") == before);
}

TEST_CASE("drift output: a metrics file that cannot be written is exit 1, and is named") {
  const Applied applied;
  const auto run = applied.controller.run({"drift", "--textfile", "/nonexistent/sparkplan.prom"});
  require_exit(run, 1);
  CHECK(contains(run.err, "/nonexistent/sparkplan.prom"));
  CHECK(contains(run.err, "No such file or directory"));
}

TEST_CASE("drift output: the JSON output is valid under its schema") {
  const Applied applied;
  applied.first.set_sysctl("net.core.somaxconn", "128");
  const auto run = applied.controller.run({"drift", "--json"});
  require_exit(run, 2);
  const auto report = run.report();
  CHECK(report.at("command") == "drift");
  CHECK(report.at("summary").at("drifted") == 1);
  CHECK(report.at("summary").at("nodes_in_sync") == 1);
  const auto fields = change_in(report, "spark-01/sysctl/net.core.somaxconn").at("fields");
  CHECK(fields == Json::parse(R"([{"path": "running", "before": "128", "after": "8192"}])"));
}

TEST_CASE("drift output: --splay waits at most the given time") {
  const Applied applied;
  const auto run = applied.controller.run({"drift", "--splay", "1s"});
  require_exit(run, 0);
  CHECK(run.took < seconds(15));
}

}  // namespace
}  // namespace sparkplan::test
