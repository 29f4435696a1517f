// Volumes that several nodes can reach: their writers.
#include <map>
#include <set>
#include <string>

#include "engine/resource/reported.h"
#include "resources/mount/mount_unit.h"
#include "tests/support/fake_storage.h"
#include "tests/unit/resources/storage/storage_entries.h"

namespace sparkplan::test {
namespace {

/// Two nodes with one volume, which the second one is to mount writable.
struct WriterAndIdle {
  WriterAndIdle()
      : loaded(
            load_cluster("version: 1\nname: lab\nnodes:\n  - {name: s1, address: a, storage: " + volume("ext4", "ro") +
                             "}\n  - {name: s2, address: b, storage: " + volume("ext4", "rw") + "}\n",
                         "f", builtin_registry())) {
    install_fake_storage(writer);
    writer.put_file("/fake/servers/vol", "nvme1n1");
    connect_subsystem(writer, "vol", "10.0.0.9", 4420);
    add_mount(writer, "/dev/nvme1n1", "/mnt/a", "ext4", "rw");
    install_fake_storage(idle);
    REQUIRE(loaded.cluster);
  }
  const NodeSpec& second() const { return loaded.cluster->nodes.at(1); }
  const Value& section() const { return second().sections.at("storage"); }
  /// The node of that name exports what `node` shows.
  void tell(const std::string& name, const FakeNode& node) {
    const auto told = type.exports(section(), node);
    REQUIRE(told);
    exports[name]["mount"] = *told;
  }
  Desired desired() const { return type.desired(ClusterView{*loaded.cluster, second(), exports}, section(), {}); }

  const ResourceType& type = *builtin_registry().find("mount");
  FakeNode writer;
  FakeNode idle;
  const LoadedCluster loaded;
  std::map<std::string, NodeExports> exports;
};

}  // namespace

TEST_CASE("a node does not mount a volume writable while another node writes to it", "[storage]") {
  WriterAndIdle nodes;
  SECTION("the other node writes") {
    nodes.tell("s1", nodes.writer);
    nodes.tell("s2", nodes.idle);
    const Desired found = nodes.desired();
    CHECK(found.resources.empty());
    CHECK(found.unresolved == std::set<ResourceId>{{"mount", "/mnt/a"}});
    CHECK_FALSE(found.incomplete);
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().message.starts_with("s1 still writes to \"nvme_tcp vol namespace 1\""));
    CHECK(found.diagnostics.front().hint == "apply that node first: `sparkplan apply --only s1`");
  }
  SECTION("the other node departs and still writes") {
    nodes.tell("s1", nodes.idle);
    nodes.tell("s2", nodes.idle);
    nodes.tell("s7", nodes.writer);
    const Desired found = nodes.desired();
    CHECK(found.resources.empty());
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().hint == "release that node first: `sparkplan release s7`");
  }
  SECTION("the other node's list is too long") {
    nodes.tell("s2", nodes.idle);
    Value links = Value::list();
    for (int i = 0; i < 5000; ++i) links.push_back("/dev/x" + std::to_string(i));
    nodes.exports["s1"]["mount"] = Value::map({{"writes", links}, {"places", Value::map()}});
    REQUIRE(nodes.desired().diagnostics.size() == 1);
    CHECK(nodes.desired().diagnostics.front().code == "mount.maybe-other-writer");
  }
  SECTION("the other node cannot list its volumes") {
    nodes.writer.put_file("/proc/self/mountinfo", "36 25 0:44 / /mnt/a rw - btrfs /dev/mapper/a rw\n");
    REQUIRE_FALSE(nodes.type.exports(nodes.section(), nodes.writer));
    nodes.tell("s2", nodes.idle);
    nodes.exports["s1"] = {};
    REQUIRE(nodes.desired().diagnostics.size() == 1);
    CHECK(nodes.desired().diagnostics.front().code == "mount.maybe-other-writer");
  }
  SECTION("the other node has stopped") {
    nodes.tell("s1", nodes.idle);
    nodes.tell("s2", nodes.idle);
    CHECK(nodes.desired().resources.size() == 1);
    CHECK(nodes.desired().diagnostics.empty());
  }
  SECTION("the other node is an image") {
    FakeNode image;
    image.set_live(false);
    nodes.tell("s1", image);
    nodes.tell("s2", nodes.idle);
    CHECK(nodes.desired().diagnostics.empty());
  }
}

TEST_CASE("a node does not mount a volume writable while another node would write to it again", "[storage]") {
  WriterAndIdle nodes;
  SECTION("the other node's unit would write once the server is back") {
    nodes.writer.put_file("/proc/self/mountinfo", "");
    StorageMount unmounted;
    unmounted.target = "/mnt/a";
    unmounted.kind = StorageKind::kNvmeTcp;
    unmounted.nvme = NvmeTcpVolume{"10.0.0.9", 4420, "vol", 1};
    unmounted.what = nvme_device_link(*unmounted.nvme);
    unmounted.type = "ext4";
    const auto finds = [&](bool live) {
      nodes.writer.set_live(live);
      nodes.writer.put_file("/etc/systemd/system/mnt-a.mount", mount::render_unit(unmounted));
      nodes.tell("s1", nodes.writer);
      nodes.tell("s2", nodes.idle);
      const Desired found = nodes.desired();
      CHECK(found.resources.size() == (found.diagnostics.empty() ? 1U : 0U));
      return found.diagnostics.empty() ? std::string() : found.diagnostics.front().message;
    };
    const std::string would =
        "s1 would write again, through /etc/systemd/system/mnt-a.mount, to \"nvme_tcp vol namespace 1\"";
    CHECK(finds(true).starts_with(would));
    CHECK(finds(false).starts_with(would));
    unmounted.options = {"ro"};
    CHECK(finds(true).empty());
  }
  SECTION("the other node's fstab would write") {
    nodes.writer.put_file("/proc/self/mountinfo", "");
    const auto finds = [&](const std::string& line) {
      nodes.writer.put_file("/etc/fstab", "# lines\n" + line + "\n");
      nodes.tell("s1", nodes.writer);
      nodes.tell("s2", nodes.idle);
      const Desired found = nodes.desired();
      return found.diagnostics.empty() ? std::string() : found.diagnostics.front().message;
    };
    const std::string would = "s1 would write again, through /etc/fstab:2, to \"nvme_tcp vol namespace 1\"";
    const std::string link = "/dev/disk/by-id/sparkplan-nvme-vol-1 /mnt/b ";
    CHECK(finds(link + "ext4 defaults 0 0").starts_with(would));
    CHECK(finds(link + "auto").starts_with(would));
    CHECK(finds(link + "ext4 noauto,x-systemd.automount 0 0").starts_with(would));
    CHECK(finds("/dev/nvme1n1 /mnt/b ext4 defaults 0 0").starts_with(would));
    CHECK(finds("UUID=\"a-b\" /mnt/b ext4 defaults 0 0").empty());
    CHECK(display(nodes.exports["s1"]["mount"]).find("/dev/disk/by-uuid/a-b") != std::string::npos);
    CHECK(finds(link + "ext4 noauto 0 0").empty());
    CHECK(finds(link + "ext4 defaults,ro 0 0").empty());
    CHECK(finds(link + "gfs2 defaults 0 0").empty());
  }
}

TEST_CASE("a node does not mount a volume writable while an unreachable node may write to it", "[storage]") {
  WriterAndIdle nodes;
  SECTION("the other node is unreachable") {
    nodes.tell("s2", nodes.idle);
    const Desired found = nodes.desired();
    CHECK(found.resources.empty());
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().code == "mount.maybe-other-writer");
  }
  SECTION("the other node has left the file and is unreachable") {
    nodes.tell("s1", nodes.idle);
    nodes.tell("s2", nodes.idle);
    nodes.exports["s7"] = {};
    const Desired found = nodes.desired();
    CHECK(found.resources.size() == 1);
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics.front().severity == Severity::kWarning);
  }
  SECTION("the other node is unreachable, and this node already has the mount") {
    nodes.tell("s2", nodes.writer);
    CHECK(nodes.desired().diagnostics.empty());
  }
  SECTION("the other node is unreachable, and this node has no writable mount yet") {
    const auto finds = [&] {
      nodes.tell("s2", nodes.idle);
      const Desired found = nodes.desired();
      return found.diagnostics.empty() ? std::string() : found.diagnostics.front().code;
    };
    nodes.idle.put_file("/etc/fstab", "/dev/disk/by-id/sparkplan-nvme-vol-1 /mnt/old ext4 defaults 0 0\n");
    CHECK(finds() == "mount.maybe-other-writer");
    nodes.idle.erase("/etc/fstab");
    const StorageMount ours = storage_mounts(nodes.section()).front();
    nodes.idle.put_file("/etc/systemd/system/mnt-old.mount", mount::render_unit(ours));
    CHECK(finds() == "mount.maybe-other-writer");
    nodes.idle.erase("/etc/systemd/system/mnt-old.mount");
    // Its server may be away: no other node can have been given the volume meanwhile.
    nodes.idle.put_file("/etc/systemd/system/mnt-a.mount", mount::render_unit(ours));
    CHECK(finds().empty());
  }
  SECTION("several nodes are unreachable: those in the file are listed first") {
    nodes.tell("s2", nodes.idle);
    nodes.exports["s7"] = {};
    const Desired found = nodes.desired();
    REQUIRE(found.diagnostics.size() == 2);
    CHECK(found.diagnostics.front().message.starts_with("cannot determine whether s1 "));
    CHECK(found.diagnostics.front().severity == Severity::kError);
    CHECK(found.diagnostics.back().message.starts_with("cannot determine whether s7 "));
    CHECK(found.diagnostics.back().severity == Severity::kWarning);
  }
}

TEST_CASE("a second writer through the declared server of a volume is refused, also if the node has it mounted",
          "[storage]") {
  WriterAndIdle nodes;
  SECTION("by one path") {}
  SECTION("by two paths") {
    nodes.writer.put_file("/sys/class/nvme/nvme1/subsysnqn", "vol\n");
    nodes.writer.put_file("/sys/class/nvme/nvme1/address", "traddr=10.0.0.10,trsvcid=4420\n");
  }
  nodes.tell("s1", nodes.writer);
  nodes.tell("s2", nodes.writer);
  const Desired found = nodes.desired();
  CHECK(found.resources.empty());
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics.front().severity == Severity::kError);
  CHECK(found.diagnostics.front().hint == "apply that node first: `sparkplan apply --only s1`");
}

TEST_CASE("the servers in an export have the bounds of its other parts", "[storage]") {
  WriterAndIdle nodes;
  nodes.tell("s2", nodes.idle);
  const auto export_with = [](Value served) {
    return Value::map({{"writes", Value::list()}, {"places", Value::map()}, {"served", std::move(served)}});
  };
  const auto refused = [&](Value served) {
    NodeExports told{{"mount", export_with(std::move(served))}};
    const auto checked = check_exports({"mount"}, builtin_registry(), told);
    return checked ? std::string() : checked.error().describe();
  };
  CHECK(refused(Value::map({{"/dev/a", "10.0.0.66"}})).empty());
  CHECK(refused(Value::map({{"/dev/a", 7}})) == "exported mount: served: /dev/a: expected text, found integer");
  CHECK_FALSE(refused(Value::map({{"/dev/a", "10.0.0.66\nn3 failed"}})).empty());
  Value many = Value::map();
  for (int i = 0; i < 5000; ++i) many.set("/dev/x" + std::to_string(i), "10.0.0.66");
  nodes.exports["s1"]["mount"] = export_with(many);
  REQUIRE(nodes.desired().diagnostics.size() == 1);
  CHECK(nodes.desired().diagnostics.front().code == "mount.maybe-other-writer");
}

TEST_CASE("nvme_tcp: a claim to a node's identity leaves only its declared connections unchanged", "[storage]") {
  WriterAndIdle nodes;
  const ResourceType& connections = *builtin_registry().find("nvme_tcp");
  const Value identity = Value::map({{"hostid", ""}, {"hostnqn", "nqn.x"}});
  nodes.exports["s1"]["nvme_tcp"] = identity;
  nodes.exports["s2"]["nvme_tcp"] = identity;
  const Desired found =
      connections.desired(ClusterView{*nodes.loaded.cluster, nodes.second(), nodes.exports}, nodes.section(), {});
  CHECK(found.diagnostics.size() == 1);
  CHECK(found.resources.empty());
  CHECK(found.unresolved == std::set<ResourceId>{{"nvme_tcp", "vol"}});
  CHECK_FALSE(found.incomplete);
}

}  // namespace sparkplan::test
