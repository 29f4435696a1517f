// The section `storage` and the rest of cluster.yaml: how init restores it, and what its servers wait for.
#include <algorithm>

#include "engine/domain/storage/storage_network.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "engine/resource/registry.h"
#include "resources/mount/mount_unit.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

Cluster cluster_of(const std::string& text) {
  const LoadedCluster loaded = load_cluster("version: 1\nname: lab\n" + text, "f", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(render(one, loaded.source));
  REQUIRE(loaded.cluster);
  return *loaded.cluster;
}

/// One entry of the section, converted to units and back.
Value back(const std::string& entry) {
  const Cluster cluster = cluster_of("storage: [" + entry + "]\nnodes: [{name: a, address: b}]\n");
  const auto mounts = storage_mounts(cluster.nodes.front().sections.at("storage"));
  REQUIRE(mounts.size() == 1);
  const std::string unit = mount::render_unit(mounts.front());
  const auto section = mount::section_of({{mounts.front().target, Value::map({{"unit", unit}})}});
  REQUIRE(section);
  REQUIRE(section->list_items()->size() == 1);
  CHECK(mount::render_unit(storage_mounts(*section).front()) == unit);
  return section->list_items()->front();
}

std::vector<std::string> options_of(const Value& entry) {
  std::vector<std::string> options;
  const Value* list = entry.find("options");
  if (list == nullptr) return options;
  for (const Value& option : *list->list_items()) options.push_back(*option.string());
  return options;
}

/// The parts of the fabric that the first node's storage waits for.
std::vector<std::string> waits_for(const std::string& text) {
  const Cluster cluster = cluster_of(text);
  const NodeSpec& self = cluster.nodes.front();
  Facts facts;
  facts.product = "DGX Spark";
  std::vector<std::string> names;
  const std::map<std::string, NodeExports> exports;
  for (const ResourceId& id :
       fabric_of_storage({cluster, self, exports}, facts, storage_mounts(self.sections.at("storage")))) {
    names.push_back(id.str());
  }
  return names;
}

const std::string kTwoSparks =
    "profile: dgx-spark\nssh: {user: nvidia}\nfabric: {topology: direct, port: 1}\nnodes:\n"
    "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n";

std::string nfs(const std::string& server) {
  return "storage: [{target: /mnt/home, source: {nfs: {server: " + server + ", path: /home}}}]\n";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("an entry is restored from its unit, without added options", "[storage]") {
  const Value volume = back(
      "{target: /mnt/a, type: ext4, options: [ro, noatime], source: {nvme_tcp: {address: fe80::1, port: 4421, "
      "subsystem: nqn.2014-08.org.nvmexpress:uuid:1-2, namespace: 4294967294}}}");
  CHECK(
      volume ==
      Value::map({{"target", "/mnt/a"},
                  {"source", Value::map({{"nvme_tcp", Value::map({{"address", "fe80::1"},
                                                                  {"port", 4421},
                                                                  {"subsystem", "nqn.2014-08.org.nvmexpress:uuid:1-2"},
                                                                  {"namespace", std::int64_t{4294967294}}})}})},
                  {"type", "ext4"},
                  {"options", Value(Value::List{"noatime", "ro"})}}));
  const Value plain = back("{target: /mnt/a, type: xfs, source: {nvme_tcp: {address: s, subsystem: v}}}");
  CHECK(plain.find("options") == nullptr);
  CHECK(plain.find("source")->find("nvme_tcp")->find("port") == nullptr);
  CHECK(plain.find("source")->find("nvme_tcp")->find("namespace") == nullptr);
  const Value home = back("{target: /mnt/h, source: {nfs: {server: \"fe80::2\", path: \"/ex:/port\"}}}");
  CHECK(home.find("source")->find("nfs")->text_or("server", "") == "fe80::2");
  CHECK(home.find("source")->find("nfs")->text_or("path", "") == "/ex:/port");
  CHECK(home.find("type") == nullptr);
  const Value memory = back("{target: /mnt/m, source: {tmpfs: {size: 1.5GiB}}, options: [nosuid]}");
  CHECK(memory.find("source")->find("tmpfs")->text_or("size", "") == "1536MiB");
  CHECK(options_of(memory) == Names{"nosuid"});
  CHECK(back("{target: /mnt/d, type: ext4, source: {device: LABEL=data}}").find("source")->text_or("device", "") ==
        "LABEL=data");
  CHECK(back("{target: /mnt/d, type: ext4, source: {device: /dev/disk/by-label/a_b}}")
            .find("source")
            ->text_or("device", "") == "/dev/disk/by-label/a_b");
  CHECK(back("{target: \"/mnt/50% b\", source: {bind: \"/srv/50% a\"}}").find("source")->text_or("bind", "") ==
        "/srv/50% a");
}

TEST_CASE("options written by the user are restored if their order shows it", "[storage]") {
  const auto options = [](const std::string& written) {
    return options_of(back("{target: /mnt/a, type: ext4, options: [" + written + "], source: {device: UUID=a-b}}"));
  };
  CHECK(options("nofail, noatime") == Names{"nofail", "noatime"});
  CHECK(options("noload, ro") == Names{"ro"});
  CHECK(options("noatime, nofail") == Names{"noatime"});
  CHECK(options("ro, nofail, noatime") == Names{"nofail", "noatime", "noload", "ro"});
}

TEST_CASE("a unit that no section produces cannot be restored", "[storage]") {
  CHECK_FALSE(mount::section_of({{"/mnt/a", Value::map({{"unit", "[Mount]\nWhat=/dev/sdb\nType=ext4\n"}})}}));
  CHECK_FALSE(mount::section_of({{"/mnt/a", Value::map()}}));
}

TEST_CASE("storage waits for the half of the fabric that leads to its server", "[storage]") {
  CHECK(waits_for(nfs("192.168.101.99") + kTwoSparks) == Names{"netplan/enP2p1s0f1np1"});
  CHECK(waits_for(nfs("10.0.0.99") + kTwoSparks).empty());
  CHECK(waits_for(nfs("storage.example.org") + kTwoSparks).empty());
  const std::string volume =
      "storage: [{target: /mnt/a, type: gfs2, source: {nvme_tcp: {address: 192.168.100.99, subsystem: v}}}]\n";
  CHECK(waits_for(volume + kTwoSparks) == Names{"netplan/enp1s0f1np1"});
  SECTION("a node of the cluster under the name from hosts") {
    const Names both{"netplan/enp1s0f1np1", "netplan/enP2p1s0f1np1"};
    CHECK(waits_for(nfs("spark-02-fabric") + kTwoSparks) == both);
    CHECK(waits_for(nfs("spark-02.f") + "hosts: {suffix: .f}\n" + kTwoSparks) == both);
    CHECK(waits_for(nfs("spark-02") + kTwoSparks).empty());
  }
}

TEST_CASE("all mounts of a node wait, because they share directories", "[storage]") {
  const Cluster cluster = cluster_of(
      "storage:\n"
      "  - {target: /mnt/a, type: gfs2, source: {nvme_tcp: {address: 192.168.100.99, subsystem: v}}}\n"
      "  - {target: /mnt/b, source: {tmpfs: {size: 1GiB}}}\n" +
      kTwoSparks);
  Facts facts;
  facts.product = "DGX Spark";
  const std::map<std::string, NodeExports> exports{{"spark-01", {{"netplan", Value::map()}}}};
  const auto desired = desired_state({cluster, cluster.nodes.front(), exports}, facts, builtin_registry());
  const ResourceId half{"netplan", "enp1s0f1np1"};
  int waiting = 0;
  for (const Resource& resource : desired.resources) {
    const bool of_storage = resource.id.type == "mount" || resource.id.type == "nvme_tcp";
    const bool waits = std::find(resource.after.begin(), resource.after.end(), half) != resource.after.end();
    CHECK(waits == of_storage);
    waiting += waits ? 1 : 0;
  }
  CHECK(waiting == 3);
}

}  // namespace sparkplan::test
