#include "engine/wire/rdma_messages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "engine/model/field_reader.h"
#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::array<std::pair<RdmaStep, std::string_view>, 6> kStepNames{{
    {RdmaStep::kOpenDevice, "open the device"},
    {RdmaStep::kFindGid, "find the GID"},
    {RdmaStep::kRegisterMemory, "register memory"},
    {RdmaStep::kCreateQueuePair, "create a queue pair"},
    {RdmaStep::kConnect, "connect a queue pair"},
    {RdmaStep::kWrite, "write"},
}};
constexpr std::string_view kStatus = " (completion status ";

constexpr std::int64_t kMostPorts = 255;
constexpr std::int64_t kMostQueuePairs = 64;
constexpr std::int64_t kMostMessageBytes = std::int64_t{8} << 20;
constexpr std::int64_t kMostDepth = 4096;
constexpr std::int64_t kMostSessions = 64;
constexpr std::int64_t kLongestDuration = 30'000;
constexpr std::int64_t kMostIterations = 1'000'000;

Value encode_integer(std::int64_t number) { return {number}; }

Result<std::int64_t> decode_integer(const Value& value) {
  if (const auto* number = value.integer()) return *number;
  return failure(FieldReader::wrong_kind("integer", value));
}

/// An integer of which an agent believes only so much.
std::int64_t bounded(FieldReader& fields, std::string_view key, std::int64_t fallback, std::int64_t least,
                     std::int64_t most) {
  const auto number = fields.integer(key, fallback);
  if (number >= least && number <= most) return number;
  fields.reject(key, "out of range: " + std::to_string(number));
  return fallback;
}

std::vector<std::int64_t> bounded_list(FieldReader& fields, std::string_view key, std::int64_t most) {
  auto numbers = fields.require(key).list<std::int64_t>(key, decode_integer);
  if (static_cast<std::int64_t>(numbers.size()) > most) fields.reject(key, "too many");
  return numbers;
}

Value encode_optional(const std::optional<std::int64_t>& number) { return number ? Value(*number) : Value(); }

Result<std::optional<std::int64_t>> decode_optional(const Value& value) {
  if (value.is_null()) return std::optional<std::int64_t>();
  return decode_integer(value).map([](std::int64_t number) { return std::optional(number); });
}

Value encode_result(const Result<RdmaWritten>& result) {
  if (!result) return Value::map({{"error", encode(result.error())}});
  return Value::map({{"messages", result->messages}, {"nanoseconds", result->nanoseconds}});
}

/// A result that is an error is a fine message; only what is neither is refused.
Result<Result<RdmaWritten>> decode_result(const Value& value) {
  if (value.is_map() && value.find("error") != nullptr) {
    SPARK_TRY(auto error, decode_error(*value.find("error")));
    return Result<RdmaWritten>(failure(std::move(error)));
  }
  FieldReader fields(value);
  RdmaWritten written;
  written.messages = fields.require("messages").integer("messages", written.messages);
  written.nanoseconds = fields.require("nanoseconds").integer("nanoseconds", written.nanoseconds);
  SPARK_CHECK(std::move(fields).check());
  return Result<RdmaWritten>(written);
}

}  // namespace

std::string_view to_string(RdmaStep step) {
  for (const auto& [value, name] : kStepNames) {
    if (value == step) return name;
  }
  return "write";
}

std::optional<RdmaStep> rdma_step_of(const Error& error) {
  if (error.context.empty()) return std::nullopt;
  const auto* known = std::find_if(kStepNames.begin(), kStepNames.end(),
                                   [&](const auto& entry) { return entry.second == error.context.front(); });
  return known == kStepNames.end() ? std::nullopt : std::optional(known->first);
}

Error rdma_completion_error(int status, std::string_view text) {
  return Error{ErrorCode::kFailed,
               std::string(text) + std::string(kStatus) + std::to_string(status) + ")",
               {std::string(to_string(RdmaStep::kWrite))},
               std::nullopt,
               ""};
}

std::optional<int> rdma_completion_status_of(const Error& error) {
  const auto at = error.message.rfind(kStatus);
  if (rdma_step_of(error) != RdmaStep::kWrite || at == std::string::npos) return std::nullopt;
  int status = 0;
  const char* digits = error.message.data() + at + kStatus.size();
  const auto read = std::from_chars(digits, error.message.data() + error.message.size(), status);
  return read.ec == std::errc() ? std::optional(status) : std::nullopt;
}

Value encode_body(const RdmaOpenRequest& request) {
  return Value::map({{"request", "rdma_open"},
                     {"device", request.device},
                     {"port", request.port},
                     {"interface", request.interface},
                     {"address", request.address},
                     {"queue_pairs", request.queue_pairs},
                     {"message_bytes", request.message_bytes},
                     {"depth", request.depth}});
}
Value encode_body(const RdmaConnectRequest& request) {
  return Value::map({{"request", "rdma_connect"}, {"session", request.session}, {"peer", encode(request.peer)}});
}
Value encode_body(const RdmaWriteRequest& request) {
  return Value::map({{"request", "rdma_write"},
                     {"sessions", encode_list(request.sessions, encode_integer)},
                     {"duration_ms", request.duration_ms}});
}
Value encode_body(const RdmaLatencyRequest& request) {
  return Value::map({{"request", "rdma_latency"},
                     {"session", request.session},
                     {"begins", request.begins},
                     {"iterations", request.iterations}});
}
Value encode_body(const RdmaCountersRequest& request) {
  return Value::map({{"request", "rdma_counters"},
                     {"device", request.device},
                     {"port", request.port},
                     {"interface", request.interface}});
}
Value encode_body(const RdmaCloseRequest& request) {
  return Value::map({{"request", "rdma_close"}, {"sessions", encode_list(request.sessions, encode_integer)}});
}

Result<RdmaOpenRequest> decode_rdma_open_request(const Value& value) {
  FieldReader fields(value);
  RdmaOpenRequest request;
  request.device = fields.require("device").text("device");
  request.port = bounded(fields, "port", request.port, 1, kMostPorts);
  request.interface = fields.text("interface");
  request.address = fields.text("address");
  request.queue_pairs = bounded(fields, "queue_pairs", request.queue_pairs, 1, kMostQueuePairs);
  request.message_bytes = bounded(fields, "message_bytes", request.message_bytes, 1, kMostMessageBytes);
  request.depth = bounded(fields, "depth", request.depth, 1, kMostDepth);
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Result<RdmaConnectRequest> decode_rdma_connect_request(const Value& value) {
  FieldReader fields(value);
  RdmaConnectRequest request;
  request.session = fields.require("session").integer("session", request.session);
  request.peer = fields.require("peer").object("peer", RdmaEndpoint(), decode_rdma_endpoint);
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Result<RdmaWriteRequest> decode_rdma_write_request(const Value& value) {
  FieldReader fields(value);
  RdmaWriteRequest request;
  request.sessions = bounded_list(fields, "sessions", kMostSessions);
  request.duration_ms = bounded(fields, "duration_ms", request.duration_ms, 0, kLongestDuration);
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Result<RdmaLatencyRequest> decode_rdma_latency_request(const Value& value) {
  FieldReader fields(value);
  RdmaLatencyRequest request;
  request.session = fields.require("session").integer("session", request.session);
  request.begins = fields.boolean("begins", request.begins);
  request.iterations = bounded(fields, "iterations", request.iterations, 1, kMostIterations);
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Result<RdmaCountersRequest> decode_rdma_counters_request(const Value& value) {
  FieldReader fields(value);
  RdmaCountersRequest request;
  request.device = fields.require("device").text("device");
  request.port = bounded(fields, "port", request.port, 1, kMostPorts);
  request.interface = fields.text("interface");
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Result<RdmaCloseRequest> decode_rdma_close_request(const Value& value) {
  FieldReader fields(value);
  RdmaCloseRequest request;
  request.sessions = bounded_list(fields, "sessions", kMostSessions);
  SPARK_CHECK(std::move(fields).check());
  return request;
}

Value encode(const RdmaEndpoint& endpoint) {
  return Value::map({{"session", endpoint.session},
                     {"gid", endpoint.gid},
                     {"gid_index", endpoint.gid_index},
                     {"lid", endpoint.lid},
                     {"mtu", endpoint.mtu},
                     {"memory", endpoint.memory},
                     {"key", endpoint.key},
                     {"queue_pairs", encode_list(endpoint.queue_pairs, encode_integer)},
                     {"first_packet", endpoint.first_packet}});
}

Result<RdmaEndpoint> decode_rdma_endpoint(const Value& value) {
  constexpr std::int64_t kMostKey = 0xffffffff;
  constexpr std::int64_t kMostPacket = 0xffffff;
  constexpr std::int64_t kMostLid = 0xffff;
  FieldReader fields(value);
  RdmaEndpoint endpoint;
  endpoint.session = fields.integer("session", endpoint.session);
  endpoint.gid = fields.text("gid");
  endpoint.gid_index = bounded(fields, "gid_index", endpoint.gid_index, 0, kMostLid);
  endpoint.lid = bounded(fields, "lid", endpoint.lid, 0, kMostLid);
  endpoint.mtu = fields.integer("mtu", endpoint.mtu);
  endpoint.memory = fields.integer("memory", endpoint.memory);
  endpoint.key = bounded(fields, "key", endpoint.key, 0, kMostKey);
  endpoint.queue_pairs = bounded_list(fields, "queue_pairs", kMostQueuePairs);
  endpoint.first_packet = bounded(fields, "first_packet", endpoint.first_packet, 0, kMostPacket);
  SPARK_CHECK(std::move(fields).check());
  return endpoint;
}

Value encode(const RdmaWriteReply& reply) {
  return Value::map({{"results", encode_list(reply.results, encode_result)}});
}

Result<RdmaWriteReply> decode_rdma_write_reply(const Value& value) {
  FieldReader fields(value);
  RdmaWriteReply reply{fields.require("results").list<Result<RdmaWritten>>("results", decode_result)};
  SPARK_CHECK(std::move(fields).check());
  return reply;
}

Value encode(const RdmaLatencyReply& reply) {
  return Value::map({{"minimum_ns", reply.minimum_ns}, {"typical_ns", reply.typical_ns}, {"p99_ns", reply.p99_ns}});
}

Result<RdmaLatencyReply> decode_rdma_latency_reply(const Value& value) {
  FieldReader fields(value);
  RdmaLatencyReply reply;
  reply.minimum_ns = fields.integer("minimum_ns", reply.minimum_ns);
  reply.typical_ns = fields.integer("typical_ns", reply.typical_ns);
  reply.p99_ns = fields.integer("p99_ns", reply.p99_ns);
  SPARK_CHECK(std::move(fields).check());
  return reply;
}

Value encode(const RdmaCountersReply& reply) {
  Value hardware = Value::map();
  for (const auto& [name, count] : reply.hardware) hardware.set(name, count);
  return Value::map({{"sent_bytes", encode_optional(reply.sent_bytes)},
                     {"received_bytes", encode_optional(reply.received_bytes)},
                     {"hardware", std::move(hardware)},
                     {"interface_sent_bytes", encode_optional(reply.interface_sent_bytes)},
                     {"interface_received_bytes", encode_optional(reply.interface_received_bytes)}});
}

Result<RdmaCountersReply> decode_rdma_counters_reply(const Value& value) {
  FieldReader fields(value);
  const auto optional = [&](std::string_view key) {
    return fields.object(key, std::optional<std::int64_t>(), decode_optional);
  };
  RdmaCountersReply reply;
  reply.sent_bytes = optional("sent_bytes");
  reply.received_bytes = optional("received_bytes");
  reply.hardware = fields.map<std::string, std::int64_t>("hardware", same_key, decode_integer);
  reply.interface_sent_bytes = optional("interface_sent_bytes");
  reply.interface_received_bytes = optional("interface_received_bytes");
  SPARK_CHECK(std::move(fields).check());
  return reply;
}

}  // namespace sparkplan
