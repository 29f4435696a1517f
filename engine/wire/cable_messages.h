#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Listen on these interfaces for what agents call into their cables, until HearCablesRequest. What does not begin
/// with the token is not of this run.
struct ListenToCablesRequest {
  std::vector<std::string> interfaces;
  std::string token;  ///< 32 characters
};

/// Call one's own name into every cable that is listened to.
struct CallIntoCablesRequest {
  std::string node;  ///< As cluster.yaml names it.
};

/// What has come in since, from whomever but `node` itself; then nothing is listened to any more.
struct HearCablesRequest {};

/// One call, heard once or more often.
struct CableCall {
  std::string at;         ///< The interface that heard it.
  std::string node;       ///< Who called ...
  std::string interface;  ///< ... and through which interface.

  auto operator<=>(const CableCall&) const = default;  // NOLINT(modernize-use-nullptr): the 0 is the compiler's own
};
struct HearCablesReply {
  std::vector<CableCall> calls;             ///< Sorted, each once.
  std::map<std::string, std::string> mute;  ///< Interfaces that nothing could be called through -> why.
};

Value encode_body(const ListenToCablesRequest& request);
Value encode_body(const CallIntoCablesRequest& request);
Value encode_body(const HearCablesRequest& request);
Value encode(const HearCablesReply& reply);

/// Errors of all: kInvalidInput.
Result<ListenToCablesRequest> decode_listen_to_cables_request(const Value& value);
Result<CallIntoCablesRequest> decode_call_into_cables_request(const Value& value);
Result<HearCablesReply> decode_hear_cables_reply(const Value& value);

}  // namespace sparkplan
