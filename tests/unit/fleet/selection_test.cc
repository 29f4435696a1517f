#include "engine/fleet/session/selection.h"

#include "engine/core/name_list.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

const ResourceId kSelected{"sysctl", "vm.swappiness"};
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

TEST_CASE("without patterns all resources are selected") {
  const Selection all;
  CHECK(all.everything());
  CHECK(all.includes_node("n1"));
  CHECK(all.includes("n1", kSelected));
  CHECK(Selection({}, {}).everything());
  CHECK_FALSE(Selection({"*"}, {}).everything());
  CHECK_FALSE(Selection({}, {"n9"}).everything());
}

TEST_CASE("a pattern is split at its first two slashes, so that resource names may contain slashes") {
  const Selection one({"n1/sysctl/net.ipv4.conf.enp1s0/200.rp_filter"}, {});
  CHECK(one.includes("n1", kWithSlash));
  CHECK_FALSE(one.includes("n1", kSelected));
  CHECK_FALSE(one.includes("n2", kWithSlash));
  CHECK(Selection({"*/*/*200*"}, {}).includes("n1", kWithSlash));
  CHECK_FALSE(Selection({"n1/sysctl/net.ipv4.conf.enp1s0"}, {}).includes("n1", kWithSlash));
}

TEST_CASE("a pattern for a node, or for a node and a type, selects all of their resources") {
  const Selection node({"n1"}, {});
  CHECK(node.includes("n1", kSelected));
  CHECK(node.includes("n1", kHome));
  CHECK_FALSE(node.includes("n2", kHome));
  const Selection type({"n1/sysctl"}, {});
  CHECK(type.includes("n1", kSelected));
  CHECK(type.includes("n1", kWithSlash));
  CHECK_FALSE(type.includes("n1", kHome));
}

TEST_CASE("every part of a pattern is a separate glob") {
  const Selection globs({"spark-0?/sys*/vm.*"}, {});
  CHECK(globs.includes("spark-01", kSelected));
  CHECK_FALSE(globs.includes("spark-10", kSelected));
  CHECK_FALSE(globs.includes("spark-01", kWithSlash));
  // A star in the node's part does not match a slash.
  CHECK_FALSE(Selection({"n*swappiness"}, {}).includes("n1", kSelected));
}

TEST_CASE("several --only patterns add up, and --exclude removes matches from them") {
  const Selection both({"n1", "n2/sysctl"}, {"*/sysctl/vm.*"});
  CHECK(both.includes("n1", kHome));
  CHECK(both.includes("n2", kWithSlash));
  CHECK_FALSE(both.includes("n2", kHome));
  CHECK_FALSE(both.includes("n1", kSelected));
  CHECK_FALSE(both.includes("n3", kWithSlash));
}

TEST_CASE("a node is contacted unless none of its resources can be selected") {
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
  CHECK_FALSE(without_type.includes("n1", kSelected));
}

TEST_CASE("patterns with a matching node and type are accepted, whatever their resource names") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  CHECK(Selection().check(cluster, builtin_registry()));
  CHECK(Selection({"spark-*", "spark-02/sysctl/no.such.thing", "*/sys*"}, {"*", "spark-0?/*/@file"})
            .check(cluster, builtin_registry()));
}

TEST_CASE("a pattern of --only or --exclude that matches no node is refused with the nearest name") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  for (const auto& selection : {Selection({"spark-01", "sprak-01"}, {}), Selection({}, {"sprak-01"})}) {
    const auto checked = selection.check(cluster, builtin_registry());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kInvalidInput);
    CHECK(checked.error().message == "\"sprak-01\" matches no node of cluster.yaml");
    CHECK(checked.error().hint == "did you mean \"spark-01\"?");
  }
}

TEST_CASE("a range that is reversed or not closed is named in the hint, not a near name") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  const auto hint_of = [&](const char* text) {
    return Selection({text}, {}).check(cluster, builtin_registry()).error().hint;
  };
  CHECK(hint_of("spark-[02-01]") == "the range 02-01 is reversed: write 01-02");
  CHECK(hint_of("spark-[01") == "a \"[\" has no \"]\"");
  CHECK(hint_of("spark-[01-03]") == "did you mean \"spark-01\"?");
}

TEST_CASE("a NODE that the cluster does not have is named with the nearest name, or with all") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  CHECK(no_such_node("sprak-01", cluster).message == "there is no node sprak-01 in cluster.yaml");
  CHECK(no_such_node("sprak-01", cluster).hint == "did you mean \"spark-01\"?");
  CHECK(no_such_node("x", cluster).hint == "available: spark-[01-02]");
}

TEST_CASE("a pattern of --only or --exclude that matches no type is refused with the nearest name") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  for (const auto& selection : {Selection({"spark-01", "*/sysctk/vm.*"}, {}), Selection({}, {"*/sysctk/vm.*"})}) {
    const auto checked = selection.check(cluster, builtin_registry());
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::kInvalidInput);
    CHECK(checked.error().message == "\"*/sysctk/vm.*\" matches no resource type");
    CHECK(checked.error().hint == "did you mean \"sysctl\"?");
  }
}

TEST_CASE("without a near name the hint lists all names") {
  const auto cluster = cluster_of({"spark-01", "spark-02"});
  const auto node = Selection({"dgx*"}, {}).check(cluster, builtin_registry());
  REQUIRE_FALSE(node);
  CHECK(node.error().hint == "available: spark-[01-02]");
  const auto type = Selection({"spark-01/BOGUS_TYPE"}, {}).check(cluster, builtin_registry());
  REQUIRE_FALSE(type);
  for (const auto& known : builtin_registry().types()) {
    CHECK(type.error().hint.find(known->info().name) != std::string::npos);
  }
}

TEST_CASE("a node set as sparkplan prints it selects its nodes") {
  const auto cluster = cluster_of({"login", "spark-01", "spark-02", "spark-03"});
  const Selection some({"login, spark-[01-02]"}, {});
  CHECK(some.check(cluster, builtin_registry()));
  CHECK(some.includes_node("login"));
  CHECK(some.includes_node("spark-02"));
  CHECK_FALSE(some.includes_node("spark-03"));
  const Selection of_a_type({"spark-[01,03]/sysctl/vm.*"}, {});
  CHECK(of_a_type.check(cluster, builtin_registry()));
  CHECK(of_a_type.includes("spark-03", kSelected));
  CHECK_FALSE(of_a_type.includes("spark-03", kHome));
  CHECK_FALSE(of_a_type.includes("spark-02", kSelected));
  CHECK_FALSE(Selection({}, {"spark-[01-02]"}).includes_node("spark-02"));
}

TEST_CASE("an empty part of a pattern matches nothing") {
  const auto cluster = cluster_of({"spark-01"});
  for (const std::string pattern : {"", "/sysctl", "spark-01/", "spark-01//x"}) {
    INFO(pattern);
    CHECK_FALSE(Selection({pattern}, {}).check(cluster, builtin_registry()));
  }
}

TEST_CASE("a pattern may be a set of nodes, as sparkplan prints it") {
  const Selection some({"spark-[01,03-04]/sysctl"}, {});
  CHECK(some.includes("spark-01", kSelected));
  CHECK_FALSE(some.includes("spark-02", kSelected));
  CHECK(some.includes("spark-04", kSelected));
  CHECK_FALSE(some.includes("spark-04", kHome));
  CHECK(Selection({"[1-2]-*"}, {}).includes_node("2-b"));
}

TEST_CASE("one argument may be a list of patterns") {
  const Selection list({"spark-[01,03], head/sysctl"}, {"spark-03/sysctl,head/sysctl/net.*"});
  CHECK(list.includes("spark-01", kSelected));
  CHECK_FALSE(list.includes("spark-03", kSelected));
  CHECK(list.includes("spark-03", kHome));
  CHECK(list.includes("head", kSelected));
  CHECK_FALSE(list.includes("head", kWithSlash));
  CHECK_FALSE(list.includes_node("spark-02"));
}

TEST_CASE("every node of a set has to exist") {
  const auto cluster = cluster_of({"spark-01", "spark-02", "head"});
  CHECK(Selection({"spark-[01-02],head"}, {}).check(cluster, builtin_registry()));
  const auto missing = Selection({"spark-[01-03]"}, {}).check(cluster, builtin_registry());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().describe().find("\"spark-03\" matches no node") != std::string::npos);
  for (const char* text : {"", ",", "spark-[01-02", "spark-[02-01]", "spark-[1-99999999]", "spark-[]"}) {
    INFO(text);
    CHECK_FALSE(Selection({text}, {}).check(cluster, builtin_registry()));
  }
}

TEST_CASE("a pattern with 20000 brackets is refused with its reason") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "[1]";
  for (const std::string& pattern : {text, "a," + text + "/sysctl", text + "x"}) {
    const auto refused = Selection({pattern}, {}).check(cluster_of({"a"}), builtin_registry());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kInvalidInput);
    CHECK(refused.error().describe().find("more than 8 brackets") != std::string::npos);
    CHECK(refused.error().describe().size() < 300);
  }
  // Brackets in the name of a resource have no meaning.
  CHECK(Selection({"a/file/" + text}, {}).check(cluster_of({"a"}), builtin_registry()));
}

TEST_CASE("long patterns and a hundred thousand patterns with a range cost less than 85 MB, and are refused") {
  const std::string range = "[1-4096]";
  const std::vector<std::string> many(100'000, "a" + range);
  std::string list;
  for (int i = 0; i < 20'000; ++i) list += "a" + range + ",";
  for (const auto& patterns :
       {std::vector<std::string>{std::string(100'000, 'a') + range}, many, std::vector<std::string>{list},
        std::vector<std::string>(100'000, std::string(1000, 'a')),
        std::vector<std::string>(100, std::string(2'000, '*') + "[1-500]")}) {
    const auto cost = test::cost_of([&] {
      const Selection only(patterns, {});
      const Selection exclude({}, patterns);
      const auto cluster = cluster_of({"a1", "a2"});
      return !only.check(cluster, builtin_registry()) && !exclude.check(cluster, builtin_registry()) &&
             only.check(cluster, builtin_registry()).error().describe().size() < 400 && !only.includes_node("a1");
    });
    CHECK(cost.exit_status == 0);
    CHECK(cost.megabytes < 85);
    CHECK(cost.seconds < 5);
  }
}

TEST_CASE("patterns that are too many include nothing, and a thousand names are not too many") {
  const std::vector<std::string> many(kMostPatterns + 1, "a");
  const Selection excluded({}, many);
  CHECK_FALSE(excluded.everything());
  CHECK_FALSE(excluded.includes_node("b"));
  CHECK_FALSE(excluded.includes("b", kHome));
  CHECK(excluded.check(cluster_of({"a"}), builtin_registry()).error().message ==
        "--only or --exclude is too long: there are more than 4096 patterns");

  std::vector<std::string> names;
  for (int i = 1000; i < 2000; ++i) names.push_back("spark-" + std::to_string(i) + std::string(50, 'a'));
  const auto cluster = cluster_of(names);
  std::vector<std::string> patterns = names;
  for (int i = 0; i < 14; ++i) patterns.push_back("spark-[1000-1999]" + std::string(50, 'a') + "/sysctl");
  CHECK(Selection(patterns, {}).check(cluster, builtin_registry()));
}

}  // namespace sparkplan
