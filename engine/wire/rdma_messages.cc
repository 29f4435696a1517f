#include "engine/wire/rdma_messages.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::string_view kStatus = " (completion status ";

constexpr std::int64_t kMostQueuePairs = 64;
constexpr FieldRule kRdmaPort = kOptional.within(1, 255);
constexpr std::size_t kMostSessions = 64;
constexpr ListRule kSessions = kRequired.at_most(kMostSessions);
constexpr std::size_t kMostCounters = 1024;
constexpr std::int64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();
/// The difference of two counters is then a number, too.
constexpr FieldRule kCounter = kNullForNone.within(0, kLargestNumber);

}  // namespace

std::optional<RdmaStep> rdma_step_of(const Error& error) {
  if (error.context.empty()) return std::nullopt;
  return value_named<RdmaStep>(error.context.front());
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

void list_fields(FieldVisitor& field, RdmaEndpoint& endpoint) {
  constexpr std::int64_t kMostIndex = 0xffff;
  constexpr std::int64_t kMostKey = 0xffffffff;
  constexpr std::int64_t kMostPacket = 0xffffff;
  field("session", endpoint.session);
  field("gid", endpoint.gid);
  field("gid_index", endpoint.gid_index, kOptional.within(0, kMostIndex));
  field("lid", endpoint.lid, kOptional.within(0, kMostIndex));
  field("mtu", endpoint.mtu);
  field("memory", endpoint.memory);
  field("key", endpoint.key, kOptional.within(0, kMostKey));
  field("queue_pairs", endpoint.queue_pairs, kRequired.at_most(kMostQueuePairs));
  field("first_packet", endpoint.first_packet, kOptional.within(0, kMostPacket));
}

void list_fields(FieldVisitor& field, RdmaOpenRequest& request) {
  constexpr std::int64_t kMostMessageBytes = std::int64_t{8} << 20;
  constexpr std::int64_t kMostDepth = 4096;
  field("device", request.device, kRequired);
  field("port", request.port, kRdmaPort);
  field("interface", request.interface);
  field("address", request.address);
  field("queue_pairs", request.queue_pairs, kOptional.within(1, kMostQueuePairs));
  field("message_bytes", request.message_bytes, kOptional.within(1, kMostMessageBytes));
  field("depth", request.depth, kOptional.within(1, kMostDepth));
}

void list_fields(FieldVisitor& field, RdmaConnectRequest& request) {
  field("session", request.session, kRequired);
  field("peer", request.peer, kRequired);
}

/// Either an error, which is also a valid message, or the results.
void list_fields(FieldVisitor& field, Result<RdmaWritten>& result) {
  std::optional<Error> error;
  if (!result) error = result.error();
  field("error", error);
  if (error) {
    if (field.reading()) result = failure(std::move(*error));
    return;
  }
  // Above what any device writes in 30 s; their bytes are still a number.
  constexpr std::int64_t kMostMessages = 1'000'000'000'000;
  field("messages", result->messages, kRequired.within(0, kMostMessages));
  field("nanoseconds", result->nanoseconds, kRequired.within(0, kLargestNumber));
}

void list_fields(FieldVisitor& field, RdmaWriteReply& reply) {
  field("results", reply.results, kRequired.at_most(kMostSessions));
}

void list_fields(FieldVisitor& field, RdmaWriteRequest& request) {
  constexpr std::int64_t kLongestDuration = 30'000;
  field("sessions", request.sessions, kSessions);
  field("duration_ms", request.duration_ms, kOptional.within(0, kLongestDuration));
}

void list_fields(FieldVisitor& field, RdmaLatencyReply& reply) {
  field("minimum_ns", reply.minimum_ns);
  field("typical_ns", reply.typical_ns);
  field("p99_ns", reply.p99_ns);
}

void list_fields(FieldVisitor& field, RdmaLatencyRequest& request) {
  constexpr std::int64_t kMostIterations = 1'000'000;
  field("session", request.session, kRequired);
  field("begins", request.begins);
  field("iterations", request.iterations, kOptional.within(1, kMostIterations));
}

void list_fields(FieldVisitor& field, RdmaCountersReply& reply) {
  field("sent_bytes", reply.sent_bytes, kCounter);
  field("received_bytes", reply.received_bytes, kCounter);
  field("hardware", reply.hardware, kOptional.at_most(kMostCounters));
  field("interface_sent_bytes", reply.interface_sent_bytes, kCounter);
  field("interface_received_bytes", reply.interface_received_bytes, kCounter);
}

void list_fields(FieldVisitor& field, RdmaCountersRequest& request) {
  field("device", request.device, kRequired);
  field("port", request.port, kRdmaPort);
  field("interface", request.interface);
}

void list_fields(FieldVisitor& field, RdmaCloseRequest& request) { field("sessions", request.sessions, kSessions); }

}  // namespace sparkplan
