#include "engine/wire/messages.h"

#include <cstdint>
#include <limits>

#include "engine/wire/history_messages.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

const std::string kNoText("no text: \xff\0\x1b", 12);

Roster some_roster() {
  RosterEntry first;
  first.name = "spark-01";
  first.id = 1;
  first.address = "10.0.0.11";
  first.user = "nvidia";
  first.port = 2222;
  first.host_key = "SHA256:abc";
  RosterEntry second;
  second.name = "spark-02";
  second.id = 2;
  second.leaving = true;
  return Roster{"lab", "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10", 7, {first, second}};
}

std::vector<Step> some_steps() {
  Step write;
  write.type = write.group = "sysctl";
  write.artifact = {"file", "/etc/sysctl.d/90-sparkplan.conf"};
  write.phase = Phase::kKernelParameters;
  write.before = Absent{};
  write.after = Present{Value::map({{"content", kNoText}, {"mode", "0644"}}), {{"running", "no kernel"}}};
  write.resources = {{"sysctl", "net.ipv4.conf.enp1s0/200.rp_filter"}, {"sysctl", "vm.swappiness"}};
  write.needs = {{"packages", "linux-tools"}};
  Step key;
  key.type = "ssh_trust";
  key.artifact = {"key", "nvidia"};
  key.phase = Phase::kUsersAndKeys;
  key.before = NotApplicable{"an image"};
  key.after = Absent{};
  return {write, key};
}

/// The request after a journey over the wire.
template <class T>
T sent_message(const T& request, std::int64_t id = 42) {
  const auto decoded = decode_request(over_the_wire(encode(NumberedRequest{id, request})));
  REQUIRE(decoded);
  CHECK(decoded->id == id);
  REQUIRE(std::holds_alternative<T>(decoded->request));
  return std::get<T>(decoded->request);
}

void check_same(const std::map<ResourceId, ManagedResource>& a, const std::map<ResourceId, ManagedResource>& b) {
  REQUIRE(a.size() == b.size());
  for (const auto& [id, managed] : a) {
    INFO(id.str());
    REQUIRE(b.count(id) == 1);
    CHECK(b.at(id).last_applied == managed.last_applied);
    CHECK(b.at(id).artifacts == managed.artifacts);
  }
}

}  // namespace

TEST_CASE("a hello survives the wire") {
  const auto hello = decode<Hello>(over_the_wire(encode(Hello{3, 14, "0123abcd", "aarch64", {"hosts", "sysctl"}})));
  REQUIRE(hello);
  CHECK(hello->protocol_major == 3);
  CHECK(hello->protocol_minor == 14);
  CHECK(hello->build == "0123abcd");
  CHECK(hello->architecture == "aarch64");
  CHECK(hello->types == std::vector<std::string>{"hosts", "sysctl"});
}

TEST_CASE("a hello without a protocol has an unsupported major version") {
  const auto hello = decode<Hello>(Value::map({{"hello", Value::map()}}));
  REQUIRE(hello);
  CHECK(hello->protocol_major != kProtocolMajor);
  CHECK_FALSE(decode<Hello>(Value::map({{"hello", "hi"}})));
  CHECK_FALSE(decode<Hello>(Value::list({1})));
}

TEST_CASE("facts and observe requests survive the wire") {
  const FactsRequest facts{{{"ssh_trust", Value::map({{"users", Value::list({"nvidia"})}})}, {"sysctl", Value()}}};
  CHECK(sent_message(facts).exports == facts.exports);
  CHECK(sent_message(FactsRequest{}).exports.empty());
  CHECK_FALSE(sent_message(FactsRequest{}).observe_managed);
  FactsRequest for_a_plan;
  for_a_plan.observe_managed = true;
  CHECK(sent_message(for_a_plan).observe_managed);
  CHECK(sent_message(FactsRequest{}).known_rosters.empty());
  for_a_plan.known_rosters = {std::string(kDigestLength, 'a'), std::string(kDigestLength, 'b')};
  CHECK(sent_message(for_a_plan).known_rosters == for_a_plan.known_rosters);
  CHECK(sent_message(FactsRequest{}).patience_ms == 0);
  CHECK(encode(FactsRequest{}).find("patience_ms") == nullptr);
  for_a_plan.patience_ms = 20'000;
  CHECK(sent_message(for_a_plan).patience_ms == 20'000);
  for_a_plan.patience_ms = kLongestAgentPatienceMs + 1;
  CHECK_FALSE(decode_request(over_the_wire(encode(NumberedRequest{1, for_a_plan}))));
  const ObserveNodeRequest request{{{"hosts", {}}, {"sysctl", {"vm.swappiness", kNoText}}}};
  CHECK(sent_message(request).names == request.names);
}

TEST_CASE("a request with a negative number is refused, because no reader takes a reply with one") {
  (void)sent_message(PingRequest{}, std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(decode_request(over_the_wire(encode(NumberedRequest{-1, PingRequest{}}))));
}

TEST_CASE("offers of known rosters and their answers have bounds") {
  FactsRequest request;
  request.known_rosters.assign(kMostOfferedRosters + 1, std::string(kDigestLength, 'a'));
  CHECK_FALSE(decode_request(over_the_wire(encode(NumberedRequest{1, request}))));
  request.known_rosters = {std::string(kDigestLength + 1, 'a')};
  CHECK_FALSE(decode_request(over_the_wire(encode(NumberedRequest{1, request}))));
  FactsReply reply;
  reply.known_roster = std::string(kDigestLength, 'a');
  const auto named = decode<FactsReply>(over_the_wire(encode(reply)));
  REQUIRE(named);
  CHECK(named->known_roster == reply.known_roster);
  reply.known_roster += "a";
  CHECK_FALSE(decode<FactsReply>(over_the_wire(encode(reply))));
}

TEST_CASE("an effect request and its reply survive the wire") {
  const EffectRequest request{{{"limits", {{"*:memlock", Value::map({{"soft", "unlimited"}})}, {"a", Value()}}}}};
  CHECK(sent_message(request).desired == request.desired);
  const EffectReply reply{{{"limits", {{"*:memlock", "limits.not_effective", "a login gets 8192", "see pam.d"}}}}};
  const auto back = decode<EffectReply>(over_the_wire(encode(reply)));
  REQUIRE(back);
  REQUIRE(back->ineffective.at("limits").size() == 1);
  CHECK(back->ineffective.at("limits")[0].name == "*:memlock");
  CHECK(back->ineffective.at("limits")[0].code == "limits.not_effective");
  CHECK(back->ineffective.at("limits")[0].message == "a login gets 8192");
  CHECK(back->ineffective.at("limits")[0].hint == "see pam.d");
  CHECK_FALSE(decode<EffectReply>(Value::map()));
}

TEST_CASE("a foresight request survives the wire") {
  const ForesightRequest request{
      {{"file", {{"/opt/tune", Value()}}}, {"sysctl", {{"vm.swappiness", Value::map({{"running", "10"}})}}}}};
  CHECK(sent_message(request).ahead == request.ahead);
}

TEST_CASE("lock, unlock, ping and stop survive the wire") {
  const auto holder = sent_message(LockRequest{{"anna@laptop", 4242, "apply", "2026-03-01T12:00:00Z"}}).holder;
  CHECK(holder.describe() == "anna@laptop (process 4242, apply since 2026-03-01T12:00:00Z)");
  sent_message(UnlockRequest{}, 1);
  sent_message(PingRequest{}, 2);
  sent_message(StopNotice{}, 0);
}

TEST_CASE("an apply request survives the wire with every byte of its steps") {
  const std::map<ResourceId, Value> after_steps{{{"sysctl", "a/b"}, Value::map({{"x", kNoText}})},
                                                {{"hosts", "h"}, Value()}};
  const auto request =
      sent_message(ApplyRequest{"20260301T120000Z-4f9a1c", "spark-01", some_roster(), some_steps(), after_steps});
  CHECK(request.after_steps == after_steps);
  CHECK(request.run == "20260301T120000Z-4f9a1c");
  CHECK(request.node == "spark-01");
  CHECK(request.roster == some_roster());
  REQUIRE(request.steps.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(canonical(request.steps[i]) == canonical(some_steps()[i]));
  const auto* after = std::get_if<Present>(&request.steps[0].after);
  REQUIRE(after != nullptr);
  CHECK(after->value.text_or("content", "") == kNoText);
  CHECK(request.steps[0].resources == some_steps()[0].resources);
  CHECK(request.steps[0].needs == some_steps()[0].needs);
}

TEST_CASE("the largest secret and one with any bytes survive the wire, and a longer one does not") {
  ApplyRequest request;
  request.secrets = {{"token-1", std::string(kMostSecretBytes, 'x')}, {"token-2", std::string("a\0\xff\n", 4)}};
  const auto received = sent_message(request);
  REQUIRE(received.secrets.size() == 2);
  CHECK(received.secrets[0].value == request.secrets[0].value);
  CHECK(received.secrets[1].value == request.secrets[1].value);
  CHECK(received.secrets[1].token == "token-2");
  request.secrets = {{"token", std::string(kMostSecretBytes + 100, 'x')}};
  CHECK_FALSE(decode_request(encode(NumberedRequest{1, request})));
  CHECK(encode(NumberedRequest{1, ApplyRequest{}}).find("secrets") == nullptr);
}

TEST_CASE("a commit request survives the wire") {
  CommitRequest request{"run", "spark-01", some_roster(), {}, "run=1 by=anna"};
  request.resources[{"sysctl", "a/b"}] = {Value::map({{"x", kNoText}}), {{"file", "/etc/a:b"}, {"link", "en/p1"}}};
  request.resources[{"hosts", "h"}] = {Value(), {}};
  const auto back = sent_message(request);
  CHECK(back.run == request.run);
  CHECK(back.node == request.node);
  CHECK(back.roster == request.roster);
  CHECK(back.audit == request.audit);
  check_same(request.resources, back.resources);
}

TEST_CASE("a facts reply survives the wire with and without a manifest") {
  FactsReply reply;
  reply.facts.hostname = "spark-01";
  reply.facts.live = false;
  const auto bare = decode<FactsReply>(over_the_wire(encode(reply)));
  REQUIRE(bare);
  CHECK(canonical(bare->facts) == canonical(reply.facts));
  CHECK_FALSE(bare->manifest);
  CHECK_FALSE(bare->lock_holder);
  CHECK(bare->exports.empty());
  CHECK(bare->observed.types.empty());

  reply.observed.types["sysctl"].resources["vm.swappiness"] = Absent{};
  reply.manifest = Manifest{};
  reply.manifest->node = "spark-01";
  reply.manifest->roster = some_roster();
  reply.manifest->artifacts[{"file", "/etc/x"}] = {"sysctl", "abc", Absent{}};
  reply.lock_holder = LockHolder{"bert@desk", 7, "apply", "now"};
  reply.exports["ssh_trust"] = Value::map({{"nvidia", "ssh-ed25519 AAAA"}});
  reply.export_errors["other"] = Error{ErrorCode::kFailed, "read a key", {"other"}, 5, "look"};
  const auto full = decode<FactsReply>(over_the_wire(encode(reply)));
  REQUIRE(full);
  REQUIRE(full->manifest);
  CHECK(canonical(*full->manifest) == canonical(*reply.manifest));
  REQUIRE(full->lock_holder);
  CHECK(full->lock_holder->describe() == reply.lock_holder->describe());
  CHECK(full->exports == reply.exports);
  CHECK(full->export_errors == reply.export_errors);
  REQUIRE(full->observed.types.contains("sysctl"));
  CHECK(std::holds_alternative<Absent>(full->observed.types.at("sysctl").resources.at("vm.swappiness")));
}

TEST_CASE("an apply reply survives the wire with every outcome") {
  ApplyReply reply;
  reply.stopped = true;
  for (const auto outcome :
       {StepOutcome::kDone, StepOutcome::kFailed, StepOutcome::kStale, StepOutcome::kUndone, StepOutcome::kNotDone}) {
    reply.results.push_back({{"file", "/etc/" + std::string(to_string(outcome))}, outcome, {}});
  }
  reply.results[1].error = Error{ErrorCode::kFailed, "write", {"outer", "inner"}, 28, "make room"};
  const auto back = decode<ApplyReply>(over_the_wire(encode(reply)));
  REQUIRE(back);
  CHECK(back->stopped);
  REQUIRE(back->results.size() == reply.results.size());
  for (std::size_t i = 0; i < reply.results.size(); ++i) {
    CHECK(back->results[i].artifact == reply.results[i].artifact);
    CHECK(back->results[i].outcome == reply.results[i].outcome);
    CHECK(back->results[i].error == reply.results[i].error);
  }
}

TEST_CASE("a reply contains a value or a complete error") {
  const auto good = decode_reply(over_the_wire(encode(NumberedReply{9, Value::list({1, kNoText})})));
  REQUIRE(good);
  CHECK(good->id == 9);
  REQUIRE(good->body);
  CHECK(*good->body == Value::list({1, kNoText}));
  const Error error{ErrorCode::kBusy, "locked", {"node spark-01"}, 11, "wait"};
  const auto bad = decode_reply(over_the_wire(encode(NumberedReply{10, tl::unexpected<Error>(error)})));
  REQUIRE(bad);
  CHECK(bad->id == 10);
  REQUIRE_FALSE(bad->body);
  CHECK(bad->body.error() == error);
}

TEST_CASE("a request with an unknown name is refused and named") {
  const auto request = decode_request(Value::map({{"request", "format_disk"}, {"id", 1}}));
  REQUIRE_FALSE(request);
  CHECK(request.error().code == ErrorCode::kInvalidInput);
  CHECK(request.error().message.find("format_disk") != std::string::npos);
  CHECK_FALSE(decode_request(Value()));
  CHECK_FALSE(decode_request(Value::map({{"id", 1}})));
}

TEST_CASE("a request with an unknown field is refused, because the field may be a condition") {
  for (const Request& request : {Request(FactsRequest{}), Request(LockRequest{}), Request(UnlockRequest{}),
                                 Request(ApplyRequest{}), Request(CommitRequest{}), Request(PingRequest{})}) {
    Value message = encode(NumberedRequest{1, request});
    REQUIRE(decode_request(message));
    message.set("only_if_idle", true);
    const auto decoded = decode_request(message);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().message.find("only_if_idle") != std::string::npos);
  }
}

TEST_CASE("a sign of life is distinguished from a reply") {
  CHECK(progress_in(over_the_wire(encode_progress(7, "/etc/a " + kNoText))) == "/etc/a " + kNoText);
  CHECK_FALSE(progress_in(encode(NumberedReply{7, Value::map({{"progress", "no"}})})));
  CHECK_FALSE(progress_in(Value::map({{"progress", 1}})));
  CHECK_FALSE(progress_in(Value()));
}

TEST_CASE("messages with missing parts are refused") {
  const std::vector<Value> requests{
      Value::map({{"request", "facts"}}),
      Value::map({{"request", "facts"}, {"exports", Value::list({"sysctl"})}}),
      Value::map({{"request", "observe"}, {"names", Value::map({{"sysctl", "x"}})}}),
      Value::map({{"request", "lock"}}),
      Value::map({{"request", "lock"}, {"holder", 1}}),
      Value::map({{"request", "apply"}, {"steps", Value::list({})}}),
      Value::map({{"request", "apply"}, {"steps", 1}, {"roster", encode(Roster{})}, {"after_steps", Value::map()}}),
      Value::map({{"request", "apply"}, {"steps", Value::list({})}, {"roster", encode(Roster{})}}),
      Value::map({{"request", "commit"}, {"roster", encode(Roster{})}}),
  };
  for (const auto& request : requests) {
    INFO(encode_json(request));
    const auto decoded = decode_request(request);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::kInvalidInput);
  }
  CHECK_FALSE(decode_reply(Value::map({{"id", 1}})));
  CHECK_FALSE(decode_reply(Value::map({{"reply", 1}})));
  CHECK_FALSE(decode<FactsReply>(Value::map()));
  CHECK_FALSE(decode<ApplyReply>(Value::map()));
  const auto strange = Value::map({{"artifact", "file:/x"}, {"outcome", "exploded"}});
  CHECK_FALSE(decode<ApplyReply>(Value::map({{"results", Value::list({strange})}})));
}

TEST_CASE("messages with a value of a wrong kind never crash the decoders") {
  std::mt19937 engine(20260804);
  CommitRequest commit{"run", "spark-01", some_roster(), {}, "audit"};
  commit.resources[{"sysctl", "a"}] = {1, {{"file", "/etc/a"}}};
  FactsReply facts;
  facts.manifest = Manifest{};
  facts.lock_holder = LockHolder{"a", 1, "b", "c"};
  facts.exports["x"] = 1;
  ApplyReply applied;
  applied.results.push_back({{"file", "/x"}, StepOutcome::kFailed, Error{}});
  const std::vector<Value> messages{
      encode(NumberedRequest{1, FactsRequest{{{"a", "b"}}}}),
      encode(NumberedRequest{2, ObserveNodeRequest{{{"a", {"b"}}}}}),
      encode(NumberedRequest{3, LockRequest{{"a", 1, "b", "c"}}}),
      encode(NumberedRequest{4, ApplyRequest{"r", "n", some_roster(), some_steps(), {{{"a", "b"}, 1}}}}),
      encode(NumberedRequest{5, commit}),
      encode(NumberedReply{6, tl::unexpected<Error>(Error{})}),
      encode(facts),
      encode(applied),
      encode(Hello{})};
  int refused = 0;
  for (int run = 0; run < 5000; ++run) {
    Value message = messages[engine() % messages.size()];
    corrupt(message, engine);
    refused += decode_request(message) ? 0 : 1;
    refused += decode_reply(message) ? 0 : 1;
    refused += decode<FactsReply>(message) ? 0 : 1;
    refused += decode<ApplyReply>(message) ? 0 : 1;
    refused += decode<Hello>(message) ? 0 : 1;
  }
  CHECK(refused > 5000);
  CHECK(refused < 5 * 5000);
}

TEST_CASE("the id of a run in a history has the form of one") {
  const auto with = [](const char* key, const std::string& text) {
    HistoryReply history;
    history.runs.emplace_back().run = "20260301T120000Z-4f9a1c07";
    Value runs = *encode(history).find("runs");
    runs.list_items()->front().set(key, text);
    return Value::map({{"runs", std::move(runs)}});
  };
  for (const char* key : {"run", "undoes", "undone_by"}) {
    INFO(key);
    CHECK(decode<HistoryReply>(with(key, "20260301T120000Z-4f9a1c07")));
    for (const std::string text : {"a  applied", "a\nb", ".a", "a/b"})
      CHECK_FALSE(decode<HistoryReply>(with(key, text)));
    CHECK_FALSE(decode<HistoryReply>(with(key, std::string(65, 'a'))));
  }
}

}  // namespace sparkplan
