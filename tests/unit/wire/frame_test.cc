#include <chrono>
#include <random>

#include "engine/core/json.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

std::string frame_of(const Value& message) {
  auto frame = encode_frame(message);
  REQUIRE(frame);
  return *frame;
}

/// The 4 bytes before a frame's body.
std::string length_prefix(std::uint32_t size) {
  std::string prefix;
  for (const int shift : {24, 16, 8, 0}) prefix.push_back(static_cast<char>((size >> shift) & 0xffU));
  return prefix;
}

/// Every complete message; fails the test on an error.
std::vector<Value> take_all(FrameReader& reader) {
  std::vector<Value> messages;
  while (true) {
    auto next = reader.next();
    REQUIRE(next);
    if (!*next) return messages;
    messages.push_back(std::move(**next));
  }
}

const Value kFirst = Value::map({{"a", 1}, {"text", std::string("\0\1\xff", 3)}});
const Value kSecond = Value::list({"b", Value(), true});

}  // namespace

TEST_CASE("a frame is a length of four big-endian bytes, and that many bytes of JSON") {
  CHECK(frame_of(Value::map({{"a", 1}})) == std::string("\0\0\0\7", 4) + "{\"a\":1}");
  const auto long_one = frame_of(std::string(0x010203 - 2, 'x'));
  CHECK(long_one.substr(0, 4) == std::string("\0\1\2\3", 4));
  CHECK(long_one.size() == 0x010203 + 4);
}

TEST_CASE("messages arrive complete wherever the stream is split") {
  const auto stream = "Welcome!\n" + std::string(kPreamble) + frame_of(kFirst) + frame_of(kSecond);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    INFO("cut at " << cut);
    FrameReader reader;
    reader.feed(std::string_view(stream).substr(0, cut));
    auto messages = take_all(reader);
    reader.feed(std::string_view(stream).substr(cut));
    for (auto& message : take_all(reader)) messages.push_back(std::move(message));
    REQUIRE(messages.size() == 2);
    CHECK(messages[0] == kFirst);
    CHECK(messages[1] == kSecond);
    CHECK(reader.noise() == "Welcome!\n");
  }
}

TEST_CASE("messages arrive complete from a stream of single bytes") {
  const auto stream = "\n$ " + std::string(kPreamble) + frame_of(kFirst) + frame_of(kSecond);
  FrameReader reader;
  std::vector<Value> messages;
  for (const char byte : stream) {
    reader.feed(std::string_view(&byte, 1));
    for (auto& message : take_all(reader)) messages.push_back(std::move(message));
  }
  CHECK(messages == std::vector<Value>{kFirst, kSecond});
}

TEST_CASE("400,000 small frames that a node sends at once cost their reader less than five seconds") {
  constexpr std::size_t kFrames = 400'000;
  const std::string frame = length_prefix(1) + "7";
  std::string bytes(kPreamble);
  for (std::size_t i = 0; i < kFrames; ++i) bytes += frame;
  FrameReader reader;
  reader.feed(bytes);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t read = 0;
  for (auto message = reader.next(); message && *message; message = reader.next()) ++read;
  CHECK(read == kFrames);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  reader.feed(frame.substr(0, 3));
  CHECK_FALSE(*reader.next());
  reader.feed(frame.substr(3));
  CHECK((*reader.next())->integer() != nullptr);
}

TEST_CASE("an incomplete preamble is noise") {
  for (std::size_t length = 1; length < kPreamble.size(); ++length) {
    INFO("false start of " << length << " bytes");
    const auto noise = "x" + std::string(kPreamble.substr(0, length));
    FrameReader reader;
    reader.feed(noise);
    CHECK(take_all(reader).empty());
    CHECK_FALSE(reader.preamble_seen());
    reader.feed(std::string(kPreamble) + frame_of(kFirst));
    CHECK(take_all(reader) == std::vector<Value>{kFirst});
    CHECK(reader.preamble_seen());
    CHECK(reader.noise() == noise);
  }
}

TEST_CASE("a second preamble is read as the length of an oversized frame") {
  FrameReader reader;
  reader.feed(std::string(kPreamble) + frame_of(kFirst) + std::string(kPreamble));
  REQUIRE(reader.next());
  // "\0\1SP" is a length of 86864 bytes: the reader waits for them and never reads text as a message.
  const auto next = reader.next();
  REQUIRE(next);
  CHECK_FALSE(*next);
}

TEST_CASE("a frame without the preamble is noise") {
  FrameReader reader;
  reader.feed(frame_of(kFirst) + frame_of(kSecond));
  CHECK(take_all(reader).empty());
  CHECK_FALSE(reader.preamble_seen());
}

TEST_CASE("64 KiB of noise are accepted, and one more byte is a permanent error") {
  FrameReader patient;
  patient.feed(std::string(kMaxNoiseBytes, 'n') + std::string(kPreamble) + frame_of(kFirst));
  CHECK(take_all(patient) == std::vector<Value>{kFirst});

  FrameReader strict;
  strict.feed(std::string(kMaxNoiseBytes + 1, 'n') + std::string(kPreamble) + frame_of(kFirst));
  const auto next = strict.next();
  REQUIRE_FALSE(next);
  CHECK(next.error().code == ErrorCode::kInvalidInput);
  CHECK(strict.noise().size() == kMaxNoiseBytes);
  CHECK_FALSE(strict.next());
  strict.feed(std::string(kPreamble) + frame_of(kFirst));
  CHECK_FALSE(strict.next());
}

TEST_CASE("an announced frame over the size limit is refused before its bytes arrive") {
  FrameReader at_the_cap;
  at_the_cap.feed(std::string(kPreamble) + length_prefix(kMaxFrameBytes));
  CHECK(take_all(at_the_cap).empty());
  FrameReader over;
  over.feed(std::string(kPreamble) + length_prefix(kMaxFrameBytes + 1));
  const auto next = over.next();
  REQUIRE_FALSE(next);
  CHECK(next.error().code == ErrorCode::kInvalidInput);
  FrameReader far_over;
  far_over.feed(std::string(kPreamble) + std::string(4, '\xff'));
  CHECK_FALSE(far_over.next());
}

TEST_CASE("a message over the size limit is not sent") {
  const auto fits = encode_frame(std::string(kMaxFrameBytes - 2, 'x'));
  REQUIRE(fits);
  CHECK(fits->size() == kMaxFrameBytes + 4);
  const auto frame = encode_frame(std::string(kMaxFrameBytes - 1, 'x'));
  REQUIRE_FALSE(frame);
  CHECK(frame.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("a frame that is not JSON is a permanent error") {
  for (const std::string body : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "\xff\xfe", "1 2", "nul"}) {
    INFO(body);
    FrameReader reader;
    reader.feed(std::string(kPreamble) + length_prefix(static_cast<std::uint32_t>(body.size())) + body);
    reader.feed(frame_of(kFirst));
    const auto next = reader.next();
    REQUIRE_FALSE(next);
    CHECK(next.error().code == ErrorCode::kInvalidInput);
    CHECK_FALSE(reader.next());
  }
}

TEST_CASE("any bytes after the preamble give messages, a wait or an error, and never a crash") {
  std::mt19937 engine(20260802);
  int errors = 0;
  for (int run = 0; run < 3000; ++run) {
    auto stream = std::string(kPreamble) + frame_of(kFirst) + frame_of(kSecond);
    for (auto mutations = engine() % 4 + 1; mutations > 0; --mutations) {
      const auto at = engine() % stream.size();
      if (engine() % 3 == 0) {
        stream.erase(at, engine() % 5);
      } else {
        stream[at] = static_cast<char>(engine());
      }
      if (stream.empty()) stream = "x";
    }
    FrameReader reader;
    std::size_t at = 0;
    int messages = 0;
    bool broken = false;
    while (at < stream.size() && !broken) {
      const auto count = std::min<std::size_t>(engine() % 9 + 1, stream.size() - at);
      reader.feed(std::string_view(stream).substr(at, count));
      at += count;
      while (true) {
        const auto next = reader.next();
        broken = !next;
        if (broken || !*next) break;
        ++messages;
      }
    }
    errors += broken ? 1 : 0;
    CHECK(messages <= 3);
  }
  CHECK(errors > 100);  // Otherwise the mutations do not reach the reader.
}

TEST_CASE("the outcomes of 20,000 steps fit into a reply") {
  ApplyReply reply;
  const StepResult done{{"file", "/etc/" + std::string(70, 'a')}, StepOutcome::kDone, std::nullopt};
  reply.results.assign(20'000, done);
  CHECK(encode_frame(encode(NumberedReply{1, encode(reply)}), kOutcomeReply));
}

}  // namespace sparkplan
