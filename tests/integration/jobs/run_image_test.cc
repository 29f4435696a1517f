// `run --image` with the real podman of the distribution on two hosts: every end of a job is the end of its containers.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kImage = "localhost/lab:1";

/// Two hosts with the same image, in sync with a file that asks for nothing.
struct Pair {
  Pair() : first(1, Lab::containers()), second(2, Lab::containers()), controller(Lab::containers()) {
    make_image(first);
    std::filesystem::copy_file(first.path("/root/image.tar"), second.path("/root/image.tar"),
                               std::filesystem::copy_options::overwrite_existing);
    second.shell("podman image exists " + kImage + " || podman load -q -i /root/image.tar");
    controller.cluster("profile_env: {HF_HOME: /mnt/models/hf}\n" + nodes_of_lab(2));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const Host* host : {&first, &second}) {
      static_cast<void>(host->run({"sh", "-c", "podman rm -f -a; podman rmi -f localhost/other:1"}));
    }
  }

  static void make_image(const Host& host) {
    host.shell("podman image exists " + kImage +
               " || { mkdir -p /root/tree/bin /root/tree/tmp /root/tree/etc; cp /bin/busybox /root/tree/bin/; "
               "for one in sh sleep echo hostname; do ln -sf busybox /root/tree/bin/$one; done; "
               "tar -C /root/tree -c . | podman import -q - " +
               kImage + "; podman save -q -o /root/image.tar " + kImage + "; }");
  }

  bool none_left(const std::string& time) const {
    for (const Host* host : {&first, &second}) {
      const auto left = host->shell("podman ps -aq; pgrep -f '[s]leep " + time + "|[s]parkplan-job' || true");
      if (!left.empty()) return false;
    }
    return true;
  }
  bool both_run() const {
    for (const Host* host : {&first, &second}) {
      if (host->shell("podman ps -q --filter label=sparkplan.job").empty()) return false;
    }
    return true;
  }

  Host first;
  Host second;
  Controller controller;
};

Words sleeping(const std::string& time) {
  return {"run", "--image", kImage, "--grace", "1s", "--", "sh", "-c", "trap '' TERM; sleep " + time + "; true"};
}

}  // namespace

TEST_CASE("image: each rank runs in a container with its number and its variables", "[containers]") {
  const Pair pair;
  const auto run = pair.controller.run({"run", "--image", kImage, "--env", "MINE=a b", "--workdir", "/tmp", "--", "sh",
                                        "-c", "echo $RANK/$WORLD_SIZE $HF_HOME $MINE $(pwd) $(hostname)"});
  require_exit(run, 0);
  CHECK(contains(run.out, "spark-01: 0/2 /mnt/models/hf a b /tmp spark-01\n"));
  CHECK(contains(run.out, "spark-02: 1/2 /mnt/models/hf a b /tmp spark-02\n"));
  CHECK(eventually([&] { return pair.none_left("none"); }, seconds(5)));
  const auto failed = pair.controller.run({"run", "--image", kImage, "--", "sh", "-c", "exit $((RANK * 7))"});
  require_exit(failed, 10);
  CHECK(contains(failed.err, "! spark-02: exit code 7"));
}

TEST_CASE("image: a container is named and labelled by job and rank", "[containers]") {
  const Pair pair;
  Terminal terminal(pair.controller.command(sleeping("3401")));
  REQUIRE(eventually([&] { return pair.both_run(); }));
  const auto named = pair.second.shell("podman ps --format '{{.Names}} {{.Labels}}'");
  CHECK(contains(named, "sparkplan-"));
  CHECK(contains(named, "-rank-1 "));
  CHECK(contains(named, "sparkplan.rank:1"));
  terminal.interrupt();
  CHECK(terminal.finish() == 10);
  CHECK(eventually([&] { return pair.none_left("3401"); }, seconds(5)));
}

TEST_CASE("image: a killed controller leaves no container within 5 s", "[containers]") {
  const Pair pair;
  Terminal terminal(pair.controller.command(sleeping("3402")));
  REQUIRE(eventually([&] { return pair.both_run(); }));
  terminal.kill();
  CHECK(eventually([&] { return pair.none_left("3402"); }, seconds(5)));
}

TEST_CASE("image: a killed process starter and a killed client leave no container", "[containers]") {
  const Pair pair;
  {
    Terminal terminal(pair.controller.command(sleeping("3403")));
    REQUIRE(eventually([&] { return pair.both_run(); }));
    pair.first.shell("pkill -KILL -x sparkplan-job");
    CHECK(terminal.finish() == 4);
    CHECK(eventually([&] { return pair.none_left("3403"); }));
  }
  Terminal terminal(pair.controller.command(sleeping("3404")));
  REQUIRE(eventually([&] { return pair.both_run(); }));
  pair.second.shell("pkill -KILL -x podman");
  CHECK(terminal.finish() == 10);
  CHECK(eventually([&] { return pair.none_left("3404"); }, seconds(5)));
}

TEST_CASE("image: --watch names the rank whose container holds a stopped process", "[containers]") {
  const Pair pair;
  Terminal terminal(pair.controller.command({"run", "--image", kImage, "--ranks-per-node", "2", "--watch", "2s",
                                             "--grace", "1s", "--", "sh", "-c", "exec sleep $((3405 + RANK))"}));
  REQUIRE(eventually([&] { return !pair.first.shell("pgrep -f '^sleep 3406' || true").empty(); }));
  pair.first.shell("pkill -STOP -f '^sleep 3406'");
  CHECK(terminal.wait_for("spark-01 rank 1 is stopped", seconds(30)));
  CHECK(contains(terminal.transcript(), "spark-01 rank 0: sleeping"));
  terminal.interrupt();
  CHECK(terminal.finish() == 10);
  CHECK(eventually([&] { return pair.none_left("340[5-8]"); }, seconds(5)));
}

TEST_CASE("image: a lost connection leaves no container within 30 s", "[containers]") {
  const Pair pair;
  Terminal terminal(pair.controller.command(sleeping("3405")));
  REQUIRE(eventually([&] { return pair.both_run(); }));
  pair.first.shell(
      "nft 'add table inet cut; add chain inet cut in { type filter hook input priority 0; }; "
      "add rule inet cut in tcp dport 22 drop'");
  const auto code = terminal.finish(std::chrono::seconds(60));
  const bool left = !eventually([&] { return pair.none_left("3405"); }, std::chrono::seconds(30));
  pair.first.shell("nft delete table inet cut");
  CHECK(code == 4);
  CHECK_FALSE(left);
}

TEST_CASE("image: the preflight names a missing image and one that differs", "[containers]") {
  const Pair pair;
  const auto missing = pair.controller.run({"run", "--image", "localhost/none:1", "--", "true"});
  require_exit(missing, 8);
  CHECK(contains(missing.err, "image: podman has no image localhost/none:1"));
  CHECK(contains(missing.err, "podman pull localhost/none:1"));
  // An import has the time of its making in it.
  for (const Host* host : {&pair.first, &pair.second}) {
    host->shell("echo " + host->name() + " >/root/one; tar -C /root -c one | podman import -q - localhost/other:1");
  }
  const auto differs = pair.controller.run({"run", "--json", "--image", "localhost/other:1", "--", "true"});
  require_exit(differs, 8);
  CHECK(contains(differs.err, "localhost/other:1 is not the same image"));
  CHECK(differs.document("job.schema.json").at("preflight").at(0).at("name") == "image");
}

}  // namespace sparkplan::test
