// Images with the real docker of the distribution on two hosts.
#include <iostream>
#include <string>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kDockerImage = "local/app:1";

/// Two hosts with a docker that runs, if that is possible here: its socket accepts connections in any case, so that a
/// client would wait without end. Without images before a case and after it.
class DockerHosts {
 public:
  DockerHosts() : first(1, Lab::docker()), second(2, Lab::docker()) {
    for (const Host* host : {&first, &second}) {
      (void)host->run({"systemctl", "--no-block", "start", "docker.service"});
      if (eventually([&] { return host->run({"timeout", "5", "docker", "version"}).exit_status == 0; }, seconds(30)))
        continue;
      missing_ = "dockerd does not start on " + host->name() + ": " + words_of_docker(*host);
      return;
    }
    runs_ = true;
    clean();
  }
  DockerHosts(const DockerHosts&) = delete;
  DockerHosts& operator=(const DockerHosts&) = delete;
  ~DockerHosts() {
    if (runs_) clean();
  }

  /// True if the case cannot run on this machine. Says why.
  bool skips() const {
    if (!missing_.empty()) std::cerr << "SKIPPED: " << missing_ << '\n';
    return !missing_.empty();
  }
  /// As skips(), also where dockerd runs and can start no container.
  bool skips_containers() {
    if (skips()) return true;
    const auto started = first.run(
        {"timeout", "30", "docker", "run", "--rm", "--network", "host", kDockerImage, "/bin/sh", "-c", "exit 0"});
    if (started.exit_status != 0) missing_ = "docker starts no container here: " + started.standard_error;
    return skips();
  }

  /// An image with a large layer and a small one.
  void build(const std::string& version) const {
    first.shell(
        "docker image inspect local/base:1 >/dev/null 2>&1 || { mkdir -p /root/tree/bin /root/tree/tmp; "
        "cp /bin/busybox /root/tree/bin/; for one in sh echo cat hostname sleep; do ln -sf busybox "
        "/root/tree/bin/$one; done; head -c 30000000 /dev/urandom >/root/tree/large; "
        "tar -C /root/tree -c . | docker import - local/base:1; }");
    first.shell("echo " + version + " >/root/version && one=$(docker create --network none local/base:1 /bin/sh) && " +
                "docker cp /root/version $one:/version && docker commit $one " + kDockerImage + " && docker rm $one");
  }
  static std::string id_on(const Host& host) {
    return host.shell("docker image inspect --format '{{.Id}}' " + kDockerImage);
  }
  static std::string cluster(bool declared) {
    const std::string images = "images: [{name: \"" + kDockerImage + "\", from: spark-01, engine: docker}]\n";
    return "fabric: {topology: switch, port: 1}\n" + (declared ? images : "") + nodes_of_lab(2);
  }

  Host first;
  Host second;

 private:
  static std::string words_of_docker(const Host& host) {
    return host.run({"journalctl", "--unit", "docker.service", "--output", "cat", "--lines", "3"}).standard_output;
  }
  void clean() const {
    for (const Host* host : {&first, &second}) {
      (void)host->run({"timeout", "50", "sh", "-c",
                       "docker rm -f $(docker ps -aq); docker image rm -f $(docker image ls -aq); "
                       "rm -rf /root/tree /root/version /var/lib/sparkplan/images/*"});
    }
  }

  std::string missing_;
  bool runs_ = false;
};

}  // namespace

TEST_CASE("docker: an image is brought by sync, compared by its id, changed by one layer and pruned", "[docker]") {
  const DockerHosts hosts;
  if (hosts.skips()) return;
  const Controller controller(Lab::docker());
  controller.cluster(DockerHosts::cluster(true));
  hosts.build("one");
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  const auto report = run.document("sync.schema.json");
  CHECK("sha256:" + report["items"][0]["image_id"].get<std::string>() == DockerHosts::id_on(hosts.first));
  CHECK(report["items"][0]["nodes"][1]["bytes_sent"] > 30'000'000);
  CHECK(DockerHosts::id_on(hosts.second) == DockerHosts::id_on(hosts.first));
  for (const Host* host : {&hosts.first, &hosts.second}) CHECK(host->shell("ls /var/lib/sparkplan/images").empty());
  const auto nothing = controller.run({"sync"});
  require_exit(nothing, 0);
  CHECK(contains(nothing.out, "nothing to do"));

  hosts.build("two");
  require_exit(controller.run({"sync"}), 9);
  const auto changed = controller.run({"sync", "--yes", "--json"});
  require_exit(changed, 0);
  CHECK(changed.document("sync.schema.json")["items"][0]["nodes"][1]["bytes_sent"] < 1'000'000);
  CHECK(DockerHosts::id_on(hosts.second) == DockerHosts::id_on(hosts.first));
  // docker itself reads both layers here.
  CHECK(hosts.second.shell("docker save " + kDockerImage + " | wc -c") ==
        hosts.first.shell("docker save " + kDockerImage + " | wc -c"));

  controller.cluster(DockerHosts::cluster(false));
  require_exit(controller.run({"sync", "--prune", "--yes"}), 0);
  CHECK(hosts.second.shell("docker image ls -q").empty());
  CHECK_FALSE(DockerHosts::id_on(hosts.first).empty());
}

TEST_CASE("docker: `run --image` starts the image that sync has brought", "[docker]") {
  DockerHosts hosts;
  if (hosts.skips()) return;
  hosts.build("one");
  if (hosts.skips_containers()) return;
  const Controller controller(Lab::docker());
  controller.cluster(DockerHosts::cluster(true));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_exit(controller.run({"sync", "--yes"}), 0);
  const auto run = controller.run({"run", "--image", kDockerImage, "--", "sh", "-c", "echo $RANK $(cat /version)"});
  require_exit(run, 0);
  CHECK(contains(run.out, "spark-01: 0 one\n"));
  CHECK(contains(run.out, "spark-02: 1 one\n"));
  for (const Host* host : {&hosts.first, &hosts.second}) {
    CHECK(eventually([&] { return host->shell("docker ps -aq").empty(); }, seconds(10)));
  }
}

}  // namespace sparkplan::test
