#include "engine/core/keyed_digest.h"

#include <sha2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/core/digest.h"

namespace sparkplan {
namespace {

constexpr std::string_view kPrefix = "sparkplan-secret:";
constexpr std::uint8_t kInnerPad = 0x36;
constexpr std::uint8_t kOuterPad = 0x5c;

using Sum = std::array<std::uint8_t, SHA256_DIGEST_LENGTH>;
using Block = std::array<std::uint8_t, SHA256_BLOCK_LENGTH>;

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

Sum sum_of(const Block& key, std::uint8_t pad, const std::uint8_t* bytes, std::size_t size) {
  Block padded{};
  std::transform(key.begin(), key.end(), padded.begin(),
                 [pad](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ pad); });
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, padded.data(), padded.size());
  SHA256Update(&context, bytes, size);
  Sum sum{};
  SHA256Final(sum.data(), &context);
  return sum;
}

Block block_of(std::string_view key) {
  Block block{};
  if (key.size() <= block.size()) {
    std::copy(key.begin(), key.end(), block.begin());
    return block;
  }
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, bytes_of(key), key.size());
  SHA256Final(block.data(), &context);
  return block;
}

}  // namespace

std::string keyed_digest(std::string_view key, std::string_view bytes) {
  const Block block = block_of(key);
  const Sum inner = sum_of(block, kInnerPad, bytes_of(bytes), bytes.size());
  const Sum outer = sum_of(block, kOuterPad, inner.data(), inner.size());
  return hexadecimal({reinterpret_cast<const char*>(outer.data()), outer.size()});
}

std::string secret_token(std::string_view key, std::string_view value) {
  return std::string(kPrefix) + keyed_digest(key, value);
}

bool is_secret_token(std::string_view text) {
  return text == kUnreadSecret || (text.starts_with(kPrefix) && is_sha256(text.substr(kPrefix.size())));
}

bool holds_secret(const Value& value) {
  if (const std::string* text = value.string()) return is_secret_token(*text);
  if (const Value::List* items = value.list_items()) return std::any_of(items->begin(), items->end(), holds_secret);
  const Value::Map* entries = value.entries();
  return entries != nullptr &&
         std::any_of(entries->begin(), entries->end(), [](const MapEntry& entry) { return holds_secret(entry.value); });
}

std::string shown_secret(std::string_view source) {
  return source.empty() ? "(secret)" : "(secret: " + std::string(source) + ")";
}

Value without_secrets(const Value& value, std::string_view source) {
  if (!holds_secret(value)) return value;
  Value shown = value;
  if (value.is_string()) {
    shown = shown_secret(source);
  } else if (Value::List* items = shown.list_items()) {
    for (Value& item : *items) item = without_secrets(item, source);
  } else if (Value::Map* entries = shown.entries()) {
    for (MapEntry& entry : *entries) entry.value = without_secrets(entry.value, source);
  }
  return shown;
}

}  // namespace sparkplan
