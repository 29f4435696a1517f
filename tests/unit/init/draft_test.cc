// The file that `init` writes for unmanaged machines, whatever they report.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>

#include "engine/core/keyed_digest.h"
#include "engine/init/bare_file.h"
#include "engine/init/sections.h"
#include "engine/init/yaml_writer.h"
#include "engine/resource/record_list.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
namespace {

/// With SPARKPLAN_ACCEPT=1 the file is written instead; then read the difference.
void compare_with_golden(const std::string& name, const std::string& text) {
  const std::string path = source_folder() + "/tests/unit/init/drafts/" + name + ".yaml";
  if (std::getenv("SPARKPLAN_ACCEPT") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == golden);
}

}  // namespace

TEST_CASE("two new DGX Sparks with one cable get topology direct") {
  auto machines = std::vector{bare_spark(1), bare_spark(2)};
  for (auto& machine : machines) {
    machine.facts->extended.emplace();
    machine.facts->extended->sysctl["net.core.rmem_max"] = "212992";
  }
  compare_with_golden("two-new-sparks", draft_of(machines));
}

TEST_CASE("eight new DGX Sparks on a switch get topology switch") {
  std::vector<InitMachine> machines;
  for (int i = 1; i <= 8; ++i) machines.push_back(bare_spark(i, {0}));
  compare_with_golden("eight-new-sparks", draft_of(machines));
}

TEST_CASE("machines of another product that take the profile from most machines are named") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2), bare_spark(3), bare_spark(4)};
  machines[2].facts->product = "Some server";
  CHECK(contains(draft_of(machines), "\n# Without spark-03, `profile: dgx-spark` would fit: it is no DGX Spark.\n"));
  machines[3].facts->product = "Some server";
  CHECK(contains(draft_of(machines), "\n# Without spark-[03-04], `profile: dgx-spark` would fit: they are no DGX"));
  machines[0].facts->product = "Some server";
  CHECK_FALSE(contains(draft_of(machines), "profile"));
}

TEST_CASE("existing addresses are kept, and the files that set them stay in charge") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(first, "enp1s0f1np1", "192.168.177.11/24");
  set_address(second, "enp1s0f1np1", "192.168.177.12/24");
  for (auto* machine : {&first, &second}) link_of(*machine, "enP2p1s0f1np1").mtu = 9000;
  compare_with_golden("one-address-on-half-a", draft_of({first, second}));
}

TEST_CASE("network storage is mentioned in a comment and left out") {
  auto machine = bare_spark(1);
  machine.facts->extended.emplace();
  machine.facts->extended->fstab = {{"/dev/disk/by-id/nvme-x", "/mnt/models", "ext4", "ro,_netdev"},
                                    {"UUID=1", "/", "ext4", "defaults"}};
  const std::string text = draft_of({machine});
  CHECK(contains(text, "  # /etc/fstab mounts /mnt/models from /dev/disk/by-id/nvme-x (ext4).\n"));
  CHECK_FALSE(contains(text, "UUID=1"));
}

TEST_CASE("ten thousand records of one machine are split from those of another in less than five seconds") {
  const RecordList by_name{{"name"}};
  Value many = Value::list();
  for (int i = 0; i < 10'000; ++i) many.push_back(Value::map({{"name", "unit-" + std::to_string(i)}}));
  const Value one = Value::list({Value::map({{"name", "unit-7"}})});
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  const Split split = split_common({many, one}, &by_name);
  CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 5);
  CHECK(split.common == one);
  REQUIRE(split.rests[0].is_list());
  CHECK(split.rests[0].list_items()->size() == 9'999);
  CHECK(split.rests[1].is_null());
}

TEST_CASE("thirty thousand settings of one machine are split from those of another in less than five seconds") {
  Value many = Value::map();
  for (int i = 0; i < 30'000; ++i)
    many.entries()->push_back({"net.a.rather.long.name.of.a.key" + std::to_string(i), i});
  const Value one = Value::map({{"net.a.rather.long.name.of.a.key7", 7}, {"vm.swappiness", 10}});
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  const Split split = split_common({many, one}, nullptr);
  CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 5);
  CHECK(split.common == Value::map({{"net.a.rather.long.name.of.a.key7", 7}}));
  REQUIRE(split.rests[0].is_map());
  CHECK(split.rests[0].entries()->size() == 29'999);
  CHECK(split.rests[1] == Value::map({{"vm.swappiness", 10}}));
}

TEST_CASE("a machine with thousands of network mounts and interfaces keeps the others from no file") {
  auto second = bare_spark(2);
  second.facts->extended.emplace();
  const std::string options = "_netdev," + std::string(8000, 'x');
  for (int i = 0; i < 4000; ++i) {
    const std::string number = std::to_string(i);
    second.facts->extended->fstab.push_back({"server:/" + std::string(4000, 'd'), "/mnt/" + number, "nfs", options});
    LinkFacts link;
    link.name = "en" + number + std::string(250, 'x') + "np1";
    link.addresses = {"10.9.0.1/24"};
    second.facts->links.push_back(link);
  }
  const auto draft = attempt({bare_spark(1), second});
  REQUIRE(draft);
  CHECK(draft->text.size() < 100'000);
  CHECK(contains(draft->text, "It has 3984 more."));
  CHECK(contains(draft->text, "spark-02 has more."));
  CHECK(loaded(draft->text).nodes.size() == 2);
}

TEST_CASE("different machines are reported in a remark") {
  auto second = bare_spark(2);
  second.facts->memory_total_bytes /= 2;
  second.facts->os_version = "22.04";
  const auto draft = attempt({bare_spark(1), second});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.mixed-machines"));
  CHECK(draft->remarks.size() == 2);
  CHECK_FALSE(has_remark(*attempt({bare_spark(1), bare_spark(2)}), "init.mixed-machines"));
}

TEST_CASE("a machine that claims the largest memory of all numbers does not hold up the draft") {
  auto second = bare_spark(2);
  second.facts->memory_total_bytes = std::numeric_limits<std::int64_t>::max();
  const auto draft = attempt({bare_spark(1), second});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.mixed-machines"));
  second.facts->memory_total_bytes = std::int64_t{128} << 30;
  CHECK_FALSE(has_remark(*attempt({bare_spark(1), second}), "init.mixed-machines"));
}

TEST_CASE("a managed resource that the file cannot express is reported") {
  auto machines = applied(loaded("version: 1\nname: lab\nnodes: [{name: n1, address: 10.0.0.1}]\nhosts: {}\n"));
  auto& resources = machines.front().manifest->resources;
  REQUIRE(resources.size() == 1);
  resources.emplace(ResourceId{"hosts", "no-member-of-ours"}, ManagedResource{Value::map(), {}});
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
}

TEST_CASE("a manifest with what no file may have is left out with a remark, and the other machines get their file") {
  auto machines = applied(
      loaded("version: 1\nname: lab\nsysctl: {vm.swappiness: 10}\n"
             "nodes: [{name: n1, address: 10.0.0.1}, {name: n2, address: 10.0.0.2}, {name: n3, address: 10.0.0.3}]\n"));
  auto& resources = machines[1].manifest->resources;
  const auto manage = [&](const std::string& type, const std::string& name, Value value) {
    resources.emplace(ResourceId{type, name}, ManagedResource{std::move(value), {}});
  };
  SECTION("a parameter that cannot exist") {
    manage("sysctl", "no such/../key", Value::map({{"persistent", "1"}, {"running", "1"}}));
  }
  SECTION("a file that locks all users out") {
    manage("file", "/etc/passwd", Value::map({{"content", "x\n"}, {"mode", "0644"}, {"uid", 0}, {"gid", 0}}));
  }
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
  const Cluster cluster = loaded(draft->text);
  REQUIRE(cluster.nodes.size() == 3);
  for (const NodeSpec& node : cluster.nodes) {
    INFO(node.name.str());
    CHECK(node.sections.at("sysctl").find("vm.swappiness") != nullptr);
    CHECK_FALSE(node.sections.contains("files"));
  }
}

TEST_CASE("a machine that no file may have is left out with a remark, and the other machines get their file") {
  auto second = bare_spark(2);
  second.address = "10.0.0.12 x";
  const auto draft = attempt({bare_spark(1), second, bare_spark(3)});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
  CHECK(contains(draft->text, "  # No file may have it: \"10.0.0.12 x\" is not an address\n"));
  const Cluster cluster = loaded(draft->text);
  REQUIRE(cluster.nodes.size() == 2);
  CHECK(cluster.nodes[1].name.str() == "spark-03");
  const bool lists_another = GENERATE(false, true);
  if (lists_another) {
    RosterEntry other;
    other.name = "spark-07";
    other.id = 7;
    other.address = "10.0.0.17";
    second.manifest.emplace().roster = Roster{"lab", "11111111-2222-4333-8444-555555555555", 1, {other}};
  }
  const auto alone = attempt({second});
  REQUIRE_FALSE(alone);
  CHECK(contains(alone.error().message, "is not an address"));
}

TEST_CASE("an RDMA device whose name no file may have is left out, and the other machines get their file") {
  auto second = bare_spark(2);
  for (LinkFacts& link : second.facts->links) link.rdma_devices.clear();
  for (const std::string name : {"-x: [", "rdma0", "rdma0"}) {
    RdmaDeviceFacts device;
    device.name = name;
    device.ports = 1;
    device.port_facts.resize(1);
    device.port_facts.front().gids = {{0, "RoCE v2", "fe80::1", "enp1s0f1np1"}};
    second.facts->rdma_devices.push_back(device);
  }
  const auto draft = attempt({bare_spark(1), second});
  REQUIRE(draft);
  CHECK(loaded(draft->text).nodes.size() == 2);
  CHECK(contains(draft->text, "hcas: [rdma0]"));
}

TEST_CASE("of many parts, those with which a file cannot be loaded are found with few attempts") {
  int attempts = 0;
  const auto without_some = [&](const std::vector<bool>& kept) {
    ++attempts;
    return !kept[3] && !kept[700];
  };
  const auto kept = loadable_parts(1000, without_some);
  CHECK(std::count(kept.begin(), kept.end(), false) == 2);
  CHECK_FALSE(kept[3]);
  CHECK_FALSE(kept[700]);
  CHECK(attempts < 60);
  CHECK(loadable_parts(2, [](const std::vector<bool>&) { return false; }) == std::vector<bool>{false, false});
}

TEST_CASE("a secret is left out with a remark, and the plain variables beside it are written") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nnodes: [{name: n1, address: 10.0.0.1}]\nprofile_env: {A: b, C: d}\n"));
  auto& resources = machines.front().manifest->resources;
  REQUIRE(resources.size() == 2);
  resources.emplace(ResourceId{"profile_env", "HF_TOKEN"},
                    ManagedResource{Value::map({{"value", std::string(kUnreadSecret)}}), {}});
  const auto draft = attempt(machines);
  REQUIRE(draft);
  std::string message;
  for (const Diagnostic& remark : draft->remarks) {
    if (remark.code == "init.not-written") message += remark.message;
  }
  CHECK(
      message.starts_with("profile_env on n1 has secrets whose source no node knows (HF_TOKEN): the file lacks them"));
  const Cluster cluster = loaded(draft->text);
  const Value& variables = cluster.nodes.front().sections.at("profile_env");
  CHECK(variables.text_or("A", "") == "b");
  CHECK(variables.text_or("C", "") == "d");
  CHECK(variables.find("HF_TOKEN") == nullptr);
}

TEST_CASE("a machine's texts cannot break the file") {
  auto machine = bare_spark(1);
  machine.facts->os_name = "Ubuntu\n24.04\x1b[31m: [";
  machine.facts->product = "a # b: {";
  machine.facts->hostname = "x\ny";
  CHECK(loaded(draft_of({machine})).nodes.size() == 1);
}

TEST_CASE("any text value survives the written file") {
  for (const std::string value :
       {"",           " ",     "yes",         "No",          "null",     "~",    "1",   "1.5", "0x10", "007", "1e3",
        "2026-01-01", ".inf",  "a b",         "a: b",        "a #b",     "#a",   "- a", "[a",  "{a",   "a,b", "\"a\"",
        "'a'",        "\\",    "a\\nb",       "&a",          "*a",       "!a",   "%a",  "@a",  "`a`",  "|",   ">",
        "ä",          "=ens1", "/path/to/it", "10.0.0.1/24", "12:30:45", "true", "+1",  "-",   "?"}) {
    INFO(value);
    const Value file = Value::map({{"version", 1},
                                   {"name", "lab"},
                                   {"profile_env", Value::map({{"X", value}})},
                                   {"nodes", Value::list({Value::map({{"name", "n1"}, {"address", "h"}})})}});
    YamlWriter writer;
    for (const MapEntry& entry : *file.entries()) writer.entry(entry.key, entry.value);
    const Cluster cluster = loaded(writer.take());
    CHECK(cluster.nodes.front().sections.at("profile_env").text_or("X", "?") == value);
  }
}

}  // namespace sparkplan::test
