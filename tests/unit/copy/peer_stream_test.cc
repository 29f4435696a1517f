// The encrypted connection between two nodes. A test is the network between them.
#include "engine/copy/peer_stream.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"

namespace sparkplan::copy {
namespace {

using Side = PeerStream::Side;

const std::string kStreamKey(32, 'k');
constexpr std::size_t kHeaderOfRecord = 4;
constexpr std::size_t kTagOfRecord = 16;
constexpr std::size_t kFullRecord = std::size_t{256} << 10;

/// Two ends of one connection. A wait at either end ends with an error after 30 s.
std::pair<FileDescriptor, FileDescriptor> connected_ends() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const timeval patience{30, 0};
  for (const int end : ends) {
    REQUIRE(::setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    REQUIRE(::setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// All bytes up to the end of the connection.
std::string bytes_on_wire(int socket) {
  std::string all;
  std::vector<char> part(1 << 16);
  while (true) {
    const auto count = ::recv(socket, part.data(), part.size(), 0);
    REQUIRE(count >= 0);
    if (count == 0) return all;
    all.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// The bytes that this side sends for these short texts.
std::string sent_by(Side side, const std::string& key, const std::vector<std::string>& texts) {
  auto [own, network] = connected_ends();
  {
    Traffic traffic;
    PeerStream sender(std::move(own), key, side, traffic);
    for (const std::string& text : texts) REQUIRE(sender.send(text));
  }
  return bytes_on_wire(network.get());
}

std::vector<std::string> records_in(std::string bytes) {
  std::vector<std::string> records;
  while (!bytes.empty()) {
    REQUIRE(bytes.size() > kHeaderOfRecord);
    std::size_t length = 0;
    for (std::size_t i = 0; i < kHeaderOfRecord; ++i) length = length << 8U | static_cast<unsigned char>(bytes[i]);
    const std::size_t whole = kHeaderOfRecord + length + kTagOfRecord;
    REQUIRE(bytes.size() >= whole);
    records.push_back(bytes.substr(0, whole));
    bytes.erase(0, whole);
  }
  return records;
}

/// A side that has these bytes on its wire, and the end of the connection behind them.
class Listener {
 public:
  explicit Listener(const std::string& bytes, Side side = Side::kFetches, const std::string& key = kStreamKey)
      : ends_(connected_ends()), stream_(std::move(ends_.first), key, side, traffic_) {
    REQUIRE(write_fully(ends_.second.get(), bytes));
    REQUIRE(::shutdown(ends_.second.get(), SHUT_WR) == 0);
  }

  /// The next text, of this length. Of an error, its code; then no byte was delivered.
  Result<std::string> next(std::size_t length) {
    const std::string untouched(length, '?');
    std::string text = untouched;
    auto received = stream_.receive(text.data(), length);
    if (received) return text;
    CHECK(text == untouched);
    return failure(std::move(received).error());
  }
  bool refuses(std::size_t length, ErrorCode code) {
    const auto text = next(length);
    return !text && text.error().code == code;
  }

 private:
  Traffic traffic_;
  std::pair<FileDescriptor, FileDescriptor> ends_;
  PeerStream stream_;
};

const std::vector<std::string> kTexts{"the first text", "another text 2", "the third one."};
const std::size_t kTextLength = kTexts[0].size();

/// The records of kTexts. The serving side sent them.
std::vector<std::string> three_records() {
  auto records = records_in(sent_by(Side::kServes, kStreamKey, kTexts));
  REQUIRE(records.size() == kTexts.size());
  return records;
}

std::string text_of_length(std::size_t length) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

}  // namespace

TEST_CASE("peer stream: bytes arrive equal in both directions, around each limit of a record") {
  const std::string key = GENERATE(std::string(), kStreamKey);
  for (const std::size_t length : std::vector<std::size_t>{1, 15, 16, 17, kFullRecord - 1, kFullRecord, kFullRecord + 1,
                                                           2 * kFullRecord, 3 * kFullRecord + 7}) {
    INFO(length);
    auto [one, other] = connected_ends();
    Traffic traffic;
    PeerStream server(std::move(one), key, Side::kServes, traffic);
    PeerStream client(std::move(other), key, Side::kFetches, traffic);
    const std::string text = text_of_length(length);
    for (auto [from, to] : {std::pair(&server, &client), std::pair(&client, &server)}) {
      bool is_sent = false;
      std::string got(length, '?');
      {
        const std::jthread sending([&, from = from] { is_sent = from->send(text).has_value(); });
        // In two parts, so that a record is taken in several calls.
        CHECK(to->receive(got.data(), length / 3));
        CHECK(to->receive(got.data() + length / 3, length - length / 3));
      }
      CHECK(is_sent);
      CHECK((got == text));
    }
    CHECK(traffic.sent == static_cast<std::int64_t>(2 * length));
    CHECK(traffic.received == static_cast<std::int64_t>(2 * length));
  }
}

TEST_CASE("peer stream: with a key, the wire has no plain text, and equal texts differ") {
  const std::string text = "weights of the model, in plain text";
  CHECK(sent_by(Side::kServes, "", {text}).find(text) == 0);

  const std::string wire = sent_by(Side::kServes, kStreamKey, {text, text, text});
  constexpr std::size_t kPart = 6;
  for (std::size_t at = 0; at + kPart <= text.size(); ++at) CHECK(wire.find(text.substr(at, kPart)) == wire.npos);
  CHECK(wire.find(kStreamKey.substr(0, kPart)) == wire.npos);
  const auto records = records_in(wire);
  REQUIRE(records.size() == 3);
  for (const std::string& record : records) CHECK(record.size() == kHeaderOfRecord + text.size() + kTagOfRecord);
  CHECK(std::set<std::string>(records.begin(), records.end()).size() == 3);
}

TEST_CASE("peer stream: a record with a changed byte ends the stream, and nothing of it is delivered") {
  const auto records = three_records();
  for (std::size_t at = 0; at < records[1].size(); ++at) {
    INFO(at);
    std::string changed = records[1];
    changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ 1U);
    Listener listener(records[0] + changed + records[2]);
    CHECK(listener.next(kTextLength) == kTexts[0]);
    const auto refused = listener.next(kTextLength);
    REQUIRE_FALSE(refused);
    // A longer record than was sent may also end with the connection.
    CHECK((refused.error().code == ErrorCode::kVerifyFailed || at < kHeaderOfRecord));
    // Neither the refused bytes nor the good record behind them.
    CHECK_FALSE(listener.next(1));
    CHECK_FALSE(listener.next(kTextLength));
  }
}

TEST_CASE("peer stream: after a refused record that is shorter than the one before, nothing is delivered") {
  auto records = records_in(sent_by(Side::kServes, kStreamKey, {std::string(1000, 'a'), "short", "next"}));
  records[1].back() = static_cast<char>(static_cast<unsigned char>(records[1].back()) ^ 1U);
  Listener listener(records[0] + records[1] + records[2]);
  CHECK(listener.next(1000) == std::string(1000, 'a'));
  CHECK(listener.refuses(5, ErrorCode::kVerifyFailed));
  CHECK(listener.refuses(5, ErrorCode::kVerifyFailed));
}

TEST_CASE("peer stream: a record that is repeated, left out or exchanged with the next one is refused") {
  const auto records = three_records();
  SECTION("whole and in order, the records are accepted") {
    Listener listener(records[0] + records[1] + records[2]);
    for (const std::string& text : kTexts) CHECK(listener.next(kTextLength) == text);
    CHECK(listener.refuses(1, ErrorCode::kUnreachable));
  }
  SECTION("repeated") {
    Listener listener(records[0] + records[0] + records[1]);
    CHECK(listener.next(kTextLength) == kTexts[0]);
    CHECK(listener.refuses(kTextLength, ErrorCode::kVerifyFailed));
  }
  SECTION("left out") {
    Listener first(records[1] + records[2]);
    CHECK(first.refuses(kTextLength, ErrorCode::kVerifyFailed));
    Listener second(records[0] + records[2]);
    CHECK(second.next(kTextLength) == kTexts[0]);
    CHECK(second.refuses(kTextLength, ErrorCode::kVerifyFailed));
  }
  SECTION("exchanged") {
    Listener listener(records[0] + records[2] + records[1]);
    CHECK(listener.next(kTextLength) == kTexts[0]);
    CHECK(listener.refuses(kTextLength, ErrorCode::kVerifyFailed));
  }
}

TEST_CASE("peer stream: a record under another key, or without encryption, is refused") {
  std::string other = kStreamKey;
  other.back() = 'l';
  Listener wrong(sent_by(Side::kServes, other, kTexts));
  CHECK(wrong.refuses(kTextLength, ErrorCode::kVerifyFailed));
  Listener plain(sent_by(Side::kServes, "", kTexts));
  CHECK(plain.refuses(kTextLength, ErrorCode::kVerifyFailed));
}

TEST_CASE("peer stream: the two directions share no nonce, so that a record that comes back is refused") {
  for (const Side side : {Side::kServes, Side::kFetches}) {
    Listener listener(sent_by(side, kStreamKey, kTexts), side);
    CHECK(listener.refuses(kTextLength, ErrorCode::kVerifyFailed));
  }
  // With one key and one nonce, equal texts would be equal records.
  const auto served = three_records();
  const auto fetched = records_in(sent_by(Side::kFetches, kStreamKey, kTexts));
  std::set<std::string> different(served.begin(), served.end());
  different.insert(fetched.begin(), fetched.end());
  CHECK(different.size() == 2 * kTexts.size());
}

TEST_CASE("peer stream: a connection that ends within a record is an error, and no short text") {
  const auto records = three_records();
  for (std::size_t kept = 0; kept < records[1].size(); ++kept) {
    INFO(kept);
    Listener listener(records[0] + records[1].substr(0, kept));
    CHECK(listener.next(kTextLength) == kTexts[0]);
    CHECK(listener.refuses(kTextLength, ErrorCode::kUnreachable));
    CHECK_FALSE(listener.next(1));
  }
}

TEST_CASE("peer stream: a record that is empty, or larger than any that is sent, is refused by its length") {
  for (const std::size_t length : {std::size_t{0}, kFullRecord + 1, std::size_t{0xFFFFFFFF}}) {
    std::string header;
    for (unsigned i = 0; i < kHeaderOfRecord; ++i) header += static_cast<char>(length >> (24 - 8 * i) & 0xFFU);
    Listener listener(header + std::string(100, 'x'));
    CHECK(listener.refuses(1, ErrorCode::kVerifyFailed));
  }
}

}  // namespace sparkplan::copy
