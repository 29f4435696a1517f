// The layout of each guide as a new user tries it, from an empty cluster.yaml to `verify`: with networkd, and with
// NetworkManager as on DGX OS. The texts are those of examples/. The storage of the direct-fabric guide needs a server:
// tests/vm/storage_test.sh has one.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/network_manager_host.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::test {
namespace {

const std::string kOtherA = "enp1s0f0np0";
const std::string kOtherB = "enP2p1s0f0np0";
const std::string kRandom = "169.254.";

/// An interface and how its addresses begin, on the first and on the second host.
struct Expected {
  std::string interface;
  std::string first;
  std::string second;
};

struct Layout {
  std::string example;
  std::vector<std::string> names;  ///< Of the nodes in the file.
  std::size_t halves;              ///< Of each node's fabric.
  std::vector<Expected> interfaces;
};

/// NVIDIA's "stack two Sparks", and the how-to pages based on it.
const Layout kLinkLocal{
    "link-local-pair.yaml", {"spark-01", "spark-02"}, 2, {{kHalfA, kRandom, kRandom}, {kHalfB, kRandom, kRandom}}};
const Layout kSparkNetworking{"spark-networking-guide.yaml",
                              {"spark", "spark2"},
                              2,
                              {{kHalfA, "192.168.177.11/24", "192.168.177.12/24"}, {kHalfB, kRandom, kRandom}}};
const Layout kMultiNodeRdma{
    "multi-node-rdma-guide.yaml", {"spark-01", "spark-02"}, 1, {{kOtherB, "192.168.100.1/24", "192.168.100.2/24"}}};
const Layout kDirectFabric{"direct-fabric-guide.yaml",
                           {"spark-dgx-1", "spark-dgx-2"},
                           2,
                           {{kOtherA, "10.0.0.1/24", "10.0.0.2/24"},
                            {kOtherB, kRandom, kRandom},
                            {kHalfA, "192.168.0.188/24", "192.168.0.218/24"}}};
/// "Connect two Sparks" with two cables: four static addresses.
const Layout kDualCable{"dual-cable.yaml",
                        {"spark-01", "spark-02"},
                        4,
                        {{kOtherA, "192.168.100.11/24", "192.168.100.12/24"},
                         {kOtherB, "192.168.101.11/24", "192.168.101.12/24"},
                         {kHalfA, "192.168.102.11/24", "192.168.102.12/24"},
                         {kHalfB, "192.168.103.11/24", "192.168.103.12/24"}}};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The example with the lab's management addresses and user, and without what a host in a namespace does not have:
/// socket buffers and memlock of the machine, package sources, a storage server.
std::string text_for_lab(const std::string& example) {
  std::ifstream file(source_folder() + "/examples/" + example, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text = std::regex_replace(text, std::regex(R"(address: (10\.0\.0|192\.168\.0)\.1([1-8])([,}\n]))"),
                            "address: 10.77.0.$2$3");
  text = replaced(text, "user: nvidia", "user: operator");
  text = replaced(text, "users: [nvidia]", "users: [operator]");
  text = replaced(text, "  net.core.rmem_max: 256MiB\n  net.core.wmem_max: 256MiB\n", "  net.core.somaxconn: 8192\n");
  text = replaced(text, "value: unlimited", "value: 4096");
  text = replaced(text, "profile: dgx-spark\n",
                  "profile: dgx-spark\nsysctl: {net.core.rmem_max: null, net.core.wmem_max: null}\nlimits:\n"
                  "  - {domain: \"*\", item: memlock, value: 4096}\n  - {domain: root, item: memlock, value: 4096}\n");
  text = replaced(text, "packages: [nvme-cli]\n", "");
  return std::regex_replace(text, std::regex("\nstorage:(\n +[^\n]*)+"), "");
}

/// The nodes without any section, so that everything is restored.
std::string bare_nodes(const Layout& layout, const std::string& cluster) {
  std::string text = "version: 1\nname: " + cluster + "\nssh: {user: operator}\nnodes:\n";
  for (const std::string number : {"1", "2"}) {
    const auto& name = layout.names[number == "1" ? 0 : 1];
    text += "  - {name: " + name + ", id: " + number + ", address: 10.77.0." + number + "}\n";
  }
  return text;
}

void require_interfaces(const Layout& layout, const Host& host) {
  INFO("on " << host.name());
  for (const Expected& one : layout.interfaces) {
    INFO(one.interface);
    const std::string& wanted = host.number() == 1 ? one.first : one.second;
    const auto addresses = addresses_of(host, one.interface);
    CHECK(std::any_of(addresses.begin(), addresses.end(),
                      [&](const std::string& address) { return address.starts_with(wanted); }));
    CHECK(mtu_of(host, one.interface) == 9000);
    CHECK(is_up(host, one.interface));
  }
}

/// The doctor's findings about the network. Those about the machine are the lab's own.
std::vector<std::string> network_findings(const Json& diagnosis) {
  std::vector<std::string> rows;
  for (const auto& check : diagnosis.at("checks")) {
    const std::string row = check.at("row");
    const std::string status = check.at("status");
    if (status == "pass" || status == "skip" || row == "link-flapping") continue;
    for (const char* const about : {"link-", "address-", "twins-", "profile-", "netplan-", "route-", "cabled-"}) {
      if (row.starts_with(about)) rows.push_back(row + ": " + check.dump());
    }
  }
  return rows;
}

void require_verified(const Layout& layout, const Controller& controller) {
  const auto run = controller.run({"verify", "--json"}, seconds(300));
  require_exit(run, 0);
  const auto report = run.verification();
  INFO(report.at("checks").dump(1));
  CHECK(troubles_in(report) == std::vector<std::string>{});
  CHECK(passed_at(report, "link") == 4 * layout.halves);  // Each half of two nodes: the interface and its cable.
  CHECK(passed_at(report, "mtu") == 2 * layout.halves);
  CHECK(passed_at(report, "tcp") == 2 * layout.halves);
  CHECK(passed_at(report, "ssh") == 4);
}

/// Everything that the README tells a new user to do, then a release of all settings.
void follow(const Layout& layout, const Lab& lab, const std::vector<const Host*>& hosts) {
  INFO(layout.example);
  for (const Host* host : hosts) {
    host->shell(
        "rm -rf /etc/ssh/ssh_known_hosts /etc/ssh/ssh_config.d/60-sparkplan.conf /home/operator/.ssh/sparkplan_*; "
        "sed -i '/# sparkplan: begin/,/# sparkplan: end/d' /home/operator/.ssh/authorized_keys");
  }
  const Controller controller(lab);
  controller.file("cluster.yaml", "");
  const auto empty = controller.run({"validate"});
  require_exit(empty, 3);
  CHECK(contains(empty.out + empty.err, "cluster.yaml:1:1"));

  controller.file("cluster.yaml", text_for_lab(layout.example));
  require_exit(controller.run({"validate"}), 0);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);
  const auto applied = controller.run({"apply", "--yes", "--json"}, seconds(200));
  require_exit(applied, 0);
  for (const Host* host : hosts) require_interfaces(layout, *host);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_verified(layout, controller);
  const auto doctor = controller.run({"doctor", "--json"});
  CHECK(network_findings(doctor.diagnosis()) == std::vector<std::string>{});

  controller.file("cluster.yaml", bare_nodes(layout, applied.report().at("cluster").get<std::string>()));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}, seconds(200)), 0);
  for (const Host* host : hosts) {
    INFO("on " << host->name());
    CHECK_FALSE(host->has(kFabricFile));
    for (const Expected& one : layout.interfaces) {
      INFO(one.interface);
      CHECK(eventually([&] { return addresses_of(*host, one.interface).empty(); }));
    }
  }
}

void follow_with_networkd(const Layout& layout) {
  const Host first(1);
  const Host second(2);
  for (const Host* host : {&first, &second}) {
    host->shell("rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; for port in " +
                kHalfA + " " + kHalfB + " " + kOtherA + " " + kOtherB +
                "; do ip address flush dev $port; ip link set dev $port down mtu 1500; done");
  }
  follow(layout, Lab::get(), {&first, &second});
}

void follow_with_network_manager(const Layout& layout) {
  const FabricHost first(1);
  const FabricHost second(2);
  follow(layout, Lab::network_manager(), {&*first, &*second});
}

TEST_CASE("guides: stack two Sparks, from an empty file to verify, with networkd") { follow_with_networkd(kLinkLocal); }

TEST_CASE("guides: Spark networking, from an empty file to verify, with networkd") {
  follow_with_networkd(kSparkNetworking);
}

TEST_CASE("guides: multi-node RDMA, from an empty file to verify, with networkd") {
  follow_with_networkd(kMultiNodeRdma);
}

TEST_CASE("guides: direct fabric, from an empty file to verify, with networkd") { follow_with_networkd(kDirectFabric); }

TEST_CASE("guides: two cables, from an empty file to verify, with networkd") { follow_with_networkd(kDualCable); }

TEST_CASE("guides: stack two Sparks, from an empty file to verify, with NetworkManager", "[networkmanager]") {
  follow_with_network_manager(kLinkLocal);
}

TEST_CASE("guides: Spark networking, from an empty file to verify, with NetworkManager", "[networkmanager]") {
  follow_with_network_manager(kSparkNetworking);
}

TEST_CASE("guides: multi-node RDMA, from an empty file to verify, with NetworkManager", "[networkmanager]") {
  follow_with_network_manager(kMultiNodeRdma);
}

TEST_CASE("guides: direct fabric, from an empty file to verify, with NetworkManager", "[networkmanager]") {
  follow_with_network_manager(kDirectFabric);
}

TEST_CASE("guides: two cables, from an empty file to verify, with NetworkManager", "[networkmanager]") {
  follow_with_network_manager(kDualCable);
}

}  // namespace
}  // namespace sparkplan::test
