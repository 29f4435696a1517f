#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"

namespace sparkplan {

/// The agent's own end of a path to another node.
struct TrafficEndpoint {
  std::string address;    ///< The endpoint's own IPv4 address.
  std::string interface;  ///< The interface with that address: other interfaces are never used.

  bool operator==(const TrafficEndpoint&) const = default;
};

struct OpenReceiverReply {
  std::int64_t port = 0;           ///< TCP, chosen by the kernel.
  std::int64_t datagram_port = 0;  ///< UDP, chosen by the kernel.
};

/// Receives traffic from another agent on one address. It counts and drops the bytes of TCP connections, and records
/// the sizes of datagrams. A session has one receiver at a time: a new one replaces the old one, and the session's end
/// closes it.
struct OpenReceiverRequest {
  static constexpr std::string_view kName = "open_ear";
  using Reply = OpenReceiverReply;
  TrafficEndpoint at;
  std::string peer;   ///< IPv4: the only accepted sender.
  std::string token;  ///< 32 characters at the beginning of each connection and datagram.
};

struct CloseReceiverReply {
  std::vector<std::int64_t> received;  ///< The awaited sizes that have arrived, each once, rising.
};

/// Waits for datagrams of these sizes, and closes the receiver.
struct CloseReceiverRequest {
  static constexpr std::string_view kName = "close_ear";
  using Reply = CloseReceiverReply;
  std::vector<std::int64_t> awaited;  ///< In bytes, with IP and UDP headers.
  std::int64_t patience_ms = 0;
};

/// Sends datagrams of these sizes to a receiver, with fragmentation forbidden.
struct SendDatagramsRequest {
  static constexpr std::string_view kName = "send_datagrams";
  using Reply = void;
  TrafficEndpoint from;
  std::string address;
  std::int64_t port = 0;
  std::string token;
  std::vector<std::int64_t> sizes;  ///< In bytes, with IP and UDP headers.
};

/// The outcome of a connection attempt.
enum class TcpOutcome : std::uint8_t {
  kDone,
  kRefused,  ///< The peer, or a device on the path, answered with a refusal.
  kDropped,  ///< No answer at all.
  kNoRoute,
  kBroken,  ///< Connected, but failed afterwards.
};
constexpr EnumNames<5> names_of(TcpOutcome /*outcome*/) { return {"done", "refused", "dropped", "no_route", "broken"}; }

struct MeasureTcpReply {
  TcpOutcome outcome = TcpOutcome::kDone;
  std::string reason;            ///< The kernel's error text; empty if done.
  std::int64_t bytes = 0;        ///< Received by the other end.
  std::int64_t nanoseconds = 0;  ///< From the first byte to the arrival of the last one.
};

/// Sends over TCP to a receiver, as fast as possible.
struct MeasureTcpRequest {
  static constexpr std::string_view kName = "measure_tcp";
  using Reply = MeasureTcpReply;
  TrafficEndpoint from;
  std::string address;
  std::int64_t port = 0;
  std::string token;
  std::int64_t streams = 4;
  std::int64_t duration_ms = 1000;
};

/// Opens these interfaces for link probes of other agents, until ReadLinkProbesRequest. Frames that do not begin with
/// the token belong to other runs.
struct StartLinkProbeRequest {
  static constexpr std::string_view kName = "listen_to_cables";
  using Reply = void;
  std::vector<std::string> interfaces;
  std::string token;  ///< 32 characters
};

/// Sends a probe with this name through each open interface.
struct SendLinkProbesRequest {
  static constexpr std::string_view kName = "call_into_cables";
  using Reply = void;
  std::string node;  ///< A node name in form, random: the controller knows whose it is.
};

/// A link probe of another node, received once or more often.
struct ReceivedProbe {
  std::string at;         ///< The interface that received it.
  std::string node;       ///< The sender, by its name of SendLinkProbesRequest ...
  std::string interface;  ///< ... and the interface that it used.

  auto operator<=>(const ReceivedProbe&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};
struct ReadLinkProbesReply {
  std::vector<ReceivedProbe> received;             ///< Sorted, each once.
  std::map<std::string, std::string> send_errors;  ///< Interfaces that could not send a probe -> the reason.
  /// Interfaces at which so many frames arrived that probes may be missing.
  std::vector<std::string> overrun = {};
};

/// The probes received since StartLinkProbeRequest, without the node's own. Closes the interfaces.
struct ReadLinkProbesRequest {
  static constexpr std::string_view kName = "hear_cables";
  using Reply = ReadLinkProbesReply;
  /// sha256() of the names of all nodes that have sent: frames with other names are dropped. A digest lets no node send
  /// in a name that it has not received. Empty: any name.
  std::vector<std::string> senders = {};
};

struct SshLoginReply {
  struct Login {
    bool succeeded = false;
    std::string complaint;  ///< The output of ssh, unless it succeeded.
  };
  std::vector<Login> logins;  ///< One for each target.
};

/// Logs in by ssh as one user, to one host after the other, with strict host key checking and without prompts.
struct SshLoginRequest {
  static constexpr std::string_view kName = "ssh_login";
  using Reply = SshLoginReply;
  struct Target {
    std::string host;
    std::int64_t port = 22;

    bool operator==(const Target&) const = default;
  };
  std::string user;
  std::vector<Target> targets;
};

/// The outcome of one run of `verify` on one node.
struct VerifySummary {
  std::string time = {};   ///< When the node stored it: RFC 3339, UTC. Empty in a request.
  std::string level = {};  ///< As the user named it: "all", "tcp".
  std::int64_t passed = 0;
  std::int64_t warned = 0;
  std::int64_t failed = 0;

  bool operator==(const VerifySummary&) const = default;
};

struct MeasurementsReply {
  std::map<std::string, std::vector<double>> earlier;  ///< Oldest first; only for the requested ids.
  std::string set_aside;                               ///< Not empty: the unreadable history was moved to this path.
};

/// Returns the earlier values of these checks, and stores the new ones and the summary. A node that sparkplan does not
/// manage stores nothing, because no release would remove it.
struct MeasurementsRequest {
  static constexpr std::string_view kName = "measurements";
  using Reply = MeasurementsReply;
  std::map<std::string, double> values;              ///< By the id of the check.
  std::optional<VerifySummary> summary = {};         ///< Of the node's checks in this run.
  std::string run = {};                              ///< The id of the run, stored with the values.
  std::map<std::string, std::string> versions = {};  ///< Of the node, stored with the values: "kernel", "nccl".
};

/// A run of `verify` that stored measurements on a node.
struct MeasuredRun {
  std::int64_t number = 0;  ///< From 1, on this node; a later run has a higher one.
  std::string run = {};     ///< Its id: equal on all nodes of the run.
  std::map<std::string, std::string> versions = {};

  bool operator==(const MeasuredRun&) const = default;
};

/// The most values of all checks in a MeasurementHistoryReply: 50 of each check of a node with 63 others are 25,000.
/// The controller's report of them stays small.
inline constexpr std::size_t kMostRepliedValues = 40'000;
/// The most checks in a MeasurementHistoryReply. A node with 63 others keeps about 500.
inline constexpr std::size_t kMostRepliedChecks = 4000;

/// The stored values of one check, oldest first.
struct StoredValues {
  std::vector<double> values;
  std::vector<std::int64_t> runs;  ///< MeasuredRun::number of each value; 0: an older version stored it.

  bool operator==(const StoredValues&) const = default;
};

struct MeasurementHistoryReply {
  std::vector<MeasuredRun> runs;  ///< Oldest first.
  std::map<std::string, StoredValues> checks;
};

/// Returns the stored measurements. Changes nothing.
struct MeasurementHistoryRequest {
  static constexpr std::string_view kName = "measurement_history";
  using Reply = MeasurementHistoryReply;
};

/// The longest time of the agent for a ReadStorageRequest.
inline constexpr std::chrono::seconds kLongestStorageRead{185};

struct ReadStorageReply {
  std::string complaint;   ///< Why the file system cannot be read; empty when it can.
  std::string unmeasured;  ///< Why nothing was measured, although there is no complaint; empty otherwise.
  std::string what;        ///< The file or device that was read.
  std::int64_t bytes = 0;
  std::int64_t nanoseconds = 0;
  bool direct = false;  ///< Bypassing the cache.
};

/// Reads a bounded amount of data from the file system mounted at `target`. It bypasses the node's own cache if the
/// file system allows it.
struct ReadStorageRequest {
  static constexpr std::string_view kName = "read_storage";
  using Reply = ReadStorageReply;
  std::string target;
};

/// An error that NVIDIA's kernel module logged.
struct GpuError {
  std::int64_t xid = 0;
  std::string line;  ///< "NVRM: Xid (PCI:0000:01:00): 79, ... GPU has fallen off the bus."

  bool operator==(const GpuError&) const = default;
};
/// The most errors in a reply, and the highest Xid that one can have.
inline constexpr std::size_t kMostGpuErrors = 32;
inline constexpr std::int64_t kMostXid = 10'000;

struct GpuErrorsReply {
  std::int64_t count = 0;        ///< All of them, also those that are not in `errors`.
  std::vector<GpuError> errors;  ///< The newest ones, oldest first.
  bool since_boot = false;       ///< False: the kernel has overwritten the beginning of its log.
};

/// Returns the errors of GPUs in the kernel's log. Changes nothing.
struct GpuErrorsRequest {
  static constexpr std::string_view kName = "gpu_errors";
  using Reply = GpuErrorsReply;
};

void list_fields(FieldVisitor& field, TrafficEndpoint& end);
void list_fields(FieldVisitor& field, OpenReceiverReply& reply);
void list_fields(FieldVisitor& field, OpenReceiverRequest& request);
void list_fields(FieldVisitor& field, CloseReceiverReply& reply);
void list_fields(FieldVisitor& field, CloseReceiverRequest& request);
void list_fields(FieldVisitor& field, SendDatagramsRequest& request);
void list_fields(FieldVisitor& field, MeasureTcpReply& reply);
void list_fields(FieldVisitor& field, MeasureTcpRequest& request);
void list_fields(FieldVisitor& field, StartLinkProbeRequest& request);
void list_fields(FieldVisitor& field, SendLinkProbesRequest& request);
void list_fields(FieldVisitor& field, ReadLinkProbesRequest& request);
void list_fields(FieldVisitor& field, ReceivedProbe& probe);
void list_fields(FieldVisitor& field, ReadLinkProbesReply& reply);
void list_fields(FieldVisitor& field, SshLoginReply::Login& login);
void list_fields(FieldVisitor& field, SshLoginReply& reply);
void list_fields(FieldVisitor& field, SshLoginRequest::Target& target);
void list_fields(FieldVisitor& field, SshLoginRequest& request);
void list_fields(FieldVisitor& field, VerifySummary& summary);
void list_fields(FieldVisitor& field, MeasurementsReply& reply);
void list_fields(FieldVisitor& field, MeasurementsRequest& request);
void list_fields(FieldVisitor& field, MeasuredRun& run);
void list_fields(FieldVisitor& field, StoredValues& stored);
void list_fields(FieldVisitor& field, MeasurementHistoryReply& reply);
void list_fields(FieldVisitor& field, ReadStorageReply& reply);
void list_fields(FieldVisitor& field, ReadStorageRequest& request);
void list_fields(FieldVisitor& field, GpuError& error);
void list_fields(FieldVisitor& field, GpuErrorsReply& reply);

}  // namespace sparkplan
