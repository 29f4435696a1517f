#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"

namespace sparkplan {

/// The step at which an RDMA measurement failed. Error::context of the agent's answer begins with its name.
enum class RdmaStep : std::uint8_t {
  kOpenDevice,      ///< Find and open the device, check its port.
  kFindGid,         ///< Find the GID of the address.
  kRegisterMemory,  ///< Also protection domain and completion queue: all that needs locked memory.
  kCreateQueuePair,
  kConnect,  ///< Bring a queue pair to INIT, RTR and RTS.
  kWrite,    ///< Post and complete writes.
};
constexpr EnumNames<6> names_of(RdmaStep /*step*/) {
  return {"open the device", "find the GID", "register memory", "create a queue pair", "connect a queue pair", "write"};
}
/// The step in an agent's error; nothing for errors of other kinds, such as connection errors.
std::optional<RdmaStep> rdma_step_of(const Error& error);

/// The error that the hardware reports for a failed write. Source: enum ibv_wc_status.
Error rdma_completion_error(int status, std::string_view text);
/// The status in such an error; nothing for other errors. 12: no acknowledgement.
std::optional<int> rdma_completion_status_of(const Error& error);

/// The data that the other end needs to connect.
struct RdmaEndpoint {
  std::int64_t session = 0;  ///< Identifies the session in later requests to the same agent.
  std::string gid;           ///< As an IPv6 address; empty on InfiniBand.
  std::int64_t gid_index = 0;
  std::int64_t lid = 0;  ///< 0 over Ethernet.
  std::int64_t mtu = 0;  ///< active_mtu, bytes.
  std::int64_t memory = 0;
  std::int64_t key = 0;
  std::vector<std::int64_t> queue_pairs;  ///< Their numbers.
  std::int64_t first_packet = 0;          ///< The packet sequence number at which each of them begins.

  bool operator==(const RdmaEndpoint&) const = default;
};

/// Makes queue pairs, and memory as source and target of the writes.
struct RdmaOpenRequest {
  static constexpr std::string_view kName = "rdma_open";
  using Reply = RdmaEndpoint;
  std::string device;     ///< "rocep1s0f1"
  std::int64_t port = 1;  ///< Of the device.
  std::string interface;  ///< The GID must belong to it; empty: to any interface.
  std::string address;    ///< IPv4, of the GID. Ignored on InfiniBand.
  std::int64_t queue_pairs = 1;
  std::int64_t message_bytes = 65536;
  std::int64_t depth = 32;  ///< Outstanding writes per queue pair.
};

/// Connects the queue pairs of a session with those of `peer`, one by one.
struct RdmaConnectRequest {
  static constexpr std::string_view kName = "rdma_connect";
  using Reply = void;
  std::int64_t session = 0;
  RdmaEndpoint peer;
};

struct RdmaWritten {
  std::int64_t messages = 0;
  std::int64_t nanoseconds = 0;  ///< From the first write to the last completion.
};
struct RdmaWriteReply {
  std::vector<Result<RdmaWritten>> results;  ///< One for each session, in the same order.
};

/// Writes into the peers' memory, in all sessions at the same time.
struct RdmaWriteRequest {
  static constexpr std::string_view kName = "rdma_write";
  using Reply = RdmaWriteReply;
  std::vector<std::int64_t> sessions;
  std::int64_t duration_ms = 1000;  ///< New writes begin during this time; then the last write is waited for.
};

/// Half of a round trip. All 0 at the end that did not begin.
struct RdmaLatencyReply {
  std::int64_t minimum_ns = 0;
  std::int64_t typical_ns = 0;  ///< The median.
  std::int64_t p99_ns = 0;
};

/// Sends two bytes there and back, many times. Both ends receive the request at the same time, and it names the end
/// that begins.
struct RdmaLatencyRequest {
  static constexpr std::string_view kName = "rdma_latency";
  using Reply = RdmaLatencyReply;
  std::int64_t session = 0;
  bool begins = false;
  std::int64_t iterations = 1000;
};

/// Only the existing counters. Source: Documentation/ABI/stable/sysfs-class-infiniband, sysfs-class-net-statistics.
struct RdmaCountersReply {
  std::optional<std::int64_t> sent_bytes;  ///< port_xmit_data, converted from words of 4 bytes.
  std::optional<std::int64_t> received_bytes;
  std::map<std::string, std::int64_t> hardware;  ///< hw_counters: "sent_pkts" of rxe, "packet_seq_err" of mlx5.
  /// Of the interface. A software device sends through it; hardware devices bypass it.
  std::optional<std::int64_t> interface_sent_bytes;
  std::optional<std::int64_t> interface_received_bytes;
};

/// The bytes that a port has sent and received.
struct RdmaCountersRequest {
  static constexpr std::string_view kName = "rdma_counters";
  using Reply = RdmaCountersReply;
  std::string device;
  std::int64_t port = 1;
  std::string interface;  ///< Empty: none.
};

/// Frees the resources of the sessions. An unknown session is not an error.
struct RdmaCloseRequest {
  static constexpr std::string_view kName = "rdma_close";
  using Reply = void;
  std::vector<std::int64_t> sessions;
};

/// Decoding refuses values that no controller requests: thousands of queue pairs, an hour of writing.
void list_fields(FieldVisitor& field, RdmaEndpoint& endpoint);
void list_fields(FieldVisitor& field, RdmaOpenRequest& request);
void list_fields(FieldVisitor& field, RdmaConnectRequest& request);
void list_fields(FieldVisitor& field, Result<RdmaWritten>& result);
void list_fields(FieldVisitor& field, RdmaWriteReply& reply);
void list_fields(FieldVisitor& field, RdmaWriteRequest& request);
void list_fields(FieldVisitor& field, RdmaLatencyReply& reply);
void list_fields(FieldVisitor& field, RdmaLatencyRequest& request);
void list_fields(FieldVisitor& field, RdmaCountersReply& reply);
void list_fields(FieldVisitor& field, RdmaCountersRequest& request);
void list_fields(FieldVisitor& field, RdmaCloseRequest& request);

}  // namespace sparkplan
