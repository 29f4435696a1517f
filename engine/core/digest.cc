#include "engine/core/digest.h"

#include <sha2.h>

#include <array>
#include <cstdint>

#include "engine/core/json.h"

namespace sparkplan {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t kNoSextet = 64;

/// The value of each base64 character. A table, because the host keys of all nodes are decoded for every node.
constexpr std::array<std::uint8_t, 256> kSextets = [] {
  std::array<std::uint8_t, 256> sextets{};
  sextets.fill(kNoSextet);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    sextets[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return sextets;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t index) {
  return index < bytes.size() ? static_cast<std::uint8_t>(bytes[index]) : 0U;
}

/// Decodes a group of four characters, the last `padding` of them '=', into 3 - `padding` bytes. False for groups that
/// no encoder writes. That includes bits set below the last byte: otherwise two texts would decode to the same bytes.
bool decode_group(const char* group, std::size_t padding, char* out) {
  std::uint32_t bits = 0;
  std::uint8_t all = 0;
  for (std::size_t i = 0; i < 4 - padding; ++i) {
    const std::uint8_t value = kSextets[static_cast<std::uint8_t>(group[i])];
    all |= value;
    bits |= static_cast<std::uint32_t>(value) << (18U - 6U * i);
  }
  if ((all & kNoSextet) != 0) return false;
  const std::size_t count = 3 - padding;
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<char>(bits >> (16U - 8U * i) & 0xFFU);
  return padding == 0 || (bits & ((1U << (8U * padding)) - 1U)) == 0;
}

void add_to(SHA2_CTX& context, std::string_view bytes) {
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string finished_sum(SHA2_CTX& context) {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> sum{};
  SHA256Final(sum.data(), &context);
  return hexadecimal({reinterpret_cast<const char*>(sum.data()), sum.size()});
}

}  // namespace

std::string hexadecimal(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  SHA2_CTX context;
  SHA256Init(&context);
  add_to(context, bytes);
  return finished_sum(context);
}

bool is_sha256(std::string_view text) {
  return text.size() == std::size_t{2} * SHA256_DIGEST_LENGTH &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string digest(const Value& value) {
  SHA2_CTX context;
  SHA256Init(&context);
  canonical_json(value, [&](std::string_view piece) { add_to(context, piece); });
  return finished_sum(context);
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t bits = byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    text += kAlphabet[bits >> 18U & 63U];
    text += kAlphabet[bits >> 12U & 63U];
    text += i + 1 < bytes.size() ? kAlphabet[bits >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[bits & 63U] : '=';
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t padding = 0;
    if (last && text.ends_with('=')) padding = text.ends_with("==") ? 2 : 1;
    if (!decode_group(&text[i], padding, &bytes[length])) return std::nullopt;
    length += 3 - padding;
  }
  bytes.resize(length);
  return bytes;
}

}  // namespace sparkplan
