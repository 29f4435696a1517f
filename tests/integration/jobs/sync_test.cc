// `sync` on real hosts with a real fabric.
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "tests/integration/jobs/synced_host.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
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
  for (const char* command : {"status", "drift", "doctor"}) {
    INFO(command);
    const auto seen = controller.run({command});
    CHECK(contains(seen.out + seen.err, "30.0 MB missing"));
  }
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
  const auto verified = controller.run({"sync", "--verify", "--json"});
  require_exit(verified, 0);
  const auto verified_nodes = verified.document("sync.schema.json")["items"][0]["nodes"];
  CHECK(verified_nodes[1]["status"] == "present");
  CHECK(verified_nodes[1]["bytes_sent"] == 0);
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
  const auto run = controller.run({"sync", "--yes", "--encrypt", "--limit", "8MB/s", "--json"});
  require_exit(run, 0);
  CHECK(second.digest() == source.digest());
  // Progress: one object per line.
  CHECK(contains(run.err, "\"node\":\"spark-02\""));
  for (const auto line : split(trim(run.err), '\n')) {
    INFO(line);
    CHECK((line.starts_with("{\"name\"") && line.ends_with("}")));
  }
}

TEST_CASE("sync: a folder for unfinished files that another user has made is not used") {
  const SyncedHost source(1);
  const SyncedHost second(2);
  make_tree(source);
  const std::string folder = kTree + "/.sparkplan-partial";
  second->shell("mkdir -p " + folder + " && touch " + folder + "/journal && chown -R operator " + folder);
  const Controller controller;
  controller.cluster(kFile + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"sync"}), 0);
  CHECK(second.digest() == source.digest());
  CHECK_FALSE(second->has(folder));

  second->append(kTree + "/large", "x");
  second->shell("mkdir " + folder + " && touch " + folder + "/precious && chown -R operator " + folder);
  const auto refused = controller.run({"sync", "--yes"});
  require_exit(refused, 9);
  CHECK(contains(refused.out, ".sparkplan-partial belongs"));
  CHECK(second->has(folder + "/precious"));
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

TEST_CASE("sync: the directory may be a mount point, and one below it is refused") {
  const SyncedHost source(1);
  const SyncedHost second(2);
  make_tree(source);
  const Controller controller;
  controller.cluster(kFile + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  source->shell("mkdir " + kTree + "/below && mount -t tmpfs tmpfs " + kTree + "/below");
  const auto refused = controller.run({"sync"});
  source->shell("umount " + kTree + "/below && rmdir " + kTree + "/below");
  require_exit(refused, 9);
  CHECK(contains(refused.out, "below is on another file system than its tree"));
  CHECK_FALSE(second->has(kTree + "/large"));

  second->shell("mkdir -p " + kTree + " && mount -t tmpfs -o size=200m tmpfs " + kTree);
  const auto run = controller.run({"sync"});
  const auto digest = second->shell("sha256sum " + kTree + "/large");
  second->shell("umount " + kTree);
  require_exit(run, 0);
  CHECK(digest == source->shell("sha256sum " + kTree + "/large"));
}

namespace {

const std::string kCommit = "0123456789012345678901234567890123456789";

/// Makes the cache of a model as the tools of the hub leave it, with a download and a lock that are not finished.
std::string cache_script(const std::string& hub) {
  const std::string model = hub + "/models--org--tiny";
  return "set -e; mkdir -p " + hub + "/.locks/models--org--tiny " + model + "/blobs " + model + "/refs " + model +
         "/snapshots/" + kCommit + "/sub; cd " + model +
         "; head -c 20000000 /dev/urandom >blobs/aaaa; printf {} >blobs/bbbb; printf x >blobs/cccc.incomplete"
         "; printf " +
         kCommit + " >refs/main; cd snapshots/" + kCommit +
         "; ln -s ../../blobs/aaaa model.safetensors; ln -s ../../../blobs/bbbb sub/config.json";
}

/// Owner, kind and link target of each name, and the digests.
std::string digest_of_model(const Host& host, const std::string& hub) {
  return host.shell("cd " + hub +
                    "/models--org--tiny && { find . ! -name '*.incomplete' -printf '%p %y %m %u %l\n'; "
                    "find . -type f ! -name '*.incomplete' -exec sha256sum {} +; } | LC_ALL=C sort | sha256sum");
}

/// A host without caches, before a case and after it.
class HubHost {
 public:
  explicit HubHost(int number) : host_(number) { clean(); }
  HubHost(const HubHost&) = delete;
  HubHost& operator=(const HubHost&) = delete;
  ~HubHost() { clean(); }
  const Host* operator->() const { return &host_; }
  const Host& operator*() const { return host_; }

 private:
  void clean() const {
    host_.shell("rm -rf /home/operator/.cache /srv/hf /srv/models /var/lib/sparkplan/copy /var/lib/sparkplan/images");
  }
  Host host_;
};

/// A directory that hosts do not have after a case, even if it fails.
class TreeOfCase {
 public:
  TreeOfCase(std::string path, std::vector<const HubHost*> hosts) : path_(std::move(path)), hosts_(std::move(hosts)) {}
  TreeOfCase(const TreeOfCase&) = delete;
  TreeOfCase& operator=(const TreeOfCase&) = delete;
  ~TreeOfCase() {
    for (const HubHost* host : hosts_) (void)(*host)->run({"rm", "-rf", path_});
  }

 private:
  std::string path_;
  std::vector<const HubHost*> hosts_;
};

}  // namespace

TEST_CASE("sync: a model of the hub is brought into the cache of the login user") {
  const HubHost source(1);
  const HubHost second(2);
  const std::string hub = "/home/operator/.cache/huggingface/hub";
  source->shell("runuser -u operator -- sh -c '" + cache_script(hub) + "'");
  const Controller controller;
  controller.cluster("fabric: {topology: switch, port: 1}\nmodels: [{hub: org/tiny, from: spark-01}]\n" +
                     nodes_of_lab(2, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  const auto report = run.document("sync.schema.json");
  CHECK(report["items"][0]["kind"] == "hub");
  CHECK(report["items"][0]["nodes"][1]["network"] == "fabric");
  CHECK(digest_of_model(*second, hub) == digest_of_model(*source, hub));
  CHECK_FALSE(second->has(hub + "/models--org--tiny/blobs/cccc.incomplete"));
  // The directories above belong to the user too: the next download writes into them.
  CHECK(second->shell("stat -c %U /home/operator/.cache " + hub) == "operator\noperator");
  require_exit(controller.run({"drift"}), 0);
}

TEST_CASE("sync: HF_HOME of a node decides where its cache is") {
  const HubHost source(1);
  const HubHost second(2);
  source->shell("mkdir /srv/hf && chown operator /srv/hf && runuser -u operator -- sh -c '" +
                cache_script("/srv/hf/hub") + "'");
  const Controller controller;
  controller.cluster(
      "fabric: {topology: switch, port: 1}\nprofile_env: {HF_HOME: /srv/hf}\n"
      "models: [{hub: org/tiny, owner: operator}]\n" +
      nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"sync", "--yes"}), 0);  // Without `from`, files of one node alone need consent.
  CHECK(digest_of_model(*second, "/srv/hf/hub") == digest_of_model(*source, "/srv/hf/hub"));
  CHECK(second->shell("stat -c %U /srv/hf /srv/hf/hub") == "operator\noperator");
}

TEST_CASE("sync: a directory and a model of the controller reach one node over SSH and the others over the fabric") {
  const HubHost first(1);
  const HubHost second(2);
  const HubHost third(3);
  const Controller controller;
  const ScratchDirectory scratch;
  const TreeOfCase removed(scratch.path().string(), {&first, &second, &third});
  const auto tree = (scratch.path() / "weights").string();
  run_program({"sh", "-c",
               "mkdir -p " + tree + "/sub && head -c 30000000 /dev/urandom >" + tree + "/large && ln -s ../large " +
                   tree + "/sub/link"});
  run_program({"sh", "-c", cache_script((controller.home() / ".cache/huggingface/hub").string())});
  controller.cluster("fabric: {topology: switch, port: 1}\nmodels:\n  - {path: " + tree +
                     ", from: here}\n  - {hub: org/tiny, from: here, owner: operator}\n" + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  const auto report = run.document("sync.schema.json");
  const auto& nodes = report["items"][0]["nodes"];
  CHECK(nodes[0]["network"] == "ssh");
  CHECK(nodes[1]["network"] == "fabric");
  CHECK(nodes[2]["network"] == "fabric");
  CHECK(nodes[3]["name"] == "here");
  CHECK(nodes[3]["source"] == true);
  const auto digest = [&](const std::string& file) {
    return std::string(trim(run_program({"sha256sum", file}).standard_output));
  };
  for (const HubHost* host : {&first, &second, &third}) {
    CHECK((*host)->shell("sha256sum " + tree + "/large") == digest(tree + "/large"));
    CHECK((*host)->shell("stat -c %U " + tree + "/large") == "root");
    CHECK((*host)->shell("readlink " + tree + "/sub/link") == "../large");
    const std::string blob = "/home/operator/.cache/huggingface/hub/models--org--tiny/blobs/aaaa";
    CHECK((*host)->shell("stat -c %U " + blob) == "operator");
  }
}

TEST_CASE("sync: nodes without a common fabric receive over the management network, with a warning") {
  const HubHost source(1);
  const HubHost second(2);
  source->shell("mkdir -p /srv/models/plain && head -c 20000000 /dev/urandom >/srv/models/plain/large");
  const Controller controller;
  controller.cluster("models: [{path: /srv/models/plain, from: spark-01}]\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto before = controller.run({"sync", "--dry-run"});
  require_exit(before, 0);
  CHECK(contains(before.out, "warning: no common fabric network: spark-02"));
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  CHECK(run.document("sync.schema.json")["items"][0]["nodes"][1]["network"] == "management");
  CHECK(second->shell("sha256sum /srv/models/plain/large") == source->shell("sha256sum /srv/models/plain/large"));
}

TEST_CASE("sync: --prune removes what a sync brought and the file no longer names, after a question") {
  const HubHost source(1);
  const HubHost second(2);
  source->shell(
      "mkdir -p /srv/models/a /srv/models/b && echo one >/srv/models/a/one && echo two >/srv/models/a/two"
      " && echo b >/srv/models/b/b");
  const std::string fabric = "fabric: {topology: switch, port: 1}\n";
  const std::string only_b = "models: [{path: /srv/models/b, from: spark-01}]\n";
  const Controller controller;
  controller.cluster(fabric +
                     "models: [{path: /srv/models/a, from: spark-01}, {path: /srv/models/b, from: spark-01}]\n" +
                     nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"sync"}), 0);
  second->shell("echo changed >/srv/models/a/two");

  controller.cluster(fabric + only_b + nodes_of_lab(2));
  require_exit(controller.run({"sync"}), 0);
  CHECK(second->has("/srv/models/a/one"));
  const auto refused = controller.run({"sync", "--prune"});
  require_exit(refused, 9);
  CHECK(contains(refused.out, "/srv/models/a"));
  CHECK(second->has("/srv/models/a/one"));
  const auto run = controller.run({"sync", "--prune", "--yes", "--json"});
  require_exit(run, 0);
  const auto pruned = run.document("sync.schema.json")["pruned"];
  REQUIRE(pruned.size() == 1);
  CHECK(pruned[0]["node"] == "spark-02");
  CHECK(pruned[0]["kept"][0] == "two");
  CHECK_FALSE(second->has("/srv/models/a/one"));
  CHECK(second->has("/srv/models/a/two"));
  CHECK(second->has("/srv/models/b/b"));
  // The source's own files are not what a sync brought.
  CHECK(source->has("/srv/models/a/one"));
  const auto again = controller.run({"sync", "--prune", "--yes"});
  require_exit(again, 0);
  CHECK(contains(again.out, "nothing to do"));
}

}  // namespace sparkplan::test
