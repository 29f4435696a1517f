// `sync` on real hosts with a real fabric.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kTree = "/srv/models/tiny";
const std::string kFile =
    "fabric: {topology: switch, port: 1}\n"
    "models: [{path: /srv/models/tiny, from: spark-01}]\n";

/// Hosts without the directory, before a case and after it.
class SyncedHost {
 public:
  explicit SyncedHost(int number) : host_(number) { clean(); }
  SyncedHost(const SyncedHost&) = delete;
  SyncedHost& operator=(const SyncedHost&) = delete;
  ~SyncedHost() { clean(); }
  const Host* operator->() const { return &host_; }
  /// Names, modes, owners, link targets and digests of everything in the directory.
  std::string digest() const {
    return host_.shell("cd " + kTree +
                       " && { find . -printf '%p %y %m %u %l\\n'; find . -type f -exec sha256sum {} +; } "
                       "| LC_ALL=C sort | sha256sum");
  }

 private:
  void clean() const { host_.shell("rm -rf /srv/models"); }
  Host host_;
};

void make_tree(const SyncedHost& host) {
  host->shell("mkdir -p " + kTree + "/sub && cd " + kTree +
              " && head -c 30000000 /dev/urandom > large && printf text > sub/small && ln -s ../large sub/link"
              " && chmod 640 sub/small && chown operator sub/small");
}

}  // namespace

TEST_CASE("sync: three hosts receive a directory over the fabric, and a second run has nothing to do") {
  const SyncedHost source(1);
  const SyncedHost second(2);
  const SyncedHost third(3);
  make_tree(source);
  const Controller controller;
  controller.cluster(kFile + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.err, "30.0 MB missing"));
  require_exit(controller.run({"sync", "--dry-run"}), 0);
  CHECK_FALSE(second->has(kTree + "/large"));

  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  const auto report = run.document("sync.schema.json");
  CHECK(report["items"][0]["nodes"][1]["status"] == "sent");
  CHECK(second.digest() == source.digest());
  CHECK(third.digest() == source.digest());

  const auto again = controller.run({"sync"});
  require_exit(again, 0);
  CHECK(contains(again.out, "nothing to do"));
  require_exit(controller.run({"drift"}), 0);
  second->append(kTree + "/sub/small", "x");
  require_exit(controller.run({"drift"}), 2);
}

TEST_CASE("sync: a file with other content is replaced only with --yes") {
  const SyncedHost source(1);
  const SyncedHost second(2);
  make_tree(source);
  second->shell("mkdir -p " + kTree + " && echo mine > " + kTree + "/large");
  const Controller controller;
  controller.cluster(kFile + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto refused = controller.run({"sync"});
  require_exit(refused, 9);
  CHECK(contains(refused.out, "large"));
  CHECK(second->text(kTree + "/large") == "mine\n");
  require_exit(controller.run({"sync", "--yes", "--encrypt"}), 0);
  CHECK(second.digest() == source.digest());
}

TEST_CASE("sync: a node without space is exit 8, and nothing of it has a final name") {
  const SyncedHost source(1);
  const SyncedHost second(2);
  make_tree(source);
  second->shell("mkdir -p " + kTree + " && mount -t tmpfs -o size=80m tmpfs " + kTree);
  const Controller controller;
  controller.cluster(kFile + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto full = controller.run({"sync"});
  // Empty directories may be there, as they take no space.
  const std::string names = second->shell("find " + kTree + " -name .sparkplan-partial -prune -o ! -type d -print");
  second->shell("umount " + kTree);
  require_exit(full, 8);
  CHECK(names.empty());
}

}  // namespace sparkplan::test
