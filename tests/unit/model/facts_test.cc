#include "engine/model/facts.h"

#include <chrono>
#include <limits>

#include "engine/model/ipv4.h"
#include "engine/model/manifest.h"
#include "tests/support/catch.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

Facts some_facts() {
  Facts facts;
  facts.hostname = "spark-01";
  facts.machine_id = "0123456789abcdef0123456789abcdef";
  facts.boot_id = "b";
  facts.architecture = "aarch64";
  facts.kernel = "6.11.0-1016-nvidia";
  facts.os_id = "ubuntu";
  facts.os_name = "Ubuntu 24.04.2 LTS";
  facts.os_version = "24.04";
  facts.product = "NVIDIA DGX Spark";
  facts.nccl_version = "2.28.9";
  facts.live = false;
  facts.memory_total_bytes = 137438953472;
  facts.uptime_seconds = 77;
  facts.ssh_server_address = "10.0.0.11";
  facts.links = {{"enp1s0f1np1",
                  "52:54:00:aa:00:01",
                  9000,
                  true,
                  false,
                  {"10.0.0.11/24", "fe80::1/64"},
                  "",
                  "bond0",
                  "",
                  "p1",
                  "0000:01:00.1",
                  "mlx5_core",
                  {"rocep1s0f1"},
                  200000},
                 {"vlan5", "", 1500, true, true, {}, "vlan", "", "enp1s0f1np1", "", "", "", {}}};
  facts.rdma_devices = {{"rocep1s0f1",
                         "0c42a10300000001",
                         1,
                         {{1,
                           "ACTIVE",
                           "LinkUp",
                           "Ethernet",
                           "100 Gb/sec (2X HDR)",
                           4096,
                           {{0, "IB/RoCE v1", "fe80::5054:ff:feaa:1", "enp1s0f1np1"},
                            {5, "RoCE v2", "::ffff:10.0.0.11", "enp1s0f1np1"}}}},
                         "0000:01:00.1",
                         PcieLink{4, 4, "32.0 GT/s PCIe", "32.0 GT/s PCIe"}},
                        {"rxe0", "505400fffeaa0001", 1, {{1, "DOWN", "Disabled", "Ethernet", "2.5 Gb/sec (1X SDR)"}}}};
  return facts;
}

TEST_CASE("Facts survive the wire with every field") {
  const auto back = decode<Facts>(over_the_wire(encode(some_facts())));
  REQUIRE(back);
  CHECK(canonical(*back) == canonical(some_facts()));
  CHECK(back->links == some_facts().links);
  CHECK(back->memory_total_bytes == 137438953472);
  CHECK_FALSE(back->live);
  CHECK(back->rdma_devices == some_facts().rdma_devices);
}

TEST_CASE("Facts of a newer agent are accepted, and unknown fields are ignored") {
  Value value = encode(some_facts());
  value.set("gpu_count", 1);
  item(value, "links", 0).set("lanes", Value::list());
  const auto back = decode<Facts>(value);
  REQUIRE(back);
  CHECK(canonical(*back) == canonical(some_facts()));
}

TEST_CASE("Missing facts keep their defaults") {
  const auto back = decode<Facts>(Value::map({{"hostname", "a"}}));
  REQUIRE(back);
  CHECK(back->hostname == "a");
  CHECK(back->live);
  CHECK(back->links.empty());
}

TEST_CASE("A fact of a wrong kind is refused and named") {
  Value value = encode(some_facts());
  SECTION("a text") { check_refused(decode<Facts>(value.set("kernel", 6)), "kernel: expected text, found integer"); }
  SECTION("a flag") { check_refused(decode<Facts>(value.set("live", "yes")), "live: expected true/false, found text"); }
  SECTION("a number") {
    check_refused(decode<Facts>(value.set("uptime_seconds", 1.5)), "uptime_seconds: expected integer, found number");
  }
  SECTION("a list") {
    check_refused(decode<Facts>(value.set("links", Value::map())), "links: expected list, found map");
  }
  SECTION("an unknown") {
    check_refused(decode<Facts>(value.set("kernel", Value::Unknown{})), "kernel: expected text, found unknown");
  }
  SECTION("a null") { check_refused(decode<Facts>(value.set("kernel", Value())), "kernel: expected text, found null"); }
  SECTION("deep inside") {
    item(value, "links", 1).set("mtu", "9000");
    check_refused(decode<Facts>(value), "links: 1: mtu: expected integer, found text");
  }
  SECTION("out of range") {
    item(value, "links", 0).set("mtu", std::int64_t{1} << 40);
    check_refused(decode<Facts>(value), "links: 0: mtu: out of range: 1099511627776");
  }
  SECTION("missing") {
    item(value, "links", 0).erase("name");
    check_refused(decode<Facts>(value), "links: 0: name: missing");
  }
}

TEST_CASE("a number of facts beyond every machine is refused, and the largest valid one is kept") {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  const auto refused = [](Value value, std::string_view key, std::int64_t number) {
    return !decode<Facts>(value.set(key, number));
  };
  for (const std::int64_t number : {std::int64_t{-1}, (std::int64_t{1} << 50) + 1, kLargest}) {
    INFO(number);
    CHECK(refused(encode(some_facts()), "memory_total_bytes", number));
    CHECK(refused(encode(some_facts()), "uptime_seconds", number));
  }
  CHECK_FALSE(refused(encode(some_facts()), "memory_total_bytes", std::int64_t{1} << 50));
  CHECK_FALSE(refused(encode(some_facts()), "uptime_seconds", std::int64_t{1} << 40));
  Value value = encode(some_facts());
  item(value, "links", 0).set("speed_mbps", -1);
  check_refused(decode<Facts>(value), "links: 0: speed_mbps: out of range: -1");
}

TEST_CASE("a machine-id that no roster may contain is made printable and short") {
  for (const std::string& id : {std::string("id\x1b[2J\u009b\u202e\n"), std::string(1 << 20, 'i'),
                                std::string(255, '\n'), std::string("\xff")}) {
    const auto facts = decode<Facts>(Value::map({{"machine_id", id}}));
    REQUIRE(facts);
    RosterEntry member;
    member.name = "n1";
    member.machine_id = facts->machine_id;
    CHECK(decode<RosterEntry>(encode(member)));
    CHECK(decode<Facts>(encode(*facts))->machine_id == facts->machine_id);
  }
  CHECK(decode<Facts>(encode(some_facts()))->machine_id == some_facts().machine_id);
}

TEST_CASE("an interface without a name is left out: its name would become the id of a resource") {
  Facts facts;
  facts.links.resize(3);
  facts.links[0].name = "eth0";
  facts.links[2].name = "eth2";
  const auto read = decode<Facts>(encode(facts));
  REQUIRE(read);
  REQUIRE(read->links.size() == 2);
  CHECK(read->links[1].name == "eth2");
}

TEST_CASE("Facts that are not a map are refused") {
  for (const Value& value : {Value(), Value(1), Value("x"), Value::list()}) CHECK_FALSE(decode<Facts>(value));
  check_refused(decode<Facts>(Value::list()), "expected map, found list");
}

TEST_CASE("Decoding damaged facts returns a value or an error") {
  std::mt19937 engine(6);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Value facts = encode(some_facts());
    corrupt(facts, engine);
    const auto read = decode<Facts>(facts);
    refused += read ? 0 : 1;
    if (read) REQUIRE(canonical(*decode<Facts>(encode(*read))) == canonical(*read));
  }
  CHECK(refused > 500);
}

}  // namespace
TEST_CASE("the links below a link are found once each, also in circles") {
  std::vector<LinkFacts> links(5);
  for (std::size_t i = 0; i < links.size(); ++i) links[i].name = "l" + std::to_string(i);
  links[0].lower = "l1";
  links[2].master = "l1";
  links[3].master = "l2";
  links[2].lower = "l0";
  CHECK(links_below({"l0"}, links) == std::set<std::string>{"l0", "l1", "l2", "l3"});
  CHECK(links_below({"l4"}, links) == std::set<std::string>{"l4"});
  CHECK(links_below({"none"}, links) == std::set<std::string>{"none"});
}

TEST_CASE("a node that stacks 30,000 links costs the controller less than five seconds") {
  // Each pass over the list in its order would find one more link only.
  std::vector<LinkFacts> links(30'000);
  for (std::size_t i = 0; i < links.size(); ++i) {
    links[i].name = "l" + std::to_string(i);
    if (i > 0) links[i].lower = "l" + std::to_string(i - 1);
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(links_below({links.back().name}, links).size() == links.size());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a network is parsed with its length or as a single address, and other texts are refused") {
  CHECK(parse_ipv4_network("192.168.100.11/24") == Ipv4Network{{0xC0A86400}, 24});
  CHECK(parse_ipv4_network("10.0.0.1") == Ipv4Network{{0x0A000001}, 32});
  CHECK(parse_ipv4_network("10.0.0.1/0") == Ipv4Network{});
  for (const char* text : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0/8",
                           "10.0.0.1-10.0.0.9", "fd00::/8", "10.0.0.1.", "010.0.0.1"}) {
    INFO(text);
    CHECK_FALSE(parse_ipv4_network(text));
  }
}

TEST_CASE("a network contains its subnets, and overlaps networks that share an address with it") {
  const auto network = [](const char* text) { return *parse_ipv4_network(text); };
  CHECK(network("10.0.0.0/8").contains(network("10.1.0.0/16")));
  CHECK(network("10.0.0.0/8").contains(network("10.0.0.0/8")));
  CHECK_FALSE(network("10.1.0.0/16").contains(network("10.0.0.0/8")));
  CHECK(network("10.1.0.0/16").overlaps(network("10.0.0.0/8")));
  CHECK_FALSE(network("10.1.0.0/16").overlaps(network("10.2.0.0/16")));
  CHECK(network("0.0.0.0/0").contains(network("255.255.255.255")));
}

TEST_CASE("two IPv4 addresses are in one network if their prefixes are equal") {
  CHECK(in_one_network("192.168.100.11", "192.168.100.244", 24));
  CHECK_FALSE(in_one_network("192.168.100.11", "192.168.101.11", 24));
  CHECK(in_one_network("192.168.100.11", "192.168.101.11", 23));
  CHECK(in_one_network("10.0.0.1", "10.0.0.1", 32));
  struct Port {
    std::string address;
    int prefix_length = 24;
  };
  const Port port{"192.168.100.11"};
  CHECK(share_network(port, Port{"192.168.100.12"}));
  CHECK_FALSE(share_network(port, Port{"192.168.100.12", 25}));
  CHECK_FALSE(share_network(Port{""}, Port{""}));
  CHECK_FALSE(in_one_network("10.0.0.1", "10.0.0.2", 32));
  CHECK_FALSE(in_one_network("10.0.0.1", "10.0.0.1", 0));
  for (const char* text : {"", "10.0.0", "10.0.0.256", "10.0.0.1.2", "10.0.0.1 ", "fd00::1"})
    CHECK_FALSE(ipv4_number(text));
}

}  // namespace sparkplan
