// `sync` of images with the real podman of the distribution on two hosts.
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// Hosts without images, before a case and after it, even if it fails.
class ImagesOfCase {
 public:
  explicit ImagesOfCase(std::vector<const Host*> hosts) : hosts_(std::move(hosts)) { clean(); }
  ImagesOfCase(const ImagesOfCase&) = delete;
  ImagesOfCase& operator=(const ImagesOfCase&) = delete;
  ~ImagesOfCase() { clean(); }

 private:
  void clean() const {
    for (const Host* host : hosts_) {
      (void)host->run({"podman", "image", "rm", "-a", "-f"});
      (void)host->run({"sh", "-c", "rm -rf /tmp/image /tmp/image-other /var/lib/sparkplan/images/*"});
    }
  }
  std::vector<const Host*> hosts_;
};

}  // namespace

TEST_CASE("sync: an image of podman is brought, compared by its id and started", "[containers]") {
  const Lab& lab = Lab::containers();
  const Host source(1, lab);
  const Host second(2, lab);
  const ImagesOfCase images({&source, &second});
  const std::string name = "localhost/tiny:1";
  source.shell(
      "mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/sh && tar -C /tmp/image -c . | "
      "podman import -q - " +
      name);
  const auto id_on = [&](const Host& host) { return host.shell("podman image inspect --format '{{.Id}}' " + name); };
  const Controller controller(lab);
  controller.cluster("fabric: {topology: switch, port: 1}\nimages: [{name: \"" + name +
                     "\", from: spark-01, engine: podman}]\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.err, "the image is missing"));
  const auto run = controller.run({"sync", "--json"});
  require_exit(run, 0);
  const auto report = run.document("sync.schema.json");
  CHECK(report["items"][0]["kind"] == "image");
  CHECK(report["items"][0]["image_id"] == id_on(source));
  CHECK(report["items"][0]["nodes"][1]["status"] == "sent");
  CHECK(id_on(second) == id_on(source));
  CHECK(second.shell("podman run --rm " + name + " /bin/sh -c 'echo started'") == "started");
  for (const Host* host : {&source, &second}) CHECK(host->shell("ls /var/lib/sparkplan/images").empty());
  const auto again = controller.run({"sync"});
  require_exit(again, 0);
  CHECK(contains(again.out, "nothing to do"));

  second.shell("echo other >/tmp/image-other && tar -C /tmp -c image-other | podman import -q - " + name);
  const auto refused = controller.run({"sync"});
  require_exit(refused, 9);
  CHECK(contains(refused.out, "another image of this name"));
  require_exit(controller.run({"sync", "--yes"}), 0);
  CHECK(id_on(second) == id_on(source));
}

TEST_CASE("sync: of a changed image of podman, only the layers that a receiver lacks are sent, and --prune removes it",
          "[containers]") {
  const Lab& lab = Lab::containers();
  const Host source(1, lab);
  const Host second(2, lab);
  const ImagesOfCase images({&source, &second});
  const std::string name = "localhost/app:1";
  // Podman builds in the format of OCI, and a vendor's image may have docker's.
  const std::string format = GENERATE("oci", "docker");
  source.shell(
      "mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/sh && head -c 30000000 /dev/urandom >/tmp/image/large"
      " && tar -C /tmp/image -c . | podman import -q - localhost/base:1");
  const auto build = [&](const std::string& version) {
    source.shell(
        "echo " + version + " >/tmp/image-other && one=$(podman create localhost/base:1 /bin/sh) && podman cp " +
        "/tmp/image-other $one:/version && podman commit -q -f " + format + " $one " + name + " && podman rm $one");
  };
  const auto id_on = [&](const Host& host) { return host.shell("podman image inspect --format '{{.Id}}' " + name); };
  const Controller controller(lab);
  const std::string fabric = "fabric: {topology: switch, port: 1}\n";
  controller.cluster(fabric + "images: [{name: \"" + name + "\", from: spark-01, engine: podman}]\n" + nodes_of_lab(2));
  build("one");
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto first = controller.run({"sync", "--json"});
  require_exit(first, 0);
  CHECK(first.document("sync.schema.json")["items"][0]["nodes"][1]["bytes_sent"] > 30'000'000);

  build("two");
  const auto changed = controller.run({"sync", "--yes", "--json"});
  require_exit(changed, 0);
  CHECK(changed.document("sync.schema.json")["items"][0]["nodes"][1]["bytes_sent"] < 1'000'000);
  CHECK(id_on(second) == id_on(source));
  CHECK(second.shell("podman run --rm " + name + " /bin/sh -c 'read a </version; echo $a'") == "two");
  const auto large = "cd $(podman image mount " + name + ") && sha256sum large; podman image umount " + name;
  CHECK(second.shell(large).substr(0, 64) == source.shell("sha256sum /tmp/image/large").substr(0, 64));

  // Both images on the second host came by sync; none of the source did.
  controller.cluster(fabric + nodes_of_lab(2));
  require_exit(controller.run({"sync"}), 0);
  CHECK_FALSE(id_on(second).empty());
  const auto refused = controller.run({"sync", "--prune"});
  require_exit(refused, 9);
  CHECK(contains(refused.out, "image " + name));
  require_exit(controller.run({"sync", "--prune", "--yes"}), 0);
  CHECK(second.shell("podman image ls -q").empty());
  CHECK_FALSE(id_on(source).empty());
  const auto again = controller.run({"sync", "--prune", "--yes"});
  require_exit(again, 0);
  CHECK(contains(again.out, "othing to"));
}

}  // namespace sparkplan::test
