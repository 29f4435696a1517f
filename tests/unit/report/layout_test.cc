// How the changes of several nodes share lines, and how lines fit the terminal.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/text_style.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/cluster_of_eight.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::node_with;
using testing::nodes_with;
using testing::sample_change;
using testing::sample_node;
using testing::sample_report;
using testing::verbose;
using testing::widest_line;

using test::has;

TextStyle columns(int width) {
  TextStyle style;
  style.width = width;
  return style;
}

Change mtu_and(const std::string& address) {
  return sample_change("netplan/eth1", Action::kUpdate,
                       {{"addresses", Value::list(), Value::list({address})}, {"mtu", 1500, 9000}});
}

/// Three nodes with addresses of different networks.
Report without_series() { return nodes_with({mtu_and("10.1.0.1/24"), mtu_and("10.1.0.2/24"), mtu_and("10.9.0.3/24")}); }

Report named(Report report, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) report.nodes[i].name = names[i];
  return report;
}

}  // namespace

TEST_CASE("a text of megabytes is broken into lines in little time and memory, with blanks and without") {
  const std::string word(4'000'000, 'x');
  const std::string blanks(4'000'000, ' ');
  const auto cost = test::cost_of([&] { return broken(word, 50).size() == 80'000 && broken(blanks, 50).empty(); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 3);
  CHECK(cost.megabytes < 40);
  CHECK(broken("a  bc d", 4) == std::vector<std::string>{"a ", "bc d"});
  CHECK(broken("abcdef gh", 4) == std::vector<std::string>{"abcd", "ef", "gh"});
}

TEST_CASE("the first plan of eight bare nodes, and its apply, fit on a screen of 60 lines and 100 columns") {
  for (const Report& report : {testing::first_plan_of_eight(), testing::first_apply_of_eight()}) {
    const std::string text = to_text(report, {});
    INFO(text);
    CHECK(split_lines(text).size() <= 60);
    CHECK(widest_line(text) <= 100);
  }
}

TEST_CASE("with the variables of all frameworks, the first plan of eight leaves a quarter of the screen to progress") {
  for (const Report& report : {testing::first_plan_of_eight(), testing::first_apply_of_eight()}) {
    for (const int width : {100, 120}) {
      const std::string text = to_text(testing::with_frameworks(report), columns(width));
      INFO(text);
      CHECK(std::count(text.begin(), text.end(), '\n') <= 45);
      CHECK(widest_line(text) <= static_cast<std::size_t>(width));
      const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
      CHECK((last.starts_with("Plan: 225 to add") || last.starts_with("Applied in part: 224 added")));
    }
  }
  const std::string text = to_text(testing::with_frameworks(testing::first_plan_of_eight()), {});
  CHECK(has(text, "VLLM_HOST_IP                  192.168.100.[11-18] one each"));
  CHECK(has(text, "addresses + 192.168.101.[11-18]/24 one each,"));
}

TEST_CASE("no line is wider than the terminal, whatever its width") {
  for (const auto& [name, report] : testing::sample_reports()) {
    for (int width = 40; width <= 160; width += 7) {
      INFO(name << " at " << width);
      CHECK(widest_line(to_text(report, columns(width))) <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("a change of several nodes is one line that ends with their names") {
  const Change change = sample_change("sysctl/net.core.somaxconn", Action::kCreate, {{"v", 4096, 8192}});
  CHECK(has(to_text(nodes_with({change, change, change}), {}),
            "  + sysctl  net.core.somaxconn  4096 -> 8192  spark-[01-03]\n"));
}

TEST_CASE("resources keep the order of the nodes' plans, also those that only a later node has") {
  const auto change = [](const std::string& name) {
    return sample_change("x/" + name, Action::kUpdate, {{"v", 1, 2}});
  };
  const std::string text = to_text(
      sample_report("plan", {node_with({change("a"), change("d")}), node_with({change("a"), change("b")})}), {});
  CHECK(text.find("  a  ") < text.find("  b  "));
  CHECK(text.find("  b  ") < text.find("  d  "));
}

TEST_CASE("two values are two lines, and three are a table of the values that differ") {
  CHECK(has(to_text(nodes_with({mtu_and("10.1.0.1/24"), mtu_and("10.1.0.2/24")}), {}),
            "  ~ netplan  eth1  addresses + 10.1.0.1/24, mtu 1500 -> 9000  spark-01\n"
            "  ~ netplan  eth1  addresses + 10.1.0.2/24, mtu 1500 -> 9000  spark-02\n"));
  const std::string text = to_text(without_series(), {});
  INFO(text);
  CHECK(has(text,
            "  ~ netplan  eth1  addresses per node, mtu 1500 -> 9000  spark-[01-03]\n"
            "  per node    eth1\n"
            "              addresses\n"
            "    spark-01  + 10.1.0.1/24\n"
            "    spark-02  + 10.1.0.2/24\n"
            "    spark-03  + 10.9.0.3/24\n"));
}

TEST_CASE("values that are a series as the names of their nodes are in the line, and -v has the table") {
  Report report = nodes_with({mtu_and("10.1.0.11/24"), mtu_and("10.1.0.12/24"), mtu_and("10.1.0.13/24")});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "  ~ netplan  eth1  addresses + 10.1.0.[11-13]/24 one each, mtu 1500 -> 9000  spark-[01-03]\n"));
  CHECK_FALSE(has(text, "per node"));
  CHECK(has(to_text(report, verbose()), "    spark-02  + 10.1.0.12/24\n"));
  // The reader could not know which node has which value.
  for (const Report& unclear :
       {nodes_with({mtu_and("10.1.0.13/24"), mtu_and("10.1.0.12/24"), mtu_and("10.1.0.11/24")}),
        named(report, {"alpha", "bravo", "charlie"}),
        named(report, {"a-name-that-is-too-long-for-the-line-1", "a-name-that-is-too-long-for-the-line-2",
                       "a-name-that-is-too-long-for-the-line-3"})}) {
    CHECK(has(to_text(unclear, {}), "  ~ netplan  eth1  addresses per node, mtu 1500 -> 9000"));
    CHECK(has(to_text(unclear, {}), "  + 10.1.0.12/24\n"));
  }
}

TEST_CASE("series over nodes are not joined to a series over resources") {
  std::vector<NodeReport> nodes;
  for (int node = 1; node <= 3; ++node) {
    nodes.push_back(sample_node(node, NodeStatus::kPending));
    for (int port = 1; port <= 3; ++port)
      nodes.back().plan.changes.push_back(
          sample_change("x/eth" + std::to_string(port), Action::kCreate,
                        {{"", Value(), "10.1." + std::to_string(port) + "." + std::to_string(node)}}));
  }
  const std::string text = to_text(sample_report("plan", nodes), {});
  INFO(text);
  CHECK(has(text, "  + x  eth2  10.1.2.[1-3] one each  spark-[01-03]\n"));
}

TEST_CASE("a table that is too wide for the terminal continues below") {
  Report report = without_series();
  for (NodeReport& node : report.nodes) {
    node.plan.changes.push_back(node.plan.changes[0]);
    node.plan.changes[1].id.name = "enp1s0f1np1-of-the-second-port";
  }
  const std::string text = to_text(report, columns(50));
  INFO(text);
  CHECK(has(text, "  per node    eth1\n"));
  CHECK(has(text, "  per node    enp1s0f1np1-of-the-second-port\n"));
}

TEST_CASE("a result that does not fit beside its values keeps its node on its line") {
  const Change file = sample_change("file//etc/systemd/logind.conf.d/90-a-long-name-of-a-file.conf", Action::kCreate,
                                    {{"gid", {}, 0}, {"in_effect", {}, true}, {"mode", {}, "0644"}, {"uid", {}, 0}});
  const std::string text = to_text(nodes_with({file, file}, "apply"), columns(100));
  INFO(text);
  CHECK(has(text, "done  spark-[01-02]\n"));
  CHECK(widest_line(text) <= 100);
}

TEST_CASE("fields that no user writes are printed as words") {
  const Change file = sample_change("file//etc/a.conf", Action::kCreate,
                                    {{"gid", {}, 0}, {"in_effect", {}, true}, {"mode", {}, "0644"}, {"uid", {}, 0}});
  const std::string text = to_text(nodes_with({file}), verbose());
  INFO(text);
  CHECK(has(text, "group's id 0, read by logind, mode 0644, owner's id 0"));
}

TEST_CASE("nodes with different marks never share a line") {
  Change drifted = mtu_and("10.1.0.1/24");
  drifted.origin = Origin::kDrift;
  const std::string text =
      to_text(nodes_with({mtu_and("10.1.0.1/24"), drifted, mtu_and("10.1.0.3/24"), mtu_and("10.1.0.4/24")}), {});
  INFO(text);
  CHECK(has(text, "(drift: changed on the node)"));
  CHECK(has(text, "spark-[01,03-04]\n"));
}

TEST_CASE("after an apply, a resource is one line with its outcome, without a diff and without a table") {
  const std::string text =
      to_text(nodes_with({mtu_and("10.1.0.1/24"), mtu_and("10.1.0.2/24"), mtu_and("10.1.0.3/24")}, "apply"), {});
  INFO(text);
  CHECK(has(text, "  ~ netplan  eth1  addresses, mtu 1500 -> 9000  done  spark-[01-03]\n"));
  CHECK_FALSE(has(text, "per node"));
  const Change file = sample_change("file//etc/motd", Action::kUpdate, {{"content", "a\nb\n", "a\nc\n"}});
  CHECK(has(to_text(nodes_with({file}, "apply"), {}), "  ~ file  /etc/motd  done  spark-01\n"));
  CHECK_FALSE(has(to_text(nodes_with({file}, "apply"), {}), "@@"));
  CHECK(has(to_text(nodes_with({file}), {}), "@@"));
}

TEST_CASE("names without numbers are replaced by a count if they are all nodes") {
  Report report = nodes_with(std::vector<Change>(6, sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})));
  const char* const names[] = {"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"};
  for (std::size_t i = 0; i < 6; ++i) report.nodes[i].name = names[i];
  CHECK(has(to_text(report, {}), "1 -> 2  all 6 nodes\n"));
  report.nodes.push_back(sample_node(7));
  CHECK(has(to_text(report, {}), "1 -> 2  alpha, bravo, charlie, delta, echo, foxtrot\n"));
}

TEST_CASE("a node that repeats a claim is one node of the group") {
  const auto claim = [](int value) {
    return sample_change("sysctl/vm.dirty_ratio", Action::kUpdate, {{"persistent", value, 20}}, Origin::kForeign);
  };
  Report report = nodes_with(std::vector<Change>(4, sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})));
  // A name of more columns than "all 4 nodes" may replace.
  const std::string name = "spark-with-a-name-that-is-longer-than-a-column";
  report.nodes[1].name = name;
  // The second one has different values: they are one group with a table.
  const std::vector<std::vector<Change>> all{std::vector<Change>(4, claim(40)),
                                             {claim(40), claim(41), claim(42), claim(43)}};
  for (const std::vector<Change>& claims : all) {
    for (NodeReport& node : report.nodes) node.plan.changes.clear();
    report.nodes[1].plan.changes = claims;
    const std::string text = to_text(report, {});
    INFO(text);
    CHECK(has(text, name + "\n"));
    CHECK_FALSE(has(text, "all 4 nodes"));
  }
}

TEST_CASE("changes with thousands of fields, items and steps are printed in less than five seconds") {
  // In a rollback a node words all of them.
  constexpr int kMany = 100'000;
  std::vector<FieldChange> fields;
  Value::List before;
  Value::List after;
  for (int i = 0; i < kMany; ++i) {
    fields.push_back({"group.f" + std::to_string(i), i, i + 1});
    before.emplace_back("before " + std::to_string(i));
    after.emplace_back("behind " + std::to_string(i));
  }
  std::vector<FieldChange> removed(fields.begin(), fields.begin() + kMany / 10);
  for (FieldChange& field : removed) field.after = Value();
  NodeReport node = node_with({sample_change("firewall/lists", Action::kUpdate, {{"rules", before, after}}),
                               sample_change("sysctl/fields", Action::kUpdate, fields),
                               sample_change("sysctl/removed", Action::kRemove, removed)});
  for (int i = 0; i < kMany; ++i) {
    Step step;
    step.artifact = {"parameter", std::to_string(i)};
    step.resources = {{"sysctl", "p" + std::to_string(i)}};
    node.plan.steps.push_back(std::move(step));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = to_text(sample_report("rollback", {std::move(node)}), {});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK(has(text, "100000 added, 100000 removed"));
}

}  // namespace sparkplan
