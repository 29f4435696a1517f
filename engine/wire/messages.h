#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/wire/apply_messages.h"
#include "engine/wire/facts_messages.h"
#include "engine/wire/history_messages.h"
#include "engine/wire/measure_messages.h"
#include "engine/wire/rdma_messages.h"
#include "engine/wire/trial_messages.h"

namespace sparkplan {

/// A peer of another major version is refused. A newer minor version only adds.
inline constexpr std::int64_t kProtocolMajor = 1;
inline constexpr std::int64_t kProtocolMinor = 9;
/// The first minor versions whose agents know these requests and fields. An older agent refuses them.
inline constexpr std::int64_t kMinorOfObserveManaged = 2;  ///< FactsRequest::observe_managed
inline constexpr std::int64_t kMinorOfEverything = 3;      ///< FactsRequest::everything
inline constexpr std::int64_t kMinorOfForesight = 4;       ///< ForesightRequest
inline constexpr std::int64_t kMinorOfKnownRosters = 5;    ///< FactsRequest::known_rosters
inline constexpr std::int64_t kMinorOfSecrets = 5;         ///< ObserveNodeRequest::secret, ApplyRequest::secrets
inline constexpr std::int64_t kMinorOfPatience = 8;        ///< FactsRequest::patience_ms
inline constexpr std::int64_t kMinorOfProbeSenders = 9;    ///< ReadLinkProbesRequest::senders

/// The agent's first message, sent without a request.
struct Hello {
  std::int64_t protocol_major = kProtocolMajor;
  std::int64_t protocol_minor = kProtocolMinor;
  std::string build;               ///< elf_build_id() of the running agent.
  std::string architecture;        ///< uname -m
  std::vector<std::string> types;  ///< The resource types that the agent supports.
};

/// The complete list of requests. An agent without a handler for each alternative does not compile.
using Request = std::variant<FactsRequest, ObserveNodeRequest, EffectRequest, ForesightRequest, LockRequest,
                             ApplyRequest, CommitRequest, ReleaseRequest, HistoryRequest, UndoRequest, BreakLockRequest,
                             TransactionRequest, ConfirmRequest, RollBackRequest, ExtendRequest, ProbeRequest,
                             OpenReceiverRequest, CloseReceiverRequest, SendDatagramsRequest, MeasureTcpRequest,
                             StartLinkProbeRequest, SendLinkProbesRequest, ReadLinkProbesRequest, SshLoginRequest,
                             MeasurementsRequest, MeasurementHistoryRequest, ReadStorageRequest, GpuErrorsRequest,
                             RdmaOpenRequest, RdmaConnectRequest, RdmaWriteRequest, RdmaLatencyRequest,
                             RdmaCountersRequest, RdmaCloseRequest, UnlockRequest, PingRequest, StopNotice>;

/// A request with the number its reply will carry.
struct NumberedRequest {
  std::int64_t id = 0;
  Request request;
};

/// The agent's progress on a request: {"id": n, "progress": "..."}. Any number of such messages may come before the
/// reply; each shows that the agent is alive.
Value encode_progress(std::int64_t id, std::string_view doing);
/// The text of a progress message; nothing for other messages.
std::optional<std::string> progress_in(const Value& message);

/// {"id": n, "reply": ...} or {"id": n, "error": {...}}.
struct NumberedReply {
  std::int64_t id = 0;
  Result<Value> body;
};

void list_fields(FieldVisitor& field, Hello& hello);
void list_fields(FieldVisitor& field, NumberedRequest& numbered);

/// The inverse of decode_reply().
Value encode(const NumberedReply& reply);
/// Errors: kInvalidInput, also for an unknown request or an unknown field of a request.
Result<NumberedRequest> decode_request(const Value& value);
/// Errors: kInvalidInput.
Result<NumberedReply> decode_reply(Value value);  ///< Moves the body out of it.

/// A reply encoded by encode(), of any type that a request declares, including void and optional types.
template <class Reply>
Result<Value> encode_body(const Result<Reply>& reply) {
  if (!reply) return failure(reply.error());
  if constexpr (std::is_void_v<Reply>) {
    return Value::map();
  } else if constexpr (requires { reply->has_value(); }) {
    return *reply ? encode(**reply) : Value();
  } else {
    return encode(*reply);
  }
}

}  // namespace sparkplan
