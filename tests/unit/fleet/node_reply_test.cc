// Replies of a node's agent, as a run reads them.
#include "engine/fleet/session/node_reply.h"

#include <stdexcept>
#include <string>

#include "engine/core/text.h"
#include "engine/fleet/session/last_line.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::kManifestFile;
using test::standing;

const ResourceId kSwappiness{"sysctl", "vm.swappiness"};

FactsReply reply_of_member() {
  FactsReply reply;
  reply.manifest = Manifest{};
  reply.manifest->resources[kSwappiness].last_applied = Value::map({{"persistent", "10"}, {"running", "10"}});
  reply.observed.types["sysctl"].resources["vm.swappiness"] = Present{Value::map({{"running", "10"}}), {}};
  return reply;
}

FactsRequest request_of_plan() {
  FactsRequest request;
  request.observe_managed = true;
  return request;
}

}  // namespace

TEST_CASE("a well-formed reply is accepted unchanged") {
  const auto known = checked(reply_of_member(), request_of_plan(), builtin_registry());
  REQUIRE(known);
  CHECK(known->observed.types.at("sysctl").resources.size() == 1);
  CHECK(known->manifest->resources.size() == 1);
}

TEST_CASE("a malformed reply gives a printable error of bounded length") {
  for (const std::string& name : {std::string("vm.swappiness"), std::string("a\x1b[2J\n"), std::string(4000, 'x')}) {
    auto reply = reply_of_member();
    reply.manifest->resources[{"sysctl", name}].last_applied = Value::map({{"running", Value::list()}});
    const auto known = checked(std::move(reply), request_of_plan(), builtin_registry());
    REQUIRE_FALSE(known);
    CHECK(known.error().code == ErrorCode::kFailed);
    CHECK(known.error().message.starts_with("the node's agent sent an invalid reply: "));
    CHECK(printable(known.error().message) == known.error().message);
    CHECK(known.error().message.size() < 2 * kLongestReason);
  }
}

TEST_CASE("a reply with an Unknown at any place is refused") {
  const Value unknown = Value::map({{"running", Value::Unknown{"for ever", "n1/ssh_trust/root"}}});
  auto observed = reply_of_member();
  observed.observed.types["sysctl"].resources["vm.swappiness"] = Present{unknown, {}};
  CHECK_FALSE(checked(observed, request_of_plan(), builtin_registry()));
  auto applied = reply_of_member();
  applied.manifest->resources[kSwappiness].last_applied = unknown;
  CHECK_FALSE(checked(applied, request_of_plan(), builtin_registry()));
  auto exported = reply_of_member();
  exported.exports["mount"] = Value::map({{"writes", Value::list({Value::Unknown{"for ever", "n1/mount/x"}})}});
  auto request = request_of_plan();
  request.exports["mount"] = Value();
  CHECK_FALSE(checked(exported, request, builtin_registry()));
}

TEST_CASE("parts of a reply that were not requested are dropped") {
  auto reply = reply_of_member();
  reply.exports["ssh_trust"] = Value::map({{"users", Value::map()}});
  reply.export_errors["ssh_trust"] = Error{ErrorCode::kFailed, "x", {}, {}, ""};
  reply.observed.types["hosts"].resources["x"] = Absent{};
  const auto known = checked(reply, request_of_plan(), builtin_registry());
  REQUIRE(known);
  CHECK(known->exports.empty());
  CHECK(known->export_errors.empty());
  CHECK(known->observed.types.size() == 1);
  const auto not_observed = checked(reply, FactsRequest{}, builtin_registry());
  REQUIRE(not_observed);
  CHECK(not_observed->observed.types.empty());
}

TEST_CASE("the reply for a rollback must match the shapes of its types") {
  UndoReply reply;
  reply.managed_before[kSwappiness] = ManagedResource{Value::map({{"running", "60"}}), {}};
  CHECK(checked(reply, builtin_registry()));
  reply.managed_before[kSwappiness] = ManagedResource{7, {}};
  CHECK_FALSE(checked(reply, builtin_registry()));
}

TEST_CASE("a reply for a rollback with more earlier values than a manifest can have is refused") {
  const auto reply_of = [](std::size_t bytes) {
    UndoReply reply;
    for (const auto* name : {"a", "b", "c", "d"}) {
      reply.managed_before[{"later_type", name}] = ManagedResource{std::string(bytes, 'x'), {}};
    }
    return reply;
  };
  CHECK(checked(reply_of(2'800'000), builtin_registry()));
  const auto refused = checked(reply_of(3'800'000), builtin_registry());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("more than a manifest can have") != std::string::npos);
}

TEST_CASE("a reply for a rollback with steps for more resources than a node can have is refused") {
  UndoReply reply;
  Step step;
  step.type = "sysctl";
  step.artifact = file_artifact("/etc/sysctl.d/90-sparkplan.conf");
  step.before = Absent{};
  step.after = Absent{};
  const std::size_t most = builtin_registry().find("sysctl")->info().reported.most;
  for (std::size_t i = 0; i < most; ++i) step.resources.push_back({"sysctl", "kernel.p" + std::to_string(i)});
  step.resources.push_back(step.resources.front());  // Twice the same is one resource.
  reply.steps = {step};
  CHECK(checked(reply, builtin_registry()));
  reply.steps.front().resources.push_back({"sysctl", "kernel.another"});
  CHECK_FALSE(checked(reply, builtin_registry()));
}

TEST_CASE("only requested resources with codes of their own type are accepted as ineffective") {
  const EffectRequest request{{{"limits", {{"*:memlock", Value()}}}}};
  EffectReply reply;
  reply.ineffective["limits"] = {{"*:memlock", "limits.not_effective", "m", "h"}, {"other", "limits.x", "m", "h"}};
  reply.ineffective["sysctl"] = {{"vm.swappiness", "sysctl.x", "m", "h"}};
  const auto found = checked(reply, request);
  REQUIRE(found);
  REQUIRE(found->ineffective.size() == 1);
  CHECK(found->ineffective.at("limits").size() == 1);
  reply.ineffective["limits"].front().code = "plan.stale";
  CHECK_FALSE(checked(reply, request));
}

TEST_CASE("a node may foresee failures of planned changes only") {
  const ForesightRequest request{{{"sysctl", {{"vm.swappiness", Value()}}}}};
  EffectReply reply;
  reply.ineffective["sysctl"] = {{"vm.swappiness", "sysctl.x", "m", "h"}, {"vm.other", "sysctl.x", "m", "h"}};
  reply.ineffective["limits"] = {{"*:memlock", "limits.x", "m", "h"}};
  const auto found = checked(reply, request);
  REQUIRE(found);
  REQUIRE(found->ineffective.size() == 1);
  CHECK(found->ineffective.at("sysctl").size() == 1);
  reply.ineffective["sysctl"].front().code = "limits.x";
  CHECK_FALSE(checked(reply, request));
}

TEST_CASE("a node that reports thousands of findings has twenty warnings, and three of a code for a resource") {
  ForesightRequest request;
  EffectReply reply;
  for (int i = 0; i < 60; ++i) {
    request.ahead["sysctl"]["vm.swappiness"] = Value();
    reply.ineffective["sysctl"].push_back({"vm.swappiness", "sysctl.x", "harmless " + std::to_string(i), "h"});
    reply.ineffective["sysctl"].push_back({"vm.swappiness", "sysctl.y", "the same", "h"});
  }
  const auto of_one = checked(reply, request);
  REQUIRE(of_one);
  CHECK(of_one->ineffective.at("sysctl").size() == kMostFindingsOfACode + 1);
  // Repetitions are not counted.
  CHECK(of_one->left_out == 60 - kMostFindingsOfACode);
  CHECK(of_one->without_finding.at("sysctl").empty());
  for (int i = 0; i < 30'000; ++i) {
    const std::string name = "vm.other" + std::to_string(i);
    request.ahead["sysctl"][name] = Value();
    reply.ineffective["sysctl"].push_back({name, "sysctl.x", "harmless", std::to_string(i)});
  }
  const auto of_many = checked(reply, request);
  REQUIRE(of_many);
  CHECK(of_many->ineffective.at("sysctl").size() == kMostFindingsOfNode);
  CHECK(of_many->left_out > 29'000);
  CHECK(of_many->without_finding.at("sysctl").size() == 30'000 - (kMostFindingsOfNode - kMostFindingsOfACode - 1));
}

TEST_CASE("a node that names an artifact twice in its steps for a rollback is refused") {
  Step step;
  step.type = "sysctl";
  step.artifact = file_artifact("/etc/sysctl.d/90-sparkplan.conf");
  step.before = Absent{};
  step.after = Absent{};
  UndoReply reply;
  reply.steps = {step};
  CHECK(checked(reply, builtin_registry()));
  reply.steps.assign(3000, step);
  const auto found = checked(reply, builtin_registry());
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::kFailed);
  CHECK(found.error().message.find("two steps for one artifact: ") != std::string::npos);
}

TEST_CASE("a node whose manifest has another shape fails alone, and the other nodes are planned") {
  FleetBench bench(3);
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  auto manifest = bench.root(2).read(kManifestFile);
  const std::string applied = R"("persistent": "10")";
  const auto at = manifest.find(applied);
  REQUIRE(at != std::string::npos);
  bench.root(2).write(kManifestFile, manifest.replace(at, applied.size(), R"("persistent": ["10"])"));
  const auto report = bench.plan();
  CHECK(standing(report) == "n1 in_sync, n2 failed, n3 in_sync");
  CHECK(exit_of(report) == 4);
  REQUIRE(report.nodes.at(1).error);
  CHECK(report.nodes.at(1).error->message ==
        "the node's agent sent an invalid reply: last applied sysctl/vm.swappiness: persistent: "
        "expected text, found list");
}

TEST_CASE("an exception while a node is processed becomes that node's error") {
  std::optional<Error> error;
  const auto note = [&](Error escaped) { error = std::move(escaped); };
  last_line([] {}, note);
  CHECK_FALSE(error);
  last_line([] { throw std::length_error("too long"); }, note);
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kFailed);
  CHECK(error->message == "an exception occurred while processing the node's data: too long");
  last_line([] { throw 7; }, note);
  CHECK(error->message == "an exception occurred while processing the node's data: unknown type");
}

}  // namespace sparkplan
