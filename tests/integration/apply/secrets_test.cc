// Secrets on real hosts. A canary is searched for wherever a value could leak.
#include <sys/stat.h>

#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kCanary = "canary-7f3a9c51e2";
const std::string kSecond = "second-7f3a9c51e2";
const std::string kVariableFile = "/etc/sparkplan/secrets/operator/HF_TOKEN";
const std::string kContentFile = "/etc/app.token";
const std::string kSections =
    "profile_env:\n  HF_TOKEN: {secret: {command: [cat, hf.token]}, users: [operator]}\n"
    "files:\n  - {path: /etc/app.token, content: {secret: {file: hf.token}}, owner: operator}\n";

void write_secret(const Controller& controller, const std::string& value) {
  controller.file("hf.token", value + "\n");
  REQUIRE(::chmod((controller.directory() / "hf.token").c_str(), 0600) == 0);
}

void require_silent(const Run& run, const std::string& value) {
  CHECK_FALSE(contains(run.out, value));
  CHECK_FALSE(contains(run.err, value));
}

/// The first host, without what an earlier case has left: a removal would restore that.
struct CleanHost : Host {
  CleanHost() : Host(1) { shell("rm -rf " + kContentFile + " /etc/sparkplan"); }
};

/// The files of the host that contain the text, one per line.
std::string files_with(const Host& host, const std::string& value) {
  return host.shell("grep -rlF " + value + " /etc /var/lib /var/log /run/sparkplan /usr/local /home /root /tmp " +
                    "2>/dev/null | sort || true");
}

/// Watches the command lines and environments of all processes for the value while an object exists.
class ProcessWatch {
 public:
  ProcessWatch(const Host& host, const std::string& value) : host_(host) {
    // The pattern has a bracket, so that the watcher does not find itself.
    const std::string pattern = "[" + value.substr(0, 1) + "]" + value.substr(1);
    host_.shell(
        "rm -f /tmp/watch.stop /tmp/watch.found; (while [ ! -e /tmp/watch.stop ]; do "
        "for p in /proc/[0-9]*; do grep -aqE '" +
        pattern +
        "' $p/cmdline $p/environ 2>/dev/null && "
        "echo $p >> /tmp/watch.found; done; done) >/dev/null 2>&1 &");
  }
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch() = default;

  std::string found() const { return host_.shell("touch /tmp/watch.stop; cat /tmp/watch.found 2>/dev/null || true"); }

 private:
  const Host& host_;
};

}  // namespace

TEST_CASE("secrets: a canary is in its files alone, and in no output, plan, record, log or process list") {
  const CleanHost host;
  const Controller controller;
  write_secret(controller, kCanary);
  controller.cluster(kSections + nodes_of_lab(1));
  const ProcessWatch watch(host, kCanary);
  for (const Words& words :
       {Words{"validate"}, Words{"plan"}, Words{"plan", "--json"}, Words{"-vv", "plan"},
        Words{"plan", "-o", "secret.plan"}, Words{"show", "secret.plan"}, Words{"show", "secret.plan", "--json"}}) {
    const auto run = controller.run(words);
    require_exit(run, 0);
    require_silent(run, kCanary);
  }
  CHECK(contains(controller.run({"plan"}).out, "(secret: cat hf.token) new"));
  CHECK_FALSE(contains(controller.text("secret.plan"), kCanary));
  const auto applied = controller.run({"-vv", "--log-file", "apply.log", "apply", "--yes"});
  require_exit(applied, 0);
  require_silent(applied, kCanary);
  CHECK_FALSE(contains(controller.text("apply.log"), kCanary));
  CHECK(watch.found().empty());
  CHECK(files_with(host, kCanary) == kContentFile + "\n" + kVariableFile);
  CHECK_FALSE(contains(host.shell("journalctl --no-pager -o cat || true"), kCanary));
  for (const Words& words : {Words{"plan", "--json"}, Words{"drift", "--json"}, Words{"history"}, Words{"status"},
                             Words{"facts", "--json"}, Words{"doctor", "--json"}}) {
    require_silent(controller.run(words), kCanary);
  }
}

TEST_CASE("secrets: the named user's login shell has the variable, and other users can read nothing") {
  const CleanHost host;
  const Controller controller;
  write_secret(controller, kCanary);
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.login_variable("HF_TOKEN", "operator") == kCanary);
  CHECK(host.login_variable("HF_TOKEN", "root").empty());
  for (const std::string& file : {kVariableFile, kContentFile}) {
    CHECK(host.run({"runuser", "-u", "nobody", "--", "cat", file}).exit_status != 0);
    CHECK(host.run({"runuser", "-u", "operator", "--", "cat", file}).standard_output == kCanary);
  }
  // A user cannot replace the file by a link.
  CHECK(host.run({"runuser", "-u", "operator", "--", "rm", "-f", kVariableFile}).exit_status != 0);
}

TEST_CASE("secrets: drift finds a changed file without the value's source, and apply writes it again") {
  const CleanHost host;
  const Controller controller;
  write_secret(controller, kCanary);
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  std::filesystem::remove(controller.directory() / "hf.token");
  require_exit(controller.run({"drift"}), 0);
  host.write(kContentFile, "by hand", 0400);
  const auto drift = controller.run({"drift"});
  require_exit(drift, 2);
  require_silent(drift, "by hand");
  require_exit(controller.run({"apply", "--yes"}), 3);
  write_secret(controller, kCanary);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.text(kContentFile) == kCanary);
}

TEST_CASE("secrets: a new value is written, a rollback restores the former one, a removal removes both files") {
  const CleanHost host;
  const Controller controller;
  write_secret(controller, kCanary);
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  write_secret(controller, kSecond);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.text(kContentFile) == kSecond);
  CHECK(host.login_variable("HF_TOKEN", "operator") == kSecond);
  const auto rolled_back = controller.run({"rollback", "--yes"});
  require_exit(rolled_back, 0);
  require_silent(rolled_back, kCanary);
  require_silent(rolled_back, kSecond);
  CHECK(host.text(kContentFile) == kCanary);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.has(kContentFile));
  CHECK_FALSE(host.has("/etc/sparkplan"));
  require_exit(controller.run({"release", "spark-01", "--yes"}), 0);
  CHECK(files_with(host, kCanary).empty());
  CHECK(files_with(host, kSecond).empty());
}

TEST_CASE("secrets: a saved plan shows its command, runs it after a yes, and is stale with another value") {
  const CleanHost host;
  const Controller controller;
  write_secret(controller, kCanary);
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "secret.plan"}), 0);
  {
    Terminal terminal(controller.command({"apply", "secret.plan"}));
    CHECK(terminal.wait_for("cat hf.token"));
    CHECK(terminal.wait_for("Run them?"));
    terminal.type("n\n");
    CHECK(terminal.wait_for("Nothing was changed."));
  }
  CHECK_FALSE(host.has(kContentFile));
  write_secret(controller, kSecond);
  require_exit(controller.run({"apply", "secret.plan", "--yes"}), 5);
  CHECK_FALSE(host.has(kContentFile));
}

TEST_CASE("secrets: a source that is of no use is exit 3 before any node is contacted") {
  const CleanHost host;
  const Controller controller;
  const auto with = [&](const std::string& source) {
    controller.cluster("profile_env: {HF_TOKEN: {secret: " + source + ", users: [operator]}}\n" + nodes_of_lab(1));
    const auto run = controller.run({"plan"});
    require_exit(run, 3);
    CHECK(contains(run.err, "cluster.yaml:"));
    require_silent(run, kCanary);
    return run;
  };
  CHECK(contains(with("{command: [sh, -c, 'echo " + kCanary.substr(0, 6) + "; echo no key >&2; exit 1']}").err,
                 "no key"));
  with("{command: ['true']}");
  with("{command: [sh, -c, 'yes | head -c 10000000']}");
  with("{file: missing.token}");
  with("{env: SPARKPLAN_NOT_SET}");
  CHECK_FALSE(host.has("/var/lib/sparkplan"));
}

}  // namespace sparkplan::test
