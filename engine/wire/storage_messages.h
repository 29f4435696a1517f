#pragma once

#include <cstdint>
#include <string>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Read a bounded amount from what is mounted at `target`, past the node's own cache where the file system lets
/// that be.
struct ReadStorageRequest {
  std::string target;
};
struct ReadStorageReply {
  std::string complaint;  ///< Why it cannot be read; empty when it can.
  std::string what;       ///< The file or device that was read; empty when there was nothing to measure by.
  std::int64_t bytes = 0;
  std::int64_t nanoseconds = 0;
  bool direct = false;  ///< Past the cache.
};

Value encode_body(const ReadStorageRequest& request);
/// Errors of all: kInvalidInput.
Result<ReadStorageRequest> decode_read_storage_request(const Value& value);
Value encode(const ReadStorageReply& reply);
Result<ReadStorageReply> decode_read_storage_reply(const Value& value);

}  // namespace sparkplan
