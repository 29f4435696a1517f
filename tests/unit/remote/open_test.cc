// How a conversation with an agent begins.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/remote/transport/remote_commands.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using test::agent;
using test::node;
using test::own_hello;
using test::Peer;
using test::Remote;

Error refused(const Remote& remote, const AgentOptions& options, const NodeSpec& spec = node()) {
  (void)remote;
  const auto client = AgentClient::open(spec, options, {});
  REQUIRE_FALSE(client);
  return client.error();
}

AgentOptions impatient(const Remote& remote) {
  auto options = remote.options();
  options.reply_timeout = milliseconds(30);
  return options;
}

AgentOptions with_password(const Remote& remote) {
  auto options = remote.options();
  options.become_password = test::secret("secret");
  return options;
}

/// For `on_read`: calls `react` once `time` has passed since the first read.
std::function<void(Peer&)> later(milliseconds time, const std::function<void(Peer&)>& react) {
  using Clock = std::chrono::steady_clock;
  const auto due = std::make_shared<std::optional<Clock::time_point>>();
  return [=](Peer& self) {
    if (!*due) *due = Clock::now() + time;
    if (Clock::now() >= **due) react(self);
  };
}

/// The peer's answer to its input arrives only after `time`.
void hold_back(Peer& peer, milliseconds time) {
  const auto held = std::make_shared<std::pair<std::string, bool>>(std::string(), false);
  peer.on_write = [held, usual = peer.on_write](Peer& self) {
    usual(self);
    held->first += std::exchange(self.output, "");
    held->second = std::exchange(self.ended, false) || held->second;
  };
  peer.on_read = later(time, [held](Peer& self) {
    self.output += std::exchange(held->first, "");
    self.ended = self.ended || held->second;
  });
}

}  // namespace

TEST_CASE("the preamble and the facts request are sent before the hello arrives") {
  Remote remote;
  Peer peer = agent();
  const auto hello = std::exchange(peer.output, "");
  peer.on_write = [hello, answer = peer.on_write](Peer& self) {
    // Silent until all requests have arrived.
    if (self.output.empty()) self.output = hello;
    answer(self);
  };
  remote.add(std::move(peer));
  const auto client = AgentClient::open(node(), remote.options(), {{{"sysctl", Value()}}});
  REQUIRE(client);
  CHECK(client->facts().facts.hostname == "spark-01");
  CHECK(client->hello().build == own_hello().build);
  CHECK(client->host_key() == "SHA256:fake");
  CHECK(remote.started() == 1);
  CHECK(remote.peer(0).program == RemoteProgram::kAgent);
  CHECK(remote.peer(0).written.rfind(kPreamble, 0) == 0);
}

TEST_CASE("a login shell's output before the preamble is ignored") {
  Remote remote;
  auto& peer = remote.add(agent());
  peer.output.insert(0, "Welcome to Ubuntu\n\x1b[0m\0\1SPARK");
  CHECK(AgentClient::open(node(), remote.options(), {}));
}

TEST_CASE("root, a node without become and a local node are not elevated") {
  auto plain = node("anna");
  plain.ssh.become = Become::kNone;
  auto local = node("anna");
  local.transport = TransportKind::kLocal;
  for (const auto& spec : {node("root"), plain, local}) {
    Remote remote;
    remote.add(agent());
    REQUIRE(AgentClient::open(spec, with_password(remote), {}));
    CHECK(remote.peer(0).elevation == Elevation::kNone);
    CHECK(remote.peer(0).written.find("secret") == std::string::npos);
  }
}

TEST_CASE("a user other than root uses sudo without a password prompt") {
  Remote remote;
  remote.add(agent());
  REQUIRE(AgentClient::open(node("anna"), remote.options(), {}));
  CHECK(remote.peer(0).elevation == Elevation::kSudo);
}

TEST_CASE("a sudo that requires a password is refused, with the line for sudoers as hint") {
  Remote remote;
  auto& peer = remote.add({});
  peer.ended = true;
  peer.status = 1;
  peer.standard_error = "motd\nsudo: a password is required\n";
  const auto error = refused(remote, remote.options(), node("anna"));
  CHECK(error.code == ErrorCode::kPermissionDenied);
  CHECK(error.message.find("sudo: a password is required") != std::string::npos);
  CHECK(error.hint.find("NOPASSWD: /usr/local/libexec/sparkplan/agent --stdio") != std::string::npos);
  CHECK(remote.started() == 1);
}

TEST_CASE("a node that floods the connection is disconnected before the deadline") {
  Remote remote;
  remote.add({}).on_read = [](Peer& self) { self.output = std::string(40000, '#'); };
  const auto error = refused(remote, remote.options());
  CHECK(error.message.find("does not speak sparkplan's protocol") != std::string::npos);
  CHECK(error.code != ErrorCode::kUnreachable);
}

TEST_CASE("a silent node is unreachable at the deadline, with its output so far") {
  Remote quiet;
  quiet.add({});
  CHECK(refused(quiet, impatient(quiet)).code == ErrorCode::kUnreachable);
  Remote chatty;
  chatty.add({}).output = "This account is\ncurrently \x1b[31mnot available.\n";
  const auto error = refused(chatty, impatient(chatty));
  CHECK(error.code == ErrorCode::kUnreachable);
  CHECK(error.message.find("not available") != std::string::npos);
  CHECK(error.message.find('\x1b') == std::string::npos);
}

TEST_CASE("an ended program is reported with its status and error, and a cut connection is unreachable") {
  Remote ended;
  auto& peer = ended.add({});
  peer.ended = true;
  peer.status = 126;
  peer.standard_error = "sh: 1: cannot execute\n\n";
  const auto error = refused(ended, ended.options());
  CHECK(error.code == ErrorCode::kFailed);
  CHECK(error.message == "the remote program ended with status 126: sh: 1: cannot execute");
  Remote without_status;
  without_status.add({}).ended = true;
  CHECK(refused(without_status, without_status.options()).code == ErrorCode::kUnreachable);
  Remote cut;
  cut.add({}).cut = true;
  CHECK(refused(cut, cut.options()).code == ErrorCode::kUnreachable);
}

TEST_CASE("invalid bytes instead of a hello, or an unrequested reply, are refused") {
  Remote other_message;
  other_message.add({}).output = std::string(kPreamble) + test::framed(Value::list({1, 2}));
  CHECK(refused(other_message, other_message.options()).code == ErrorCode::kInvalidInput);
  Remote other_id;
  other_id.add({}).output = std::string(kPreamble) + test::framed(encode(own_hello())) +
                            test::framed(encode(NumberedReply{77, *test::answer_usually(FactsRequest{})}));
  CHECK(refused(other_id, other_id.options()).code == ErrorCode::kFailed);
}

TEST_CASE("an agent that cannot read its facts reports the reason") {
  Remote remote;
  const Error why{ErrorCode::kUnsupported, "manifest of format 9", {"/var/lib/sparkplan"}, {}, "update"};
  remote.add(agent(own_hello(), [why](const Request&) -> Result<Value> { return failure(why); }));
  CHECK(refused(remote, remote.options()) == why);
}

TEST_CASE("an older agent that cannot observe with the facts receives a plain facts request") {
  Remote remote;
  Hello of_before = own_hello();
  of_before.protocol_minor = kMinorOfObserveManaged - 1;
  auto& ends = remote.add({});
  ends.output = std::string(kPreamble) + test::framed(encode(of_before));
  ends.ended = true;
  ends.status = 1;
  ends.standard_error = "sparkplan agent: a request of kind facts has no field observe_managed\n";
  bool asked_for_more = false;
  remote.add(agent(of_before, [&asked_for_more](const Request& request) {
    asked_for_more = std::get<FactsRequest>(request).observe_managed;
    return test::answer_usually(request);
  }));
  FactsRequest request;
  request.observe_managed = true;
  const auto client = AgentClient::open(node("anna"), remote.options(InstallPolicy::kNever), request);
  REQUIRE(client);
  CHECK(remote.started() == 2);
  CHECK_FALSE(asked_for_more);
  CHECK(client->facts().facts.hostname == "spark-01");
}

TEST_CASE("an older agent that knows no offers of rosters receives the same facts request without them") {
  Remote remote;
  Hello of_before = own_hello();
  of_before.protocol_minor = kMinorOfKnownRosters - 1;
  auto& ends = remote.add({});
  ends.output = std::string(kPreamble) + test::framed(encode(of_before));
  ends.ended = true;
  ends.status = 1;
  ends.standard_error = "sparkplan agent: a request of kind facts has no field known_rosters\n";
  FactsRequest asked;
  remote.add(agent(of_before, [&asked](const Request& request) {
    asked = std::get<FactsRequest>(request);
    return test::answer_usually(request);
  }));
  FactsRequest request;
  request.observe_managed = true;
  request.everything = true;
  request.known_rosters = {std::string(kDigestLength, 'a')};
  REQUIRE(AgentClient::open(node("anna"), remote.options(InstallPolicy::kNever), request));
  CHECK(remote.started() == 2);
  CHECK(asked.known_rosters.empty());
  CHECK(asked.observe_managed);
  CHECK(asked.everything);
}

TEST_CASE("an older agent that knows no patience receives the same facts request without it") {
  Remote remote;
  Hello of_before = own_hello();
  of_before.protocol_minor = kMinorOfPatience - 1;
  auto& ends = remote.add({});
  ends.output = std::string(kPreamble) + test::framed(encode(of_before));
  ends.ended = true;
  ends.status = 1;
  ends.standard_error = "sparkplan agent: a request of kind facts has no field patience_ms\n";
  FactsRequest asked;
  remote.add(agent(of_before, [&asked](const Request& request) {
    asked = std::get<FactsRequest>(request);
    return test::answer_usually(request);
  }));
  FactsRequest request;
  request.known_rosters = {std::string(kDigestLength, 'a')};
  request.patience_ms = 20'000;
  REQUIRE(AgentClient::open(node("anna"), remote.options(InstallPolicy::kNever), request));
  CHECK(remote.started() == 2);
  CHECK(asked.patience_ms == 0);
  CHECK(asked.known_rosters == request.known_rosters);
}

TEST_CASE("a node that delays each of many attempts to start the agent is left after a few deadlines") {
  Remote remote;
  auto options = remote.options();
  options.reply_timeout = milliseconds(700);
  Hello old = own_hello();
  old.protocol_minor = 1;
  old.types = {};
  const std::string greeting = agent(old).output;
  // The node says late that it has no agent.
  Peer without = test::no_agent();
  without.ended = false;
  without.on_read = later(milliseconds(300), [](Peer& self) { self.ended = true; });
  without.output = greeting;
  remote.add(std::move(without));
  Peer slow_installer = test::installer();
  hold_back(slow_installer, milliseconds(1100));
  remote.add(std::move(slow_installer));
  Peer silent;
  silent.output = greeting;
  remote.add(std::move(silent));
  Peer without_types = agent(old);
  hold_back(without_types, milliseconds(500));
  remote.add(std::move(without_types));
  remote.add(test::installer());
  remote.add(agent());
  FactsRequest request;
  request.exports = {{"sysctl", Value()}};
  request.observe_managed = true;
  const auto client = AgentClient::open(node(), options, request);
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kUnreachable);
  CHECK(remote.started() <= 4);  // Fewer on a busy machine: the node then answers even later.
}

TEST_CASE("a stop before the hello interrupts at once") {
  Remote remote;
  remote.add({});
  std::stop_source source;
  source.request_stop();
  auto options = remote.options();
  options.connect.stop = source.get_token();
  CHECK(refused(remote, options).code == ErrorCode::kInterrupted);
}

TEST_CASE("the connector's error is returned unchanged") {
  AgentOptions options;
  options.connector = [](const NodeSpec&, const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    return failure(ErrorCode::kUntrusted, "the host key is unknown", "run `sparkplan trust`");
  };
  const auto client = AgentClient::open(node(), options, {});
  REQUIRE_FALSE(client);
  CHECK(client.error() == Error{ErrorCode::kUntrusted, "the host key is unknown", {}, {}, "run `sparkplan trust`"});
}

}  // namespace sparkplan
