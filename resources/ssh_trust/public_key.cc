#include "resources/ssh_trust/public_key.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/core/digest.h"
#include "engine/core/text.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::string_view kEd25519 = "ssh-ed25519";
constexpr std::size_t kEd25519KeyBytes = 32;
constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic("openssh-key-v1\0", 15);
constexpr const char* kMoveItAway = "move it away, and the next apply creates a new one";

/// Takes a big-endian number off the front.
std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = (number << 8U) | static_cast<unsigned char>(byte);
  bytes.remove_prefix(4);
  return number;
}

/// Takes a string, preceded by its length, off the front. Source: RFC 4251, 5.
std::optional<std::string_view> take_string(std::string_view& bytes) {
  const std::optional<std::uint32_t> length = take_number(bytes);
  if (!length || *length > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return text;
}

bool is_key_type(std::string_view type) {
  return !type.empty() && std::ranges::all_of(type, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '@';
  });
}

/// Takes the next word off the front. find_first_of() would call memchr() for every letter of a key.
std::string_view take_word(std::string_view& text) {
  constexpr auto kIsBlank = [](char c) { return c == ' ' || c == '\t'; };
  const auto* const begin = std::ranges::find_if_not(text, kIsBlank);
  const auto* const end = std::find_if(begin, text.end(), kIsBlank);
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  return {begin, end};
}

/// The base64 text between the two lines of dashes, without line breaks.
std::optional<std::string> armoured(std::string_view file) {
  std::string base64;
  bool inside = false;
  for (const std::string_view line : split_lines(file)) {
    const std::string_view text = trim(line);
    if (inside && text == kEnd) return base64;
    if (inside) base64 += text;
    inside = inside || text == kBegin;
  }
  return std::nullopt;
}

/// The words of a line of a .pub file; `blob` is the decoded second word.
struct KeyWords {
  std::string_view type;
  std::string_view base64;
  std::string blob;
};

std::optional<KeyWords> words_of_key(std::string_view line) {
  std::string_view rest = trim(line);
  KeyWords words{take_word(rest), take_word(rest), {}};
  if (!is_key_type(words.type)) return std::nullopt;
  std::optional<std::string> blob = base64_decode(words.base64);
  if (!blob) return std::nullopt;
  words.blob = *std::move(blob);
  std::string_view bytes = words.blob;
  if (take_string(bytes) != words.type) return std::nullopt;
  return words;
}

/// True if `text` is exactly the two words with one blank between them.
bool is_all_of(const KeyWords& words, std::string_view text) {
  return text.size() == words.type.size() + 1 + words.base64.size() && text[words.type.size()] == ' ';
}

tl::unexpected<Error> no_key() {
  return failure(ErrorCode::kRefused, "it does not contain an OpenSSH private key", kMoveItAway);
}

}  // namespace

std::optional<std::string> parse_public_key(std::string_view line) {
  const auto words = words_of_key(line);
  if (!words) return std::nullopt;
  return std::string(words->type) + " " + std::string(words->base64);
}

bool is_public_key(std::string_view text) {
  const auto words = words_of_key(text);
  return words && is_all_of(*words, text);
}

std::string comment_of(std::string_view public_key_line) {
  std::string_view rest = trim(public_key_line);
  take_word(rest);
  take_word(rest);
  return std::string(trim(rest));
}

bool is_ed25519_public_key(std::string_view text) {
  const auto words = words_of_key(text);
  if (!words || !is_all_of(*words, text) || words->type != kEd25519) return false;
  std::string_view bytes = words->blob;
  take_string(bytes);
  const std::optional<std::string_view> key = take_string(bytes);
  return key && key->size() == kEd25519KeyBytes && bytes.empty();
}

Result<std::string> public_part(std::string_view private_key_file) {
  const std::optional<std::string> base64 = armoured(private_key_file);
  const std::optional<std::string> blob = base64 ? base64_decode(*base64) : std::nullopt;
  if (!blob || !blob->starts_with(kMagic)) return no_key();
  std::string_view bytes = std::string_view(*blob).substr(kMagic.size());
  const std::optional<std::string_view> cipher = take_string(bytes);
  const std::optional<std::string_view> derivation = take_string(bytes);
  const std::optional<std::string_view> derivation_options = take_string(bytes);
  const std::optional<std::uint32_t> keys = take_number(bytes);
  const std::optional<std::string_view> key = take_string(bytes);
  if (!cipher || !derivation || !derivation_options || !key || keys != 1U) return no_key();
  if (*cipher != "none") {
    return failure(ErrorCode::kRefused, "it has a passphrase, and logins between nodes cannot enter one", kMoveItAway);
  }
  std::string text = std::string(kEd25519) + " " + base64_encode(*key);
  if (!is_ed25519_public_key(text)) {
    return failure(ErrorCode::kRefused, "its type is not ed25519", kMoveItAway);
  }
  return text;
}

}  // namespace sparkplan::ssh_trust
