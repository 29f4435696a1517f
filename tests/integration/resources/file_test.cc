// Whole files on real hosts: ownership, restored contents and refused changes.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kFile = "/etc/lab-app.conf";

std::string owner_and_mode(const Host& host, const std::string& file) {
  return host.shell("stat -c '%U:%G %a' " + file);
}

}  // namespace

TEST_CASE("file: inline text and text from a file are installed with owner and mode, until the section drops them") {
  const Host host(1);
  const Controller controller;
  host.write(kFile, "a = 0\n", 0600);
  host.shell("chown guarded:adm " + kFile);
  const std::string before = host.shell("stat -c '%U:%G %a' " + kFile);
  controller.file("app.conf", "a = 1\n# Grüße\n");
  controller.cluster("files:\n  - {path: " + kFile +
                     ", source: app.conf, owner: operator, group: adm, mode: \"0640\"}\n"
                     "  - {path: /etc/lab-greeting, content: \"Two Sparks\\n\"}\n" +
                     nodes_of_lab(1));
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.out, "--- " + kFile));
  CHECK(contains(plan.out, "-a = 0"));
  CHECK(contains(plan.out, "+a = 1"));
  CHECK(host.text(kFile) == "a = 0\n");

  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.text(kFile) == "a = 1\n# Grüße\n");
  CHECK(owner_and_mode(host, kFile) == "operator:adm 640");
  CHECK(host.text("/etc/lab-greeting") == "Two Sparks\n");
  CHECK(owner_and_mode(host, "/etc/lab-greeting") == "root:root 644");
  const auto identity = host.identity(kFile);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.identity(kFile) == identity);

  host.shell("chmod 0666 " + kFile);
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  const auto change = change_in(drift.report(), "spark-01/file/" + kFile);
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "drift");
  CHECK(change.at("fields").at(0).at("path") == "mode");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(owner_and_mode(host, kFile) == "operator:adm 640");

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.text(kFile) == "a = 0\n");
  CHECK(host.shell("stat -c '%U:%G %a' " + kFile) == before);
  CHECK_FALSE(host.has("/etc/lab-greeting"));
}

TEST_CASE("file: a missing owner or directory is reported per file, and all other files are installed") {
  const Host host(1);
  const Controller controller;
  controller.cluster(
      "files:\n  - {path: /etc/lab-a, content: \"a\\n\", owner: nobody-here}\n"
      "  - {path: /etc/lab-none/b, content: \"b\\n\"}\n"
      "  - {path: /etc/lab-c, content: \"c\\n\"}\n" +
      nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 3);
  CHECK(contains(run.err, "cluster.yaml:4:"));
  CHECK(contains(run.err, "there is no user nobody-here"));
  CHECK(contains(run.err, "there is no directory /etc/lab-none"));
  CHECK(contains(run.err, "spark-01"));
  CHECK_FALSE(host.has("/etc/lab-a"));
  CHECK_FALSE(host.has("/etc/lab-none"));
  CHECK(host.text("/etc/lab-c") == "c\n");
}

TEST_CASE("file: links on the way to a file are refused, and their targets stay unchanged") {
  const Host host(1);
  const Controller controller;
  host.shell(
      "mkdir -p /etc/lab-mine; chown guarded /etc/lab-mine; echo kept >/etc/lab-kept; ln -s lab-kept "
      "/etc/lab-link; mkdir /etc/lab-real; ln -s lab-real /etc/lab-directory");
  controller.cluster(
      "files:\n  - {path: /etc/lab-link, content: \"x\\n\"}\n"
      "  - {path: /etc/lab-directory/x, content: \"x\\n\"}\n"
      "  - {path: /etc/lab-mine/x, content: \"x\\n\"}\n" +
      nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  CHECK(run.code != 0);
  CHECK(contains(run.out, "/etc/lab-link is a symbolic link"));
  CHECK(contains(run.out, "/etc/lab-directory is a symbolic link"));
  CHECK(contains(run.out, "/etc/lab-mine belongs to user ID 1001"));
  CHECK(host.text("/etc/lab-kept") == "kept\n");
  CHECK(host.shell("ls -A /etc/lab-real /etc/lab-mine | grep -c x || true") == "0");
}

TEST_CASE("file: a saved plan writes the text it was made from, not the file's current text") {
  const Host host(1);
  const Controller controller;
  controller.file("app.conf", "a = 1\n");
  controller.cluster("files: [{path: " + kFile + ", source: app.conf}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "saved.plan"}), 0);
  controller.file("app.conf", "a = 2\n");
  require_exit(controller.run({"apply", "saved.plan", "--yes"}), 0);
  CHECK(host.text(kFile) == "a = 1\n");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(controller.run({"rollback", "--yes"}), 0);
  CHECK_FALSE(host.has(kFile));
}

}  // namespace sparkplan::test
