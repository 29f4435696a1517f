// Netplan files that no person has written: what they cost a reader, and what they do to a plan.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "engine/resource/reported.h"
#include "resources/netplan/adoption.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/interfaces.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"
#include "resources/netplan/take_over.h"
#include "resources/netplan/taken_away.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/unit/process/cost.h"

namespace sparkplan::netplan {
namespace {

using test::cost_of;

constexpr double kMostHostileSeconds = 5;
constexpr long kMostHostileMegabytes = 40;
const std::string kHostileFile = "/etc/netplan/50-theirs.yaml";
const std::string kOneHalf = "enp1s0f1np1";

std::string times(int count, const std::string& piece) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

/// Pieces with a number of their own in the place of '#'.
std::string numbered(int count, const std::string& piece) {
  const auto at = piece.find('#');
  std::string text;
  for (int i = 0; i < count; ++i) text += piece.substr(0, at) + std::to_string(i) + piece.substr(at + 1);
  return text;
}

bool is_beyond_limits(const std::string& text) {
  const auto tree = parse_yaml(text);
  return !tree && tree.error().code == ErrorCode::kUnsupported;
}

/// Thousands of definitions that were taken over, of interfaces that no file manages any more.
std::string taken_over_definitions(int count) {
  return "network:\n  ethernets:\n" +
         numbered(count, "    e#: {}  # sparkplan: 60-sparkplan-fabric.yaml defines it; this did:\n#sparkplan:    x\n");
}

Resource half_to_take_over() {
  Value desired = Value::map({{kAlsoDefinedIn, Value::list()}, {"up", true}});
  desired.set("persistent", encode(Stanza{9000, {"192.168.100.11/24"}, false}));
  return {{"netplan", kOneHalf}, std::move(desired), {}, {}, Impact::kInterruptsNetwork, Reversible::kExact};
}

/// An observation in which the file defines one half of the fabric at this line.
ObservedState observed_with(const std::string& text, int line) {
  ObservedState observed;
  ObservedType& type = observed.types["netplan"];
  const Value source = kHostileFile + ":" + std::to_string(line);
  type.resources[kOneHalf] = Present{Value::map({{kAlsoDefinedIn, Value::list({source})}, {"up", true}}), {}};
  type.artifacts[file_artifact(kOwnFile)] = Absent{};
  type.artifacts[file_artifact(kHostileFile)] = file_present(text, 0600);
  return observed;
}

NodePlan plan_with(const ObservedState& observed) {
  NodePlanInput input;
  input.desired = {half_to_take_over()};
  input.observed = &observed;
  return plan_node(input, builtin_registry());
}

bool has_change(const NodePlan& plan) {
  return std::ranges::any_of(plan.changes, [](const Change& change) { return change.id.name == kOneHalf; });
}

}  // namespace

TEST_CASE("netplan: 100,000 open brackets are refused at once, and so is any other depth beyond 64 levels") {
  for (const char* const piece : {"[", "{", "[\n", "- ", "? ", "? [", "&a [", "[{"}) {
    INFO(piece);
    const std::string text = times(100'000, piece).substr(0, kLargestNetplanText);
    const auto cost = cost_of([&] { return is_beyond_limits(text); });
    CHECK(cost.exit_status == 0);
    CHECK(cost.seconds < 1);
  }
  CHECK(parse_yaml(times(64, "[") + times(64, "]")));
  CHECK(is_beyond_limits(times(65, "[") + times(65, "]")));
}

TEST_CASE("netplan: an alias counts as a copy of its value, so no text grows in memory") {
  const std::string text = "a: &a " + std::string(100'000, 'x') + "\nb: [" + times(2000, "*a, ") + "]\n";
  const std::string values = "a: &a [" + times(1000, "x, ") + "]\nb: [" + times(1000, "*a, ") + "]\n";
  const std::string keys = "a: &a " + std::string(100'000, 'x') + "\nb: [" + times(2000, "{*a : x}, ") + "]\n";
  std::string nested = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    nested += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below + ", " + below + "]\n";
  }
  for (const std::string& bomb : {text, values, keys, nested}) {
    const auto cost = cost_of([&] { return is_beyond_limits(bomb); });
    CHECK(cost.exit_status == 0);
    CHECK(cost.seconds < kMostHostileSeconds);
    CHECK(cost.megabytes < kMostHostileMegabytes);
  }
}

TEST_CASE("netplan: an anchor is refused within its own value, twice in a file, and if it is missing") {
  for (const char* const text : {"a: &a [*a]\n", "a: &a {b: [x, *a]}\n", "a: &a x\nb: &a y\n", "a: *b\n"}) {
    INFO(text);
    const auto tree = parse_yaml(text);
    REQUIRE_FALSE(tree);
    CHECK(tree.error().code == ErrorCode::kInvalidInput);
    CHECK(tree.error().context.size() == 1);
  }
}

TEST_CASE("netplan: a file with an anchor and its aliases is read, and its definitions are emptied and restored") {
  const std::string text =
      "network:\n  ethernets:\n    enP7s7: &usual\n      mtu: &mtu 9000\n      nameservers: {addresses: [1.1.1.1]}\n"
      "    enp1s0f1np1:\n      mtu: *mtu\n    enP2p1s0f1np1: *usual\n";
  const auto tree = parse_yaml(text);
  REQUIRE(tree);
  const auto definitions = definitions_in(kHostileFile, *tree);
  REQUIRE(definitions.size() == 3);
  CHECK(definitions[1].source == kHostileFile + ":6");
  CHECK(definitions[2].entries == std::vector<std::string>{"DNS 1.1.1.1"});
  CHECK(*tree->find("network")->find("ethernets")->find(kOneHalf)->find("mtu") == Value("9000"));
  for (const char* const key : {"enp1s0f1np1", "enP2p1s0f1np1"}) {
    CHECK(why_not_taken_over(kHostileFile, text, *tree, key) == "");
    const auto emptied = with_emptied(text, {{key, key}});
    REQUIRE(emptied);
    CHECK(with_restored(*emptied, {std::string(key)}) == text);
  }
  // Without it, the aliases of the others would have no value.
  CHECK_FALSE(with_emptied(text, {{"enP7s7", "enP7s7"}}));
}

TEST_CASE("netplan: tens of thousands of anchors, keys, definitions and directives cost less than five seconds") {
  const std::string definitions = "network:\n  ethernets:\n" + numbered(16'000, "    e#: {}\n");
  const auto cost = cost_of([&] {
    return parse_yaml(numbered(20'000, "- &# a\n")) && is_beyond_limits(numbered(40'000, "- &# a\n")) &&
           parse_yaml("{" + numbered(16'000, "key#: , ") + "}") && parse_yaml(definitions) &&
           parse_file(definitions)->size() == 16'000 &&
           is_beyond_limits(numbered(16'000, "%TAG !#! x\n") + "--- a\n") &&
           is_beyond_limits("[" + times(50'000, "a,") + "]") && is_beyond_limits(times(100'000, "-\n"));
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
  CHECK(cost.megabytes < kMostHostileMegabytes);
}

TEST_CASE("netplan: a file of 256 KiB is read, and a larger one is refused with its limit") {
  const std::string file = "network: {version: 2}\n#";
  CHECK(parse_yaml(file + std::string(kLargestNetplanText - file.size(), 'x')));
  const auto larger = parse_yaml(file + std::string(kLargestNetplanText + 1 - file.size(), 'x'));
  REQUIRE_FALSE(larger);
  CHECK(larger.error().code == ErrorCode::kUnsupported);
  CHECK(larger.error().message == "it has more than 256 KiB");
}

TEST_CASE("netplan: a file with a byte order mark is read as one without it") {
  const std::string file = "network: {version: 2}\nother: x\n";
  CHECK(parse_yaml("\xEF\xBB\xBF" + file) == parse_yaml(file));
}

TEST_CASE("netplan: of a key that is there twice, the last value counts, at its own line") {
  const auto tree = parse_yaml("network:\n  ethernets:\n    a: {mtu: 1}\n    b: {mtu: 2}\n    a: {mtu: 3}\n");
  REQUIRE(tree);
  const auto definitions = definitions_in(kHostileFile, *tree);
  REQUIRE(definitions.size() == 2);
  CHECK(definitions[0].id == "a");
  CHECK(definitions[0].source == kHostileFile + ":5");
}

TEST_CASE("netplan: an unreadable file beyond the limits blocks the interfaces, and the error says which limit") {
  test::FakeNode node;
  node.add_file(kHostileFile, times(100'000, "["));
  const auto files = read_foreign_files(node);
  REQUIRE(files);
  REQUIRE(files->unreadable.size() == 1);
  CHECK(files->unreadable.front().is_beyond_limits);
  const auto observed = builtin_registry().find("netplan")->observe(ObserveRequest{{kOneHalf}}, node);
  const auto* error = std::get_if<Error>(&observed.resources.at(kOneHalf));
  REQUIRE(error != nullptr);
  CHECK(error->message.starts_with(kHostileFile + " is no file that sparkplan reads: it is nested deeper than 64 "));
}

TEST_CASE("netplan: several definitions are emptied at once as one after the other") {
  const std::string text =
      "network:\n  ethernets:\n    a: {mtu: 1}\n    b:\n      routes:\n        - {to: default,\n           via: "
      "10.0.0.1}\n"
      "      passthrough: |\n        one\n        two\n\n    # of c\n    c:\n      name: \"over\n        two lines\"\n"
      "    d: {mtu: 4}\n";
  const auto one = with_emptied(text, {{"c", "c"}});
  REQUIRE(one);
  const auto two = with_emptied(*one, {{"a", "eth0"}});
  REQUIRE(two);
  const auto three = with_emptied(*two, {{"b", "b"}});
  REQUIRE(three);
  CHECK(with_emptied(text, {{"a", "eth0"}, {"b", "b"}, {"c", "c"}}) == three);
  CHECK(with_emptied(*one, {{"a", "eth0"}, {"b", "b"}, {"c", "c"}}) == three);
  CHECK(with_restored(*three, std::set<std::string>{"a", "b", "c"}) == text);
  CHECK_FALSE(with_emptied(text, {{"a", "a"}, {"missing", "missing"}}));
}

TEST_CASE("netplan: 50,000 marks of a takeover are restored in less than five seconds") {
  const std::string text = taken_over_definitions(50'000);
  ObservedState observed = observed_with(text, 3);
  observed.types["netplan"].resources[kOneHalf] = Present{Value::map({{kAlsoDefinedIn, Value::list()}}), {}};
  const auto cost = cost_of([&] {
    const NodePlan plan = plan_with(observed);
    std::set<std::string> keys;
    for (const auto& [key, interface] : emptied_in(text)) keys.insert(key);
    return plan.changes.size() == 2 && keys.size() == 50'000 && emptied_in(with_restored(text, keys)).empty();
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

TEST_CASE("netplan: a node that sends a text beyond the limits has its own change blocked, with the file and why") {
  const std::string bomb = "network:\n  ethernets:\n    enp1s0f1np1: {mtu: &a " + std::string(100'000, 'x') +
                           "}\n    b: [" + times(2000, "*a, ") + "]\n";
  for (const std::string& text : {bomb, times(100'000, "["), times(3'000'000, "x"), taken_over_definitions(40'000)}) {
    ObservedState observed = observed_with(text, 3);
    REQUIRE(check_observed({{"netplan", {kOneHalf}}}, builtin_registry(), observed));
    const auto cost = cost_of([&] {
      const NodePlan plan = plan_with(observed);
      return !has_change(plan) && plan.blocked.size() == 1 &&
             plan.blocked.front().error.message.starts_with(kHostileFile + " defines a managed interface too, and ");
    });
    CHECK(cost.exit_status == 0);
    CHECK(cost.seconds < kMostHostileSeconds);
    CHECK(cost.megabytes < kMostHostileMegabytes);
  }
  const ObservedState honest = observed_with("network:\n  ethernets:\n    enp1s0f1np1: {mtu: 1}\n", 3);
  const NodePlan plan = plan_with(honest);
  CHECK(plan.blocked.empty());
  CHECK(has_change(plan));
  CHECK(std::ranges::count(plan.steps, file_artifact(kHostileFile), &Step::artifact) == 1);
}

TEST_CASE("netplan: a node whose files claim thousands of definitions costs a plan less than five seconds") {
  ObservedState observed = observed_with("network: {}\n", 1);
  ObservedType& type = observed.types["netplan"];
  Value sources = Value::list();
  for (int i = 0; i < 64; ++i) {
    const std::string path = "/etc/netplan/" + std::to_string(i) + ".yaml";
    sources.push_back(path + ":3");
    type.artifacts[file_artifact(path)] =
        file_present("network:\n  ethernets:\n    enp1s0f1np1: {mtu: 1}\n" + numbered(4'000, "    e#: {a: }\n"), 0600);
  }
  type.resources[kOneHalf] = Present{Value::map({{kAlsoDefinedIn, std::move(sources)}, {"up", true}}), {}};
  const auto cost = cost_of([&] { return plan_with(observed).blocked.size() == 1; });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

TEST_CASE("netplan: a node with thousands of links costs the check of a thousand changes less than five seconds") {
  Facts own;
  own.ssh_server_address = "10.0.0.11";
  for (int i = 0; i < 2048; ++i) {
    LinkFacts link;
    link.name = "l" + std::to_string(i);
    link.lower = "l" + std::to_string(i + 1);
    link.addresses = std::vector<std::string>(100, "10.1.0.1/16");
    own.links.push_back(link);
  }
  own.links.front().addresses = {"10.0.0.11/24"};
  std::vector<Change> changes(1000);
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i].id = {"netplan", "other" + std::to_string(i)};
  const ResourceType* type = builtin_registry().find("netplan");
  const auto cost = cost_of([&] { return !type->refuses(changes, own); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

TEST_CASE("netplan: thousands of routes beside thousands of configured names cost less than five seconds") {
  Facts own;
  std::vector<std::string> configured;
  for (int i = 0; i < 10'000; ++i) configured.push_back("a-name-of-an-interface-" + std::to_string(i));
  own.host.routes.resize(16'384);
  for (RouteFacts& route : own.host.routes)
    route.interface = "a-name-of-an-interface-x", route.destination = "1.2.3.4/32";
  ObservedPort half;
  half.interface = kOneHalf;
  half.address = "192.168.100.11";
  half.prefix_length = 24;
  const auto cost = cost_of([&] { return route_collisions("n1", {half}, configured, Value::map(), own).empty(); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

TEST_CASE("netplan: thousands of globs and names of links that no kernel has cost less than five seconds") {
  std::vector<Definition> definitions(2'300);
  for (Definition& one : definitions) {
    one.section = "ethernets";
    one.has_match = true;
    one.match_name = times(1000, "*[[:");
  }
  LinkFacts link;
  link.name = std::string(256, 'a');
  const auto cost = cost_of([&] {
    std::size_t found = 0;
    for (int i = 0; i < 8; ++i) found += definitions_of(link, definitions).size();
    return found == 0;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

TEST_CASE("netplan: the warning about a takeover names few of thousands of files, in less than five seconds") {
  ObservedPort half;
  half.interface = kOneHalf;
  BeforeTakeOver before;
  before.definitions.resize(10'000);
  for (std::size_t i = 0; i < before.definitions.size(); ++i) {
    before.definitions[i].source = std::string(400, 'p') + std::to_string(i);
    for (int j = 0; j < 50; ++j)
      before.definitions[i].entries.push_back("DNS " + std::to_string(i * 50) + "." + std::to_string(j));
  }
  const auto cost = cost_of([&] {
    const auto warning = what_goes(half, Stanza{9000, {"192.168.100.11/24"}, false}, before, Facts());
    return warning && warning->message.size() < 64'000 && warning->message.ends_with(", 9984 more)");
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < kMostHostileSeconds);
}

}  // namespace sparkplan::netplan
