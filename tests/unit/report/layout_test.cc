// How the changes of several nodes share lines, and how lines fit the terminal.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/report/changes/folded_names.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/report/cluster_of_eight.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::sample_change;
using testing::sample_node;
using testing::sample_report;

using test::has;

TextStyle columns(int width) {
  TextStyle style;
  style.width = width;
  return style;
}

TextStyle verbose() {
  TextStyle style;
  style.verbose = true;
  return style;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split_lines(text)) widest = std::max(widest, text_width(line));
  return widest;
}

/// One node for each of the changes.
Report nodes_with(const std::vector<Change>& changes, const std::string& command = "plan") {
  std::vector<NodeReport> nodes;
  for (const Change& change : changes) {
    nodes.push_back(sample_node(static_cast<int>(nodes.size()) + 1, NodeStatus::kPending));
    nodes.back().plan.changes = {change};
    if (command == "apply") nodes.back().outcomes[change.id] = Outcome::kDone;
  }
  return sample_report(command, std::move(nodes));
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

/// One node with these resources.
NodeReport node_with(std::vector<Change> changes) {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = std::move(changes);
  return node;
}

Change host(const std::string& name, const std::string& address) {
  return sample_change("hosts/" + name, Action::kCreate, {{"", Value(), address}});
}

}  // namespace

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

TEST_CASE("fields that no user writes are said in words") {
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

TEST_CASE("resources that are a series of names become one line, and -v lists them") {
  const Report report =
      sample_report("plan", {node_with({host("a1", "10.0.0.11"), host("a2", "10.0.0.12"), host("a3", "10.0.0.13")})});
  CHECK(has(to_text(report, {}), "  + hosts  a[1-3]  10.0.0.[11-13]  spark-01\n"));
  const std::string all = to_text(report, verbose());
  CHECK(has(all, "  + hosts  a1  10.0.0.11  spark-01\n"));
  CHECK(has(all, "  + hosts  a3  10.0.0.13  spark-01\n"));
}

TEST_CASE("a series never hides which value belongs to which name") {
  const auto line = [](const std::string& first, const std::string& second, const std::string& third) {
    return to_text(sample_report("plan", {node_with({host("a1", first), host("a2", second), host("a3", third)})}), {});
  };
  CHECK(has(line("10.0.0.13", "10.0.0.12", "10.0.0.11"), "a[1-3]  3 values"));
  CHECK(has(line("10.0.0.1", "10.0.0.1", "10.0.0.1"), "a[1-3]  10.0.0.1 "));
  CHECK(has(line("10.0.0.1", "10.0.1.2", "10.0.2.3"), "a[1-3]  3 values"));
}

TEST_CASE("texts are a series only if one number rises in them") {
  using Texts = std::vector<std::string>;
  CHECK(folded_series(Texts{"spark-01-fabric", "spark-02-fabric"}) == "spark-[01-02]-fabric");
  CHECK(folded_series(Texts{"10.0.0.9", "10.0.0.10", "10.0.0.11"}) == "10.0.0.[9-11]");
  CHECK(folded_series(Texts{"a1", "a3"}) == "a[1,3]");
  CHECK_FALSE(folded_series(Texts{"a1"}));
  CHECK_FALSE(folded_series(Texts{"a2", "a1"}));
  CHECK_FALSE(folded_series(Texts{"a1", "a1"}));
  CHECK_FALSE(folded_series(Texts{"alpha", "beta"}));
  CHECK_FALSE(folded_series(Texts{"1.1", "2.2"}));
  CHECK_FALSE(folded_series(Texts{"", ""}));
  CHECK_FALSE(folded_series(Texts{"a" + std::string(40, '1'), "a" + std::string(40, '2')}));
}

TEST_CASE("names of 4096 bytes with 2000 numbers are no series, and are listed as they are") {
  std::string numbers;
  for (int i = 0; i < 1990; ++i) numbers += "1a";
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(numbers + std::to_string(10000 + i));
  CHECK_FALSE(folded_series(names));
  const std::string longest(kLongestFoldedName - 1, 'a');
  CHECK(folded_series(std::vector<std::string>{longest + "1", longest + "2"}) == longest + "[1-2]");
  CHECK_FALSE(folded_series(std::vector<std::string>{longest + "01", longest + "02"}));
  std::vector<Change> changes;
  for (const std::string& name : names) changes.push_back(host(name, "10.0.0.1"));
  CHECK(has(to_text(sample_report("plan", {node_with(changes)}), verbose()), names.back()));
}

TEST_CASE("long lists are counted, and -v shows their items") {
  Value many = Value::list();
  for (int number = 1; number <= 9; ++number) many.push_back("rule " + std::to_string(number));
  const Report report = nodes_with({sample_change("firewall/x", Action::kUpdate, {{"rules", Value(), many}})});
  CHECK(has(to_text(report, {}), "  ~ firewall  x  9 added  spark-01\n"));
  CHECK(has(to_text(report, verbose()), "+ rule 1, + rule 2,"));
}

TEST_CASE("many new resources that differ only in their names are counted, and -v lists them") {
  const auto packages = [](std::size_t number) {
    std::vector<Change> changes;
    for (const char* name : {"curl", "git", "htop", "jq", "nvme-cli", "perftest"}) {
      if (changes.size() < number)
        changes.push_back(
            sample_change("package/" + std::string(name), Action::kCreate, {{"state", Value(), "installed"}}));
    }
    return changes;
  };
  const auto of_one_node = [](const std::vector<Change>& changes, const TextStyle& style) {
    return to_text(sample_report("plan", {node_with(changes)}), style);
  };
  auto changes = packages(6);
  changes.push_back(sample_change("package/snapd", Action::kRemove, {{"state", "installed", Value()}}));
  const std::string text = of_one_node(changes, {});
  INFO(text);
  CHECK(has(text, "  + package  6 packages (curl, git, ...)  installed               spark-01\n"));
  CHECK(has(text, "  - package  snapd"));
  CHECK_FALSE(has(text, "perftest"));
  CHECK(has(text, "Plan: 6 to add, 0 to change, 1 to remove"));
  const std::string all = of_one_node(changes, verbose());
  CHECK(has(all, "perftest"));
  CHECK_FALSE(has(all, "6 packages"));
  // Few of them, and those with another value, are lines of their own.
  CHECK(has(of_one_node(packages(4), {}), "jq"));
  auto mixed = packages(5);
  mixed[2].fields[0].after = "held";
  CHECK(has(of_one_node(mixed, {}), "nvme-cli"));
}

TEST_CASE("the logins of many nodes are one line") {
  const std::string text = to_text(testing::first_plan_of_eight(), {});
  INFO(text);
  CHECK(has(text, "own key, login keys of spark-[01-08] (known during apply),\n"));
  CHECK(has(text, " host keys of spark-[01-08], ssh config "));
  CHECK(has(to_text(testing::first_plan_of_eight(), verbose()), "known after spark-02 creates its key"));
}

TEST_CASE("the logins of few nodes are words as well, and -v lists their fields") {
  const Report report = sample_report(
      "plan",
      {node_with({sample_change("ssh_trust/nvidia", Action::kUpdate,
                                {{"authorized.spark-02", "ssh-ed25519 AAAA", "ssh-ed25519 BBBB"},
                                 {"authorized.spark-03", Value(),
                                  Value::Unknown{"known after spark-03 creates its key", "spark-03/ssh_trust/nvidia"}},
                                 {"known_hosts.spark-03", Value(), Value::list({"spark-03 ssh-ed25519 AAAA"})},
                                 {"known_hosts.spark-04", Value::list({"spark-04 ssh-ed25519 AAAA"}), Value()},
                                 {"unexpected", Value::list({"a line"}), Value::list()}})})});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "login keys of spark-03 added, of spark-02 changed (1 known during apply),\n"));
  CHECK(has(text, "host keys of spark-03 added, of spark-04 removed,\n"));
  CHECK_FALSE(has(text, "AAAA"));
  CHECK(has(to_text(report, verbose()), "ssh-ed25519 BBBB"));
}

TEST_CASE("a plan names the change whose value is awaited") {
  const auto waiting_for = [](const std::string& producer) {
    NodeReport node =
        node_with({sample_change("x/y", Action::kCreate, {{"v", Value(), Value::Unknown{"r", producer}}})});
    node.plan.waiting = {node.plan.changes[0].id};
    return node;
  };
  const auto verdict = [](const std::vector<NodeReport>& nodes) {
    return verdict_text(sample_report("plan", nodes), {});
  };
  CHECK(has(verdict({waiting_for("spark-02/a/b"), waiting_for("spark-01/a/b")}),
            "Waiting: 2 resources on 2 nodes, for a/b of spark-[01-02]."));
  CHECK(has(verdict({waiting_for("s/a/1"), waiting_for("s/a/2"), waiting_for("s/a/3"), waiting_for("s/a/4")}),
            "for a/1 of s and a/2 of s and 2 more."));
  CHECK(has(verdict({waiting_for("")}), "Waiting: 1 resource on 1 node."));
}

TEST_CASE("long values and long lines of a diff are cut where they differ, and -v shows all of them") {
  const std::string same(300, 'x');
  const std::string before = same + "mtu=1500" + same + "\n";
  const std::string after = same + "mtu=9000" + same + "\n";
  const Report report = nodes_with({sample_change("file//etc/app", Action::kUpdate, {{"content", before, after}})});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "xmtu=1500x"));
  CHECK(has(text, "xmtu=9000x"));
  CHECK(widest_line(text) <= 100);
  CHECK(has(to_text(report, verbose()), same + "mtu=9000" + same));
  const Report value =
      nodes_with({sample_change("x/y", Action::kUpdate, {{"v", same + "1500" + same, same + "9000" + same}})});
  CHECK(has(to_text(value, {}), "x1500x"));
  CHECK(has(to_text(value, {}), "x9000x"));
}

TEST_CASE("of a long diff the first 400 lines are shown, and -v shows all") {
  const std::string many(30'000, '\n');
  const Report removed = nodes_with({sample_change("file//etc/app", Action::kUpdate, {{"content", many, "a\n"}})});
  const std::string text = to_text(removed, {});
  CHECK(split_lines(text).size() < 450);
  // The diff has 30001 lines and three of header.
  CHECK(has(text, "      and 29604 more lines (-v shows them)\n"));
  const std::string all = to_text(removed, verbose());
  CHECK(split_lines(all).size() > 30'000);
  std::string lines;
  for (int i = 0; i < 397; ++i) lines += "line " + std::to_string(i) + "\n";
  const auto created = [](const std::string& content) {
    return to_text(nodes_with({sample_change("file//etc/app", Action::kCreate, {{"content", Value(), content}})}), {});
  };
  CHECK(has(created(lines), "+line 396\n"));
  CHECK_FALSE(has(created(lines), "more line"));
  CHECK(has(created(lines + "x\n"), "and 1 more line (-v shows them)\n"));
}

TEST_CASE("a long type of a node does not pad the lines of all other changes") {
  std::vector<Change> changes{sample_change(std::string(4000, 't') + "/x", Action::kUpdate, {{"v", 1, 2}})};
  for (int i = 0; i < 100; ++i)
    changes.push_back(sample_change("x/" + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(99 - i),
                                    Action::kUpdate, {{"v", 1, 2}}));
  CHECK(to_text(sample_report("plan", {node_with(changes)}), verbose()).size() < 20'000);
}

TEST_CASE("a removal shows what returns, if the plan knows it") {
  const std::string text = to_text(testing::removals_on_eight(), {});
  INFO(text);
  CHECK(has(text, "net.core.somaxconn  8192 -> 4096, as before sparkplan"));
  CHECK(has(text, "      -Two Sparks\n      +Debian GNU/Linux\n"));
  CHECK(has(text, "removed, as before sparkplan"));
  CHECK_FALSE(has(text, "mode"));
  CHECK(has(text, "OLD                 1 -> (removed) "));
}

TEST_CASE("nothing remains of a value that is removed from a file of many") {
  const Report report = nodes_with(
      {sample_change("limits/*:memlock", Action::kRemove, {{"hard", "unlimited", Value()}, {"soft", "8192", Value()}}),
       sample_change("x/y", Action::kUpdate, {{"v", 1, Value()}})});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "hard unlimited -> (removed), soft 8192 -> (removed)"));
  // A resource that stays has no value there.
  CHECK(has(text, "1 -> (none)"));
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

TEST_CASE("a series at the end of resources that are no series is one line, among thousands of others") {
  std::vector<Change> changes;
  for (int i = 0; i < 3000; ++i) {
    // Numbers that fall, so that no three of them are a series.
    changes.push_back(sample_change("sysctl/z" + std::to_string(9999 - i), Action::kUpdate, {{"v", i, i + 1}}));
  }
  for (int i = 1; i <= 3; ++i)
    changes.push_back(sample_change("sysctl/a" + std::to_string(i), Action::kUpdate, {{"v", 1, 2}}));
  const std::string text = to_text(sample_report("plan", {node_with(std::move(changes))}), {});
  CHECK(has(text, "  ~ sysctl  a[1-3] "));
  CHECK(has(text, "  ~ sysctl  z9999 "));
  CHECK(has(text, "  ~ sysctl  z7000 "));
  CHECK(split_lines(text).size() > 3000);
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
