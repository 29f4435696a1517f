#include "engine/core/digest.h"

#include <sha2.h>

#include <array>
#include <cstdint>

#include "engine/core/json.h"

namespace sparkplan {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::uint32_t> sextet(char c) {
  const auto place = kAlphabet.find(c);
  if (place == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(place);
}

std::uint32_t byte_at(std::string_view bytes, std::size_t index) {
  return index < bytes.size() ? static_cast<std::uint8_t>(bytes[index]) : 0U;
}

// A group of four characters, of which the last `padding` are '='. False for what no encoder writes,
// including bits set below the last byte: else two texts would stand for the same bytes.
bool decode_group(std::string_view group, std::size_t padding, std::string& out) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint32_t value = 0;
    if (i < 4 - padding) {
      const auto digit = sextet(group[i]);
      if (!digit) return false;
      value = *digit;
    }
    bits = (bits << 6U) | value;
  }
  const std::size_t count = 3 - padding;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto byte = static_cast<std::uint8_t>(bits >> (16U - 8U * i));
    if (i < count) {
      out += static_cast<char>(byte);
    } else if (byte != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> sum{};
  SHA256Final(sum.data(), &context);
  std::string text;
  for (const std::uint8_t byte : sum) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

std::string digest(const Value& value) { return sha256(canonical_json(value)); }

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
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const auto group = text.substr(i, 4);
    const bool last = i + 4 == text.size();
    std::size_t padding = 0;
    if (last && group.ends_with("==")) {
      padding = 2;
    } else if (last && group.ends_with('=')) {
      padding = 1;
    }
    if (!decode_group(group, padding, bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace sparkplan
