// Messages of `verify`.
#include <limits>

#include "engine/model/extended_facts.h"
#include "engine/wire/messages.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

const std::string kToken(32, 'a');
const TrafficEndpoint kEnd{"192.168.100.11", "enp1s0f1np1"};

template <class T>
T sent_measure(const T& request) {
  const auto decoded = decode_request(over_the_wire(encode(NumberedRequest{7, request})));
  REQUIRE(decoded);
  REQUIRE(std::holds_alternative<T>(decoded->request));
  return std::get<T>(decoded->request);
}

Result<NumberedRequest> measure_with(const Request& request, std::string_view field, Value value) {
  Value encoded = encode(NumberedRequest{7, request});
  encoded.set(field, std::move(value));
  return decode_request(encoded);
}

}  // namespace

TEST_CASE("requests for measurements survive the wire") {
  const auto ear = sent_measure(OpenReceiverRequest{kEnd, "192.168.100.12", kToken});
  CHECK(ear.at == kEnd);
  CHECK(ear.peer == "192.168.100.12");
  CHECK(ear.token == kToken);
  const auto close = sent_measure(CloseReceiverRequest{{84, 9000}, 400});
  CHECK(close.awaited == std::vector<std::int64_t>{84, 9000});
  CHECK(close.patience_ms == 400);
  const auto listen = sent_measure(StartLinkProbeRequest{{"enp1s0f1np1", "enP2p1s0f1np1"}, kToken});
  CHECK(listen.interfaces == std::vector<std::string>{"enp1s0f1np1", "enP2p1s0f1np1"});
  CHECK(listen.token == kToken);
  CHECK(sent_measure(SendLinkProbesRequest{"spark-01"}).node == "spark-01");
  const std::vector<std::string> senders{std::string(64, 'a'), std::string(64, 'b')};
  CHECK(sent_measure(ReadLinkProbesRequest{senders}).senders == senders);
  // An older agent refuses the field.
  CHECK(encode(NumberedRequest{7, ReadLinkProbesRequest{}}).find("senders") == nullptr);
  const auto datagrams = sent_measure(SendDatagramsRequest{kEnd, "192.168.100.12", 4000, kToken, {84}});
  CHECK(datagrams.from == kEnd);
  CHECK(datagrams.port == 4000);
  CHECK(datagrams.sizes == std::vector<std::int64_t>{84});
  const auto tcp = sent_measure(MeasureTcpRequest{kEnd, "192.168.100.12", 4000, kToken, 4, 500});
  CHECK(tcp.address == "192.168.100.12");
  CHECK(tcp.streams == 4);
  CHECK(tcp.duration_ms == 500);
  const auto logins = sent_measure(SshLoginRequest{"nvidia", {{"spark-02-fabric", 22}, {"10.0.0.12", 2222}}});
  CHECK(logins.user == "nvidia");
  CHECK(logins.targets == std::vector<SshLoginRequest::Target>{{"spark-02-fabric", 22}, {"10.0.0.12", 2222}});
  const std::map<std::string, double> values{{"tcp/a/b/A", 93.25}, {"tcp/a/b/B", 90}};
  CHECK(sent_measure(MeasurementsRequest{values}).values == values);
  const VerifySummary summary{"", "tcp", 8, 1, 2};
  CHECK(sent_measure(MeasurementsRequest{values, summary}).summary == summary);
  CHECK_FALSE(sent_measure(MeasurementsRequest{values}).summary);
  const std::map<std::string, std::string> versions{{"kernel", "6.14"}};
  const auto whole = sent_measure(MeasurementsRequest{values, summary, "20260301T120000Z-4f9a1c07", versions});
  CHECK(whole.run == "20260301T120000Z-4f9a1c07");
  CHECK(whole.versions == versions);
  sent_measure(MeasurementHistoryRequest{});
}

TEST_CASE("a measurement request with invalid fields is refused") {
  const OpenReceiverRequest ear{kEnd, "192.168.100.12", kToken};
  CHECK_FALSE(measure_with(ear, "token", "short"));
  CHECK_FALSE(measure_with(ear, "at", "here"));
  CHECK_FALSE(measure_with(ear, "more", 1));
  CHECK_FALSE(measure_with(StartLinkProbeRequest{{"a"}, kToken}, "token", "short"));
  CHECK_FALSE(measure_with(StartLinkProbeRequest{{"a"}, kToken}, "interfaces", Value::list({7})));
  CHECK_FALSE(measure_with(SendLinkProbesRequest{"a"}, "node", "two\nlines"));
  CHECK_FALSE(measure_with(CloseReceiverRequest{}, "patience_ms", 1'000'000));
  CHECK_FALSE(measure_with(CloseReceiverRequest{}, "awaited", Value::list({70'000})));
  const MeasureTcpRequest tcp{kEnd, "192.168.100.12", 4000, kToken, 4, 500};
  CHECK_FALSE(measure_with(tcp, "port", 0));
  CHECK_FALSE(measure_with(tcp, "streams", 1000));
  CHECK_FALSE(measure_with(tcp, "duration_ms", 1'000'000));
  CHECK_FALSE(measure_with(SshLoginRequest{"nvidia", {}}, "targets", Value::list({Value::map({{"host", ""}})})));
  CHECK_FALSE(measure_with(MeasurementsRequest{}, "values", Value::map({{"tcp/a/b/A", "fast"}})));
  CHECK_FALSE(measure_with(MeasurementsRequest{}, "summary", Value::map({{"failed", -1}})));
}

TEST_CASE("replies about measurements survive the wire") {
  const auto ports = decode<OpenReceiverReply>(over_the_wire(encode(OpenReceiverReply{4000, 4001})));
  REQUIRE(ports);
  CHECK(ports->port == 4000);
  CHECK(ports->datagram_port == 4001);
  CHECK_FALSE(decode<OpenReceiverReply>(encode(OpenReceiverReply{0, 1})));
  const std::vector<ReceivedProbe> calls{{"enp1s0f1np1", "spark-02", "enp1s0f0np0"}};
  const std::map<std::string, std::string> mute{{"enP2p1s0f1np1", "Network is down"}};
  const auto cables =
      decode<ReadLinkProbesReply>(over_the_wire(encode(ReadLinkProbesReply{calls, mute, {"enp1s0f1np1"}})));
  REQUIRE(cables);
  CHECK(cables->received == calls);
  CHECK(cables->send_errors == mute);
  CHECK(cables->overrun == std::vector<std::string>{"enp1s0f1np1"});
  CHECK(decode<ReadLinkProbesReply>(Value::map({{"calls", Value::list()}})));
  CHECK_FALSE(decode<ReadLinkProbesReply>(Value::map({{"calls", Value::list()}, {"mute", Value::list({7})}})));
  CHECK_FALSE(decode<ReadLinkProbesReply>(Value::map({{"calls", Value::list({7})}})));
  CHECK_FALSE(decode<ReadLinkProbesReply>(Value::map({{"calls", Value::list()}, {"overrun", Value::list({""})}})));
  CHECK(decode<CloseReceiverReply>(over_the_wire(encode(CloseReceiverReply{{84, 1500}})))->received ==
        std::vector<std::int64_t>{84, 1500});
  for (const auto outcome :
       {TcpOutcome::kDone, TcpOutcome::kRefused, TcpOutcome::kDropped, TcpOutcome::kNoRoute, TcpOutcome::kBroken}) {
    const auto reply = decode<MeasureTcpReply>(over_the_wire(encode(MeasureTcpReply{outcome, "why", 12, 34})));
    REQUIRE(reply);
    CHECK(reply->outcome == outcome);
    CHECK(reply->reason == "why");
    CHECK(reply->bytes == 12);
    CHECK(reply->nanoseconds == 34);
  }
  const auto logins = decode<SshLoginReply>(over_the_wire(encode(SshLoginReply{{{true, ""}, {false, "denied"}}})));
  REQUIRE(logins);
  REQUIRE(logins->logins.size() == 2);
  CHECK(logins->logins[0].succeeded);
  CHECK(logins->logins[1].complaint == "denied");
  sent_measure(GpuErrorsRequest{});
  const GpuErrorsReply errors{3, {{79, "NVRM: Xid (PCI:0000:01:00): 79, x"}}, true};
  const auto logged = decode<GpuErrorsReply>(over_the_wire(encode(errors)));
  REQUIRE(logged);
  CHECK(logged->count == 3);
  CHECK(logged->errors == errors.errors);
  CHECK(logged->since_boot);
  CHECK_FALSE(decode<GpuErrorsReply>(encode(GpuErrorsReply{-1, {}, true})));
  CHECK_FALSE(decode<GpuErrorsReply>(encode(GpuErrorsReply{1, {{kMostXid + 1, "x"}}, true})));
  const MeasurementsReply kept{{{"tcp/a/b/A", {90, 91.5}}}, "/var/lib/x"};
  const auto arrived = decode<MeasurementsReply>(over_the_wire(encode(kept)));
  REQUIRE(arrived);
  CHECK(arrived->earlier == kept.earlier);
  CHECK(arrived->set_aside == "/var/lib/x");
  const MeasurementHistoryReply stored{{{3, "20260301T120000Z-4f9a1c07", {{"nccl", "2.28.9"}}}},
                                       {{"tcp/a/b/A", {{90, 91.5}, {0, 3}}}}};
  const auto told = decode<MeasurementHistoryReply>(over_the_wire(encode(stored)));
  REQUIRE(told);
  CHECK(told->runs == stored.runs);
  CHECK(told->checks == stored.checks);
  Value wrong = encode(stored);
  wrong.find("runs")->list_items()->front().set("number", 0);
  CHECK_FALSE(decode<MeasurementHistoryReply>(wrong));
}

TEST_CASE("a number of a node that is no finite number is refused") {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  for (const double number : {kNone, kEndless, -kEndless}) {
    CHECK_FALSE(decode<MeasurementsReply>(over_the_wire(encode(MeasurementsReply{{{"tcp/a/b/A", {90, number}}}, ""}))));
    ExtendedFacts facts;
    facts.memory_pressure = number;
    CHECK_FALSE(decode<ExtendedFacts>(over_the_wire(encode(facts))));
  }
}

}  // namespace sparkplan
