#include "engine/copy/peer_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace sparkplan::copy {
namespace {

constexpr std::size_t kSlice = std::size_t{256} << 10;
constexpr std::size_t kLongestRecord = kSlice;
constexpr std::size_t kTag = 16;
constexpr std::size_t kHeader = 4;

/// A nonce is used once: the direction and the number of the record.
class Nonce {
 public:
  explicit Nonce(std::uint8_t direction) { bytes_[0] = direction; }
  std::array<std::uint8_t, 12> next() {
    auto bytes = bytes_;
    for (unsigned i = 0; i < 8; ++i) bytes[4 + i] = static_cast<std::uint8_t>(number_ >> (56 - 8 * i) & 0xFFU);
    ++number_;
    return bytes;
  }

 private:
  std::array<std::uint8_t, 12> bytes_{};
  std::uint64_t number_ = 0;
};

using Context = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

unsigned char* bytes_of(char* text) { return reinterpret_cast<unsigned char*>(text); }
const unsigned char* bytes_of(const char* text) { return reinterpret_cast<const unsigned char*>(text); }

}  // namespace

struct PeerStream::Cipher {
  Cipher(std::string the_key, Side side)
      : key(std::move(the_key)), sending(side == Side::kServes ? 1 : 2), receiving(side == Side::kServes ? 2 : 1) {}

  /// Length, encrypted bytes, tag.
  bool seal(std::string_view text, std::vector<char>& record) {
    const auto nonce = sending.next();
    record.resize(kHeader + text.size() + kTag);
    for (unsigned i = 0; i < kHeader; ++i) record[i] = static_cast<char>(text.size() >> (24 - 8 * i) & 0xFFU);
    int size = 0;
    auto* body = bytes_of(record.data()) + kHeader;
    return EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.data()), nonce.data()) == 1 &&
           EVP_EncryptUpdate(context.get(), body, &size, bytes_of(text.data()), static_cast<int>(text.size())) == 1 &&
           EVP_EncryptFinal_ex(context.get(), body + size, &size) == 1 &&
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTag), body + text.size()) == 1;
  }

  /// `record`: encrypted bytes and tag.
  bool unseal(std::vector<char>& record) {
    const auto nonce = receiving.next();
    const auto length = record.size() - kTag;
    plain.resize(length);
    int size = 0;
    return EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.data()), nonce.data()) == 1 &&
           EVP_DecryptUpdate(context.get(), bytes_of(plain.data()), &size, bytes_of(record.data()),
                             static_cast<int>(length)) == 1 &&
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag), record.data() + length) ==
               1 &&
           EVP_DecryptFinal_ex(context.get(), bytes_of(plain.data()) + size, &size) == 1;
  }

  std::string key;
  Nonce sending;
  Nonce receiving;
  Context context{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
  std::vector<char> arriving;  ///< The record that is being received.
  std::vector<char> plain;     ///< The last record that was opened ...
  std::size_t plain_at = 0;    ///< ... and how much of it was taken.
  /// A record was not opened. `plain` may have bytes of a forged one, and nothing behind it counts.
  bool broken = false;
};

PeerStream::PeerStream(FileDescriptor socket, std::string key, Side side, Traffic& traffic)
    : socket_(std::move(socket)), traffic_(&traffic) {
  if (!key.empty()) cipher_ = std::make_unique<Cipher>(std::move(key), side);
}
PeerStream::PeerStream(PeerStream&&) noexcept = default;
PeerStream::~PeerStream() = default;

Result<void> PeerStream::send(std::string_view bytes) {
  std::vector<char> record;
  while (!bytes.empty()) {
    const auto slice = bytes.substr(0, kSlice);
    bytes.remove_prefix(slice.size());
    traffic_->sending.take(slice.size());
    if (!cipher_) {
      SPARK_CHECK(send_raw(slice.data(), slice.size()));
    } else {
      if (!cipher_->seal(slice, record)) return failure(ErrorCode::kFailed, "a record could not be encrypted");
      SPARK_CHECK(send_raw(record.data(), record.size()));
    }
    traffic_->sent += static_cast<std::int64_t>(slice.size());
  }
  return {};
}

Result<void> PeerStream::receive(char* into, std::size_t size) {
  if (cipher_ && cipher_->broken) return failure(ErrorCode::kVerifyFailed, "the stream ended at a wrong record");
  while (size > 0) {
    std::size_t count = std::min(size, kSlice);
    if (!cipher_) {
      traffic_->receiving.take(count);
      SPARK_CHECK(receive_raw(into, count));
    } else {
      if (cipher_->plain_at == cipher_->plain.size()) {
        cipher_->broken = true;
        SPARK_CHECK(open_record());
        cipher_->broken = false;
      }
      count = std::min(size, cipher_->plain.size() - cipher_->plain_at);
      std::memcpy(into, cipher_->plain.data() + cipher_->plain_at, count);
      cipher_->plain_at += count;
    }
    traffic_->received += static_cast<std::int64_t>(count);
    into += count;
    size -= count;
  }
  return {};
}

Result<void> PeerStream::open_record() {
  std::array<char, kHeader> header{};
  SPARK_CHECK(receive_raw(header.data(), header.size()));
  std::size_t length = 0;
  for (const char byte : header) length = length << 8U | static_cast<std::uint8_t>(byte);
  if (length == 0 || length > kLongestRecord) return failure(ErrorCode::kVerifyFailed, "a record of the wrong length");
  traffic_->receiving.take(length);
  std::vector<char>& record = cipher_->arriving;
  record.resize(length + kTag);
  SPARK_CHECK(receive_raw(record.data(), record.size()));
  if (!cipher_->unseal(record)) return failure(ErrorCode::kVerifyFailed, "a record was changed on its way");
  cipher_->plain_at = 0;
  return {};
}

Result<void> PeerStream::send_raw(const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto count = ::send(socket_.get(), bytes, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return failure(ErrorCode::kUnreachable, std::string("the connection broke: ") + std::strerror(errno));
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> PeerStream::receive_raw(char* into, std::size_t size) {
  while (size > 0) {
    const auto count = ::recv(socket_.get(), into, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return failure(ErrorCode::kUnreachable, std::string("the connection broke: ") + std::strerror(errno));
    if (count == 0) return failure(ErrorCode::kUnreachable, "the other node ended the connection");
    into += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

bool PeerStream::is_connected() const {
  // Unlike a read of no bytes, these events show behind bytes that are not read yet.
  pollfd state{socket_.get(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) <= 0;
}

void PeerStream::shut_down() const { ::shutdown(socket_.get(), SHUT_RDWR); }

bool same_token(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    difference |= static_cast<unsigned>(static_cast<std::uint8_t>(one[i]) ^ static_cast<std::uint8_t>(other[i]));
  }
  return difference == 0;
}

void prepare_socket(int socket) {
  const auto set = [socket](int level, int name, int value) {
    (void)::setsockopt(socket, level, name, &value, sizeof value);
  };
  constexpr int kDeadAfterMs = 15'000;
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kDeadAfterMs);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace sparkplan::copy
