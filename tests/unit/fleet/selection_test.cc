#include "engine/fleet/selection.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

const ResourceId kSwappiness{"sysctl", "vm.swappiness"};
const ResourceId kWithSlash{"sysctl", "net.ipv4.conf.enp1s0/200.rp_filter"};
const ResourceId kHome{"profile_env", "HF_HOME"};

Cluster cluster_of(const std::vector<std::string>& names) {
  Cluster cluster;
  cluster.file = "cluster.yaml";
  for (const auto& name : names) {
    cluster.nodes.push_back({*NodeName::parse(name), 1, "", {}, TransportKind::kLocal, {}, false, {}, {}, {}});
  }
  return cluster;
}

}  // namespace

TEST_CASE("without patterns everything is selected") {
  const Selection all;
  CHECK(all.everything());
  CHECK(all.includes_node("n1"));
  CHECK(all.includes("n1", kSwappiness));
  CHECK(Selection({}, {}).everything());
  CHECK_FALSE(Selection({"*"}, {}).everything());
  CHECK_FALSE(Selection({}, {"n9"}).everything());
}

TEST_CASE("a pattern is split at its first two slashes, so that names may have some") {
  const Selection one({"n1/sysctl/net.ipv4.conf.enp1s0/200.rp_filter"}, {});
  CHECK(one.includes("n1", kWithSlash));
  CHECK_FALSE(one.includes("n1", kSwappiness));
  CHECK_FALSE(one.includes("n2", kWithSlash));
  CHECK(Selection({"*/*/*200*"}, {}).includes("n1", kWithSlash));
  CHECK_FALSE(Selection({"n1/sysctl/net.ipv4.conf.enp1s0"}, {}).includes("n1", kWithSlash));
}

TEST_CASE("a pattern of a node or of a node and a type takes all below it") {
  const Selection node({"n1"}, {});
  CHECK(node.includes("n1", kSwappiness));
  CHECK(node.includes("n1", kHome));
  CHECK_FALSE(node.includes("n2", kHome));
  const Selection type({"n1/sysctl"}, {});
  CHECK(type.includes("n1", kSwappiness));
  CHECK(type.includes("n1", kWithSlash));
  CHECK_FALSE(type.includes("n1", kHome));
}

TEST_CASE("every part of a pattern is a glob over that part alone") {
  const Selection globs({"spark-0?/sys*/vm.*"}, {});
  CHECK(globs.includes("spark-01", kSwappiness));
  CHECK_FALSE(globs.includes("spark-10", kSwappiness));
  CHECK_FALSE(globs.includes("spark-01", kWithSlash));
  // A star in the node's part does not match a slash.
  CHECK_FALSE(Selection({"n*swappiness"}, {}).includes("n1", kSwappiness));
}

TEST_CASE("several patterns of --only add up and --exclude takes out of them") {
  const Selection both({"n1", "n2/sysctl"}, {"*/sysctl/vm.*"});
  CHECK(both.includes("n1", kHome));
  CHECK(both.includes("n2", kWithSlash));
  CHECK_FALSE(both.includes("n2", kHome));
  CHECK_FALSE(both.includes("n1", kSwappiness));
  CHECK_FALSE(both.includes("n3", kWithSlash));
}

TEST_CASE("a node is contacted unless nothing of it can be selected") {
  const Selection only({"n1/sysctl/vm.swappiness"}, {});
  CHECK(only.includes_node("n1"));
  CHECK_FALSE(only.includes_node("n2"));
  const Selection without_node({}, {"n1"});
  CHECK_FALSE(without_node.includes_node("n1"));
  CHECK(without_node.includes_node("n2"));
  CHECK_FALSE(without_node.includes("n1", kHome));
  const Selection without_type({}, {"n1/sysctl"});
  CHECK(without_type.includes_node("n1"));
  CHECK(without_type.includes("n1", kHome));
  CHECK_FALSE(without_type.includes("n1", kSwappiness));
}

TEST_CASE("patterns that can fit something pass, whatever their resource names") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  CHECK(Selection().check(cluster, builtin_registry()));
  CHECK(Selection({"spark-*", "spark-02/sysctl/no.such.thing", "*/sys*"}, {"*", "spark-0?/*/@file"})
            .check(cluster, builtin_registry()));
}

TEST_CASE("a pattern that fits no node is refused with the nearest name, of --only and of --exclude") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  for (const auto& selection : {Selection({"spark-01", "sprak-01"}, {}), Selection({}, {"sprak-01"})}) {
    const auto checked = selection.check(cluster, builtin_registry());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kInvalidInput);
    CHECK(checked.error().message == "\"sprak-01\" fits no node of cluster.yaml");
    CHECK(checked.error().hint == "did you mean \"spark-01\"?");
  }
}

TEST_CASE("a pattern that fits no resource type is refused with the nearest name, of --only and of --exclude") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  for (const auto& selection : {Selection({"spark-01", "*/sysctk/vm.*"}, {}), Selection({}, {"*/sysctk/vm.*"})}) {
    const auto checked = selection.check(cluster, builtin_registry());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kInvalidInput);
    CHECK(checked.error().message == "\"*/sysctk/vm.*\" fits no resource type");
    CHECK(checked.error().hint == "did you mean \"sysctl\"?");
  }
}

TEST_CASE("where no name is near, all that there are are told") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  const auto node = Selection({"dgx*"}, {}).check(cluster, builtin_registry());
  REQUIRE_FALSE(node);
  CHECK(node.error().hint == "what there is: spark-[01-02]");
  const auto type = Selection({"spark-01/BOGUS_TYPE"}, {}).check(cluster, builtin_registry());
  REQUIRE_FALSE(type);
  for (const auto& known : builtin_registry().types()) {
    CHECK(type.error().hint.find(known->info().name) != std::string::npos);
  }
}

TEST_CASE("a part of a pattern that is empty fits nothing") {
  const auto cluster = cluster_of({"spark-01"});
  for (const std::string pattern : {"", "/sysctl", "spark-01/", "spark-01//x"}) {
    INFO(pattern);
    CHECK_FALSE(Selection({pattern}, {}).check(cluster, builtin_registry()));
  }
}

}  // namespace sparkplan
