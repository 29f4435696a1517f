#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// The SHA-256 of a chunk. All zeros: not known.
using Digest = std::array<std::uint8_t, kCopyDigestBytes>;

/// False for a digest that has not arrived or was not computed.
inline bool is_known(const Digest& digest) { return digest != Digest{}; }

/// Source: FIPS 180-4. Uses the processor's instructions for it.
Digest digest_of(const char* bytes, std::size_t size);

/// As digest_of(), of bytes that arrive one after another: the next ones arrive while these are worked on.
class ChunkHash {
 public:
  ChunkHash();
  void add(const char* bytes, std::size_t size);
  /// All zeros if a part could not be added.
  Digest take();

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool whole_ = false;
};

/// 64 hexadecimal digits, in lower case.
std::string hex(const Digest& digest);
/// The inverse of hex(); a zero digest for other texts.
Digest digest_from_hex(std::string_view text);

/// CopyEntry::sum: over all digests; empty if one is not known.
std::string sum_of(const std::vector<Digest>& digests);

/// CopyEntry::digests, and back. A text of another length gives digests that are not known.
std::string packed(const std::vector<Digest>& digests);
std::vector<Digest> unpacked(std::string_view bytes, std::int64_t file_size);

}  // namespace sparkplan::copy
