// Mounts on real hosts, checked with findmnt and systemd. The virtual machines test mounts that need a disk or a
// server.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kDirectories =
    "storage:\n"
    "  - {target: /srv/lab/scratch, source: {tmpfs: {size: 16MiB}}, options: [nosuid, noexec]}\n"
    "  - {target: /srv/lab/scratch/logs, source: {bind: /var/log}, options: [ro]}\n";

/// The output of findmnt for a target: "tmpfs rw,nosuid,noexec"; empty when nothing is mounted there.
std::string mounted(const Host& host, const std::string& target) {
  return host.shell("findmnt --noheadings --output FSTYPE,VFS-OPTIONS --mountpoint '" + target + "' | xargs || true");
}

void forget_all(const Controller& controller) {
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

}  // namespace

TEST_CASE("mount: a tmpfs and a bind within it work from the first apply to the last") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kDirectories + nodes_of_lab(1));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(contains(mounted(host, "/srv/lab/scratch"), "tmpfs rw,nosuid,noexec"));
  CHECK(contains(mounted(host, "/srv/lab/scratch/logs"), "ro"));
  CHECK(host.shell("systemctl is-enabled srv-lab-scratch.mount srv-lab-scratch-logs.mount | sort -u | xargs") ==
        "enabled");
  CHECK(contains(host.shell("systemctl show --property=After srv-lab-scratch-logs.mount"), "srv-lab-scratch.mount"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  host.shell("mount -o remount,exec /srv/lab/scratch");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/mount//srv/lab/scratch").at("origin") == "drift");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(contains(mounted(host, "/srv/lab/scratch"), "noexec"));

  const auto verified = controller.run({"verify", "--level", "storage", "--json"});
  require_exit(verified, 0);

  forget_all(controller);
  CHECK(mounted(host, "/srv/lab/scratch").empty());
  CHECK_FALSE(host.has("/srv/lab"));
  CHECK_FALSE(host.has("/etc/systemd/system/srv-lab-scratch.mount"));
}

TEST_CASE("mount: a path may contain blanks and letters beyond ASCII") {
  const Host host(1);
  const Controller controller;
  controller.cluster("storage: [{target: /srv/my models/größe, source: {tmpfs: {size: 1MiB}}}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(contains(mounted(host, "/srv/my models/größe"), "tmpfs"));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  forget_all(controller);
  CHECK_FALSE(host.has("/srv/my models"));
}

TEST_CASE("mount: a mount in use is not unmounted") {
  const Host host(1);
  const Controller controller;
  controller.cluster("storage: [{target: /srv/busy, source: {tmpfs: {size: 1MiB}}}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  host.shell("systemd-run --quiet --unit=lab-reader --working-directory=/srv/busy sleep infinity");
  controller.cluster(nodes_of_lab(1));
  const auto refused = controller.run({"apply", "--yes", "--yes-prune"});
  host.shell("systemctl stop lab-reader");
  CHECK(refused.code != 0);
  CHECK(contains(refused.out, "/srv/busy is in use by sleep ("));
  CHECK(contains(mounted(host, "/srv/busy"), "tmpfs"));
  CHECK(host.has("/etc/systemd/system/srv-busy.mount"));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(mounted(host, "/srv/busy").empty());
}

TEST_CASE("mount: obstacles are named before any write") {
  const Host host(1);
  const Controller controller;
  const auto refused = [&](const std::string& entry, const std::string& words) {
    controller.cluster("storage: [" + entry + "]\n" + nodes_of_lab(1));
    const auto run = controller.run({"apply", "--yes"});
    INFO(run.out);
    CHECK(run.code != 0);
    CHECK(contains(run.out, words));
    CHECK_FALSE(host.has("/etc/systemd/system/srv-way.mount"));
  };
  host.shell("mkdir -p /srv/way && touch /srv/way/old");
  refused("{target: /srv/way, source: {tmpfs: {size: 1MiB}}}", "/srv/way is not empty: the mount would hide old");
  host.shell("rm /srv/way/old");
  refused("{target: /srv/way, source: {bind: /srv/no-such}}", "there is no directory /srv/no-such");
  refused("{target: /srv/way, source: {device: LABEL=no-such}, type: ext4}", "there is no /dev/disk/by-label/no-such");
  host.shell("mount -t tmpfs other /srv/way");
  refused("{target: /srv/way, source: {bind: /var/log}}", "something else is at /srv/way");
  host.shell("umount /srv/way");
  host.append("/etc/fstab", "tmpfs /srv/way tmpfs nofail 0 0\ntmpfs /srv/way tmpfs nofail 0 0\n");
  refused("{target: /srv/way, source: {tmpfs: {size: 1MiB}}}", "mount /srv/way already, more than once");
  host.shell("sed -i '\\,/srv/way,d' /etc/fstab; rmdir /srv/way; ln -s /var/log /srv/way");
  refused("{target: /srv/way, source: {tmpfs: {size: 1MiB}}}", "/srv/way is a symbolic link");
  host.shell("rm /srv/way");
}

TEST_CASE("mount: a correct existing mount is adopted unchanged, and stays after its removal from the file") {
  const Host host(1);
  const Controller controller;
  host.shell("mkdir -p /srv/own && mount -t tmpfs -o size=4M own /srv/own && touch /srv/own/kept");
  controller.cluster("storage: [{target: /srv/own, source: {tmpfs: {size: 4MiB}}}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.shell("ls /srv/own") == "kept");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  forget_all(controller);
  CHECK(host.shell("ls /srv/own") == "kept");
  host.shell("umount /srv/own && rmdir /srv/own");
}

}  // namespace sparkplan::test
