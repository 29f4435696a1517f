#include "engine/wire/messages.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

}  // namespace

/// The content of the message {"hello": {...}}.
struct HelloBody {
  Hello* hello = nullptr;
};

static void list_fields(FieldVisitor& field, HelloBody& body) {
  Hello& hello = *body.hello;
  // A greeting without a version number has no supported major version.
  if (field.reading()) hello.protocol_major = hello.protocol_minor = 0;
  field("protocol_major", hello.protocol_major);
  field("protocol_minor", hello.protocol_minor);
  field("build", hello.build, kShortText);
  field("architecture", hello.architecture, kShortText);
  field("types", hello.types, kShortText.at_most(kMostTypes));
}

void list_fields(FieldVisitor& field, Hello& hello) {
  HelloBody body{&hello};
  field("hello", body, kRequired);
}

void list_fields(FieldVisitor& field, NumberedRequest& numbered) {
  field.tagged("request", numbered.request);
  // The range that decode_reply() accepts: each request gets a reply that its sender can read.
  field("id", numbered.id, kOptional.within(0, std::numeric_limits<std::int64_t>::max()));
}

Result<NumberedRequest> decode_request(const Value& value) {
  NumberedRequest numbered;
  FieldReader reader(value);
  reader.visit(numbered, kOptional);
  SPARK_CHECK(reader.result());
  // An unknown field may be a condition that the controller relies on.
  SPARK_CHECK(reader.refuse_unknown("a request of kind " + shown_text(value.text_or("request", ""))));
  return numbered;
}

Value encode_progress(std::int64_t id, std::string_view doing) { return Value::map({{"id", id}, {"progress", doing}}); }

std::optional<std::string> progress_in(const Value& message) {
  const auto* progress = message.find("progress");
  return progress == nullptr || progress->string() == nullptr ? std::nullopt : std::optional(*progress->string());
}

Value encode(const NumberedReply& reply) {
  Value value = Value::map({{"id", reply.id}});
  if (reply.body) {
    value.set("reply", *reply.body);
  } else {
    value.set("error", encode(reply.body.error()));
  }
  return value;
}

Result<NumberedReply> decode_reply(Value value) {
  const auto id = value.integer_or("id", -1);
  if (id < 0) return malformed("a reply without a number");
  if (const auto* error = value.find("error")) {
    SPARK_TRY(auto decoded, decode<Error>(*error));
    return NumberedReply{id, tl::unexpected<Error>(std::move(decoded))};
  }
  auto* body = value.find("reply");
  if (body == nullptr) return malformed("a reply without a body");
  return NumberedReply{id, std::move(*body)};
}

}  // namespace sparkplan
