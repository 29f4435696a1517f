#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// One end of a way between two nodes, as the agent there is to use it.
struct WayEnd {
  std::string address;    ///< IPv4, its own.
  std::string interface;  ///< The one that has it: nothing comes in or leaves through another.

  bool operator==(const WayEnd&) const = default;
};

/// Listen on one address for what another agent is going to send: TCP connections, whose bytes are counted
/// and dropped, and datagrams, whose sizes are noted. There is one such ear at a time: a new one takes the
/// place of the old one, and none outlives the session.
struct OpenEarRequest {
  WayEnd at;
  std::string peer;   ///< IPv4: nobody else is listened to.
  std::string token;  ///< 32 characters that every connection and datagram begins with.
};
struct OpenEarReply {
  std::int64_t port = 0;           ///< TCP, chosen by the kernel.
  std::int64_t datagram_port = 0;  ///< UDP, likewise.
};

/// Waits for datagrams of these sizes, and closes the ear.
struct CloseEarRequest {
  std::vector<std::int64_t> awaited;  ///< In bytes, with IP and UDP headers.
  std::int64_t patience_ms = 0;
};
struct CloseEarReply {
  std::vector<std::int64_t> heard;  ///< Sizes of datagrams, each once, rising.
};

/// Send datagrams of these sizes to an ear, none of them to be fragmented.
struct SendDatagramsRequest {
  WayEnd from;
  std::string address;
  std::int64_t port = 0;
  std::string token;
  std::vector<std::int64_t> sizes;  ///< In bytes, with IP and UDP headers.
};

/// How an attempt to connect ended.
enum class TcpOutcome : std::uint8_t {
  kDone,
  kRefused,  ///< Something there said no.
  kDropped,  ///< No answer at all.
  kNoRoute,
  kBroken,  ///< Connected, and then something else.
};
/// "done", "refused", "dropped", "no_route", "broken".
std::string_view to_string(TcpOutcome outcome);

/// Send over TCP to an ear, as fast as it goes.
struct MeasureTcpRequest {
  WayEnd from;
  std::string address;
  std::int64_t port = 0;
  std::string token;
  std::int64_t streams = 4;
  std::int64_t duration_ms = 1000;
};
struct MeasureTcpReply {
  TcpOutcome outcome = TcpOutcome::kDone;
  std::string reason;            ///< The kernel's words, unless done.
  std::int64_t bytes = 0;        ///< That the other end has received.
  std::int64_t nanoseconds = 0;  ///< From the first byte to the last one's arrival.
};

/// Log in by ssh as one user, to one host after the other, each with strict host key checking and without
/// a question.
struct SshLoginRequest {
  struct Target {
    std::string host;
    std::int64_t port = 22;

    bool operator==(const Target&) const = default;
  };
  std::string user;
  std::vector<Target> targets;
};
struct SshLoginReply {
  struct Login {
    bool succeeded = false;
    std::string complaint;  ///< What ssh printed, unless it succeeded.
  };
  std::vector<Login> logins;  ///< One for each target.
};

/// Give the earlier values of these checks, and keep the new ones. Nothing is kept on a node that sparkplan
/// does not manage, because nothing would take it away.
struct MeasurementsRequest {
  std::map<std::string, double> values;  ///< By the id of the check.
};
struct MeasurementsReply {
  std::map<std::string, std::vector<double>> earlier;  ///< Oldest first; only for the ids asked for.
  std::string set_aside;  ///< Not empty: what was there could not be read, and is at this path now.
};

Value encode_body(const OpenEarRequest& request);
Value encode_body(const CloseEarRequest& request);
Value encode_body(const SendDatagramsRequest& request);
Value encode_body(const MeasureTcpRequest& request);
Value encode_body(const SshLoginRequest& request);
Value encode_body(const MeasurementsRequest& request);

/// Errors of all: kInvalidInput.
Result<OpenEarRequest> decode_open_ear_request(const Value& value);
Result<CloseEarRequest> decode_close_ear_request(const Value& value);
Result<SendDatagramsRequest> decode_send_datagrams_request(const Value& value);
Result<MeasureTcpRequest> decode_measure_tcp_request(const Value& value);
Result<SshLoginRequest> decode_ssh_login_request(const Value& value);
Result<MeasurementsRequest> decode_measurements_request(const Value& value);

Value encode(const OpenEarReply& reply);
Value encode(const CloseEarReply& reply);
Value encode(const MeasureTcpReply& reply);
Value encode(const SshLoginReply& reply);
Value encode(const MeasurementsReply& reply);

/// Errors of all: kInvalidInput.
Result<OpenEarReply> decode_open_ear_reply(const Value& value);
Result<CloseEarReply> decode_close_ear_reply(const Value& value);
Result<MeasureTcpReply> decode_measure_tcp_reply(const Value& value);
Result<SshLoginReply> decode_ssh_login_reply(const Value& value);
Result<MeasurementsReply> decode_measurements_reply(const Value& value);

}  // namespace sparkplan
