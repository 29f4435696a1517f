// When and how an agent is pushed to a node.
#include "engine/core/digest.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/remote/transport/remote_commands.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using test::agent;
using test::installer;
using test::no_agent;
using test::node;
using test::own_hello;
using test::Peer;
using test::Remote;

constexpr auto kNever = InstallPolicy::kNever;
constexpr auto kIfNeeded = InstallPolicy::kIfNeeded;
constexpr auto kExactBuild = InstallPolicy::kExactBuild;

Hello other_build() {
  auto hello = own_hello();
  hello.build = "0000000000000000000000000000000000000000";
  return hello;
}

Hello other_major() {
  auto hello = own_hello();
  hello.protocol_major = kProtocolMajor + 1;
  return hello;
}

/// The error for a node without an agent and with this installer.
Error failed_installation(Peer peer, const std::string& password = "") {
  Remote remote;
  remote.add(no_agent());
  remote.add(std::move(peer));
  auto options = remote.options(kIfNeeded);
  if (!password.empty()) options.become_password = test::secret(password);
  options.reply_timeout = std::chrono::milliseconds(200);
  const auto client = AgentClient::open(node(password.empty() ? "root" : "anna"), options, {});
  REQUIRE_FALSE(client);
  return client.error();
}

}  // namespace

TEST_CASE("a node without an agent gets none under kNever") {
  Remote remote;
  remote.add(no_agent());
  const auto client = AgentClient::open(node(), remote.options(kNever), {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kNotFound);
  for (const char* next : {"released", "sparkplan apply", "sparkplan plan"})
    CHECK(client.error().hint.find(next) != std::string::npos);
  CHECK(remote.started() == 1);
}

TEST_CASE("a node without an agent gets this build's agent under the other policies") {
  for (const auto policy : {kIfNeeded, kExactBuild}) {
    Remote remote;
    remote.add(no_agent());
    remote.add(installer());
    remote.add(agent());
    const auto client = AgentClient::open(node("anna"), remote.options(policy), {});
    REQUIRE(client);
    CHECK(client->facts().facts.hostname == "spark-01");
    REQUIRE(remote.started() == 3);
    CHECK(remote.peer(1).program == RemoteProgram::kInstaller);
    CHECK(remote.peer(1).elevation == Elevation::kSudo);
    CHECK(remote.peer(1).status == 0);
    CHECK(remote.peer(2).program == RemoteProgram::kAgent);
  }
}

TEST_CASE("the installer receives the compressed agent for its architecture") {
  Remote remote;
  remote.add(no_agent());
  remote.add(installer());
  remote.add(agent());
  REQUIRE(AgentClient::open(node(), remote.options(), {}));
  const auto image = agent_image(own_hello().architecture);
  REQUIRE(image);
  const auto expected = std::string(kInstallerPut) + "\n" + std::string(image->packed);
  CHECK(remote.peer(1).written == expected);
  CHECK(remote.peer(1).input_closed);
}

TEST_CASE("another build of the same major version is used, except under kExactBuild") {
  for (const auto policy : {kNever, kIfNeeded}) {
    Remote remote;
    remote.add(agent(other_build()));
    const auto client = AgentClient::open(node(), remote.options(policy), {});
    REQUIRE(client);
    CHECK(client->hello().build == other_build().build);
    CHECK(client->facts().facts.hostname == "spark-01");
    CHECK(remote.started() == 1);
  }
  Remote remote;
  remote.add(agent(other_build()));
  remote.add(installer());
  remote.add(agent());
  const auto client = AgentClient::open(node(), remote.options(kExactBuild), {});
  REQUIRE(client);
  CHECK(client->hello().build == own_hello().build);
  CHECK(remote.started() == 3);
}

TEST_CASE("the same build is not installed again under kExactBuild") {
  Remote remote;
  remote.add(agent());
  REQUIRE(AgentClient::open(node(), remote.options(kExactBuild), {}));
  CHECK(remote.started() == 1);
}

TEST_CASE("an agent that lacks a resource type is replaced by a plan, but not by a drift check") {
  const FactsRequest request{{{"newer_type", Value()}}};
  Remote drift;
  drift.add(agent());
  CHECK(AgentClient::open(node(), drift.options(kNever), request));
  Remote plan;
  plan.add(agent());
  plan.add(installer());
  plan.add(agent());
  CHECK(AgentClient::open(node(), plan.options(kIfNeeded), request));
  CHECK(plan.started() == 3);
}

TEST_CASE("an agent of another major version is refused under kNever, and replaced otherwise") {
  Remote refused;
  refused.add(agent(other_major()));
  const auto no = AgentClient::open(node(), refused.options(kNever), {});
  REQUIRE_FALSE(no);
  CHECK(no.error().code == ErrorCode::kUnsupported);
  CHECK(no.error().message.find(std::to_string(kProtocolMajor + 1)) != std::string::npos);
  CHECK(refused.started() == 1);
  for (const auto policy : {kIfNeeded, kExactBuild}) {
    Remote remote;
    remote.add(agent(other_major()));
    remote.add(installer());
    remote.add(agent());
    const auto client = AgentClient::open(node(), remote.options(policy), {});
    REQUIRE(client);
    CHECK(client->hello().protocol_major == kProtocolMajor);
  }
}

TEST_CASE("an agent of another major version after its installation is refused") {
  Remote remote;
  remote.add(agent(other_major()));
  remote.add(installer());
  remote.add(agent(other_major()));
  const auto client = AgentClient::open(node(), remote.options(kIfNeeded), {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("an architecture without an embedded agent is named") {
  const auto error = failed_installation(installer("vax"));
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message.find("vax") != std::string::npos);
  CHECK(error.hint.find(own_hello().architecture) != std::string::npos);
}

TEST_CASE("a failing installer is reported with its own error") {
  auto peer = installer();
  peer.on_write = [](Peer& self) {
    self.ended = true;
    self.status = 1;
    self.standard_error = "mktemp: failed to create file: No space left on device\n";
  };
  const auto error = failed_installation(peer);
  CHECK(error.describe().find("No space left on device") != std::string::npos);
}

TEST_CASE("an installer that is silent or floods its output is an error") {
  CHECK(failed_installation(Peer{}).code == ErrorCode::kUnreachable);
  Peer flood;
  flood.on_read = [](Peer& self) { self.output = std::string(40000, '#'); };
  CHECK(failed_installation(flood).message.find("64 KiB") != std::string::npos);
}

TEST_CASE("an installer whose sudo refuses is a permission error") {
  Peer refusal;
  refusal.ended = true;
  refusal.status = 1;
  refusal.standard_error = "sudo: a password is required\n";
  CHECK(failed_installation(refusal).code == ErrorCode::kPermissionDenied);
}

TEST_CASE("an agent that disappears after its installation is an error, without a retry") {
  Remote remote;
  remote.add(no_agent());
  remote.add(installer());
  remote.add(no_agent());
  const auto client = AgentClient::open(node(), remote.options(), {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kNotFound);
  CHECK(remote.started() == 3);
}

}  // namespace sparkplan
