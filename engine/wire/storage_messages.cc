#include "engine/wire/storage_messages.h"

#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/model/field_reader.h"

namespace sparkplan {

Value encode_body(const ReadStorageRequest& request) {
  return Value::map({{"request", "read_storage"}, {"target", request.target}});
}

Result<ReadStorageRequest> decode_read_storage_request(const Value& value) {
  ReadStorageRequest request{value.text_or("target", "")};
  if (!request.target.starts_with('/')) return failure(ErrorCode::kInvalidInput, "\"target\" is no absolute path");
  return request;
}

Value encode(const ReadStorageReply& reply) {
  return Value::map({{"complaint", reply.complaint},
                     {"what", reply.what},
                     {"bytes", reply.bytes},
                     {"nanoseconds", reply.nanoseconds},
                     {"direct", reply.direct}});
}

Result<ReadStorageReply> decode_read_storage_reply(const Value& value) {
  FieldReader reader(value);
  ReadStorageReply reply;
  reply.complaint = cut_text(reader.text("complaint"), kLongestErrorMessage);
  reply.what = cut_text(reader.text("what"), kLongestErrorMessage);
  reply.bytes = reader.integer<std::int64_t>("bytes", 0);
  reply.nanoseconds = reader.integer<std::int64_t>("nanoseconds", 0);
  reply.direct = reader.boolean("direct", false);
  SPARK_CHECK(std::move(reader).check());
  return reply;
}

}  // namespace sparkplan
