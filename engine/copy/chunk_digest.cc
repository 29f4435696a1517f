#include "engine/copy/chunk_digest.h"

#include <openssl/evp.h>

#include <algorithm>

#include "engine/core/digest.h"

namespace sparkplan::copy {

Digest digest_of(const char* bytes, std::size_t size) {
  Digest digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes, size, digest.data(), &length, EVP_sha256(), nullptr) != 1) return {};
  return digest;
}

ChunkHash::ChunkHash() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  whole_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

void ChunkHash::add(const char* bytes, std::size_t size) {
  whole_ = whole_ && EVP_DigestUpdate(context_.get(), bytes, size) == 1;
}

Digest ChunkHash::take() {
  Digest digest{};
  unsigned length = 0;
  if (!whole_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &length) != 1) return {};
  return digest;
}

std::string hex(const Digest& digest) {
  return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Digest digest_from_hex(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return {};
  const auto value_of = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = value_of(text[2 * i]);
    const int low = value_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

std::string sum_of(const std::vector<Digest>& digests) {
  if (!std::all_of(digests.begin(), digests.end(), is_known)) return "";
  const std::string all = packed(digests);
  return hex(digest_of(all.data(), all.size()));
}

std::string packed(const std::vector<Digest>& digests) {
  std::string bytes;
  bytes.reserve(digests.size() * kCopyDigestBytes);
  for (const Digest& digest : digests) bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return bytes;
}

std::vector<Digest> unpacked(std::string_view bytes, std::int64_t file_size) {
  std::vector<Digest> digests(static_cast<std::size_t>(chunks_of(file_size)));
  if (bytes.size() != digests.size() * kCopyDigestBytes) return digests;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data()) + i * kCopyDigestBytes;
    std::copy(begin, begin + kCopyDigestBytes, digests[i].begin());
  }
  return digests;
}

}  // namespace sparkplan::copy
