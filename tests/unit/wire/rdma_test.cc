// Messages about RDMA measurements.
#include <limits>

#include "engine/wire/messages.h"
#include "tests/unit/model/codec_checks.h"

namespace sparkplan {
namespace {

template <class T>
Result<T> sent_rdma(const T& request) {
  auto decoded = decode_request(over_the_wire(encode(NumberedRequest{7, request})));
  if (!decoded) return failure(std::move(decoded).error());
  REQUIRE(std::holds_alternative<T>(decoded->request));
  return std::get<T>(decoded->request);
}

template <class T>
void check_arrives(const T& request) {
  const auto arrived = sent_rdma(request);
  REQUIRE(arrived);
  CHECK(canonical_json(encode(*arrived)) == canonical_json(encode(request)));
}

RdmaEndpoint some_endpoint() {
  return {3, "::ffff:192.168.100.12", 5, 7, 4096, 0x7fff12345000, 0xfffffff0, {17, 18}, 0xabcdef};
}

TEST_CASE("requests of an RDMA measurement survive the wire") {
  check_arrives(RdmaOpenRequest{"rocep1s0f1", 2, "enp1s0f1np1", "192.168.100.11", 4, 4096, 16});
  check_arrives(RdmaConnectRequest{2, some_endpoint()});
  check_arrives(RdmaWriteRequest{{1, 2}, 2500});
  check_arrives(RdmaLatencyRequest{1, true, 50});
  check_arrives(RdmaCountersRequest{"rocep1s0f1", 2, "enp1s0f1np1"});
  check_arrives(RdmaCloseRequest{{1, 5}});
  CHECK(sent_rdma(RdmaConnectRequest{2, some_endpoint()})->peer == some_endpoint());
}

TEST_CASE("a request beyond the needs of a measurement is refused") {
  RdmaOpenRequest open{"rxe0", 1, "", "10.0.0.1", 4, 65536, 128};
  CHECK(sent_rdma(open));
  SECTION("queue pairs") { open.queue_pairs = 65; }
  SECTION("no queue pairs") { open.queue_pairs = 0; }
  SECTION("memory") { open.message_bytes = std::int64_t{1} << 30; }
  SECTION("depth") { open.depth = 1 << 20; }
  SECTION("a port") { open.port = 256; }
  CHECK_FALSE(sent_rdma(open));
  CHECK_FALSE(sent_rdma(RdmaWriteRequest{{1}, 3'600'000}));
  CHECK_FALSE(sent_rdma(RdmaWriteRequest{std::vector<std::int64_t>(65, 1), 1}));
  CHECK_FALSE(sent_rdma(RdmaLatencyRequest{1, true, 0}));
}

TEST_CASE("results of an RDMA measurement survive the wire, with each session's error") {
  const Error error = rdma_completion_error(12, "transport retry counter exceeded");
  RdmaWriteReply reply;
  reply.results.emplace_back(RdmaWritten{1000, 5'000'000});
  reply.results.emplace_back(failure(error));
  const auto arrived = decode<RdmaWriteReply>(over_the_wire(encode(reply)));
  REQUIRE(arrived);
  REQUIRE(arrived->results.size() == 2);
  CHECK(arrived->results[0]->messages == 1000);
  CHECK(arrived->results[0]->nanoseconds == 5'000'000);
  REQUIRE_FALSE(arrived->results[1]);
  CHECK(arrived->results[1].error() == error);

  const auto latency = decode<RdmaLatencyReply>(over_the_wire(encode(RdmaLatencyReply{1420, 1470, 1570})));
  REQUIRE(latency);
  CHECK(latency->minimum_ns == 1420);
  CHECK(latency->typical_ns == 1470);
  CHECK(latency->p99_ns == 1570);
}

TEST_CASE("a missing counter of a port stays missing, and is not 0") {
  const RdmaCountersReply reply{std::nullopt, 0, {{"sent_pkts", 12}}, 99, std::nullopt};
  const auto arrived = decode<RdmaCountersReply>(over_the_wire(encode(reply)));
  REQUIRE(arrived);
  CHECK_FALSE(arrived->sent_bytes);
  CHECK(arrived->received_bytes == 0);
  CHECK(arrived->hardware == reply.hardware);
  CHECK(arrived->interface_sent_bytes == 99);
  CHECK_FALSE(arrived->interface_received_bytes);
}

TEST_CASE("an error names its step and contains the hardware's status") {
  const Error completion = rdma_completion_error(12, "transport retry counter exceeded");
  CHECK(completion.describe() == "write: transport retry counter exceeded (completion status 12)");
  CHECK(rdma_step_of(completion) == RdmaStep::kWrite);
  CHECK(rdma_completion_status_of(completion) == 12);
  for (const auto step : {RdmaStep::kOpenDevice, RdmaStep::kFindGid, RdmaStep::kRegisterMemory,
                          RdmaStep::kCreateQueuePair, RdmaStep::kConnect, RdmaStep::kWrite}) {
    const Error error = system_error("ibv", 12).within(std::string(to_string(step)));
    CHECK(rdma_step_of(error) == step);
    CHECK_FALSE(rdma_completion_status_of(error));
  }
  CHECK_FALSE(rdma_step_of(system_error("connect", 111)));
  CHECK_FALSE(rdma_completion_status_of(Error{ErrorCode::kFailed, " (completion status x)", {"write"}, {}, ""}));
}

TEST_CASE("invalid replies are refused") {
  CHECK_FALSE(decode<RdmaEndpoint>(Value::map({{"gid", ""}})));
  CHECK_FALSE(decode<RdmaEndpoint>(over_the_wire(encode(some_endpoint())).set("first_packet", 1 << 24)));
  CHECK_FALSE(decode<RdmaWriteReply>(Value::map({{"results", Value::list({Value(1)})}})));
  CHECK_FALSE(decode<RdmaLatencyReply>(Value::list()));
  CHECK_FALSE(decode<RdmaCountersReply>(Value::map({{"sent_bytes", "many"}})));
  CHECK_FALSE(decode<RdmaCountersReply>(Value::map({{"sent_bytes", std::numeric_limits<std::int64_t>::min()}})));
  RdmaWriteReply huge;
  huge.results.emplace_back(RdmaWritten{std::numeric_limits<std::int64_t>::max() / 2, 1});
  CHECK_FALSE(decode<RdmaWriteReply>(encode(huge)));
}

}  // namespace
}  // namespace sparkplan
