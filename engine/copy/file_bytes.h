#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/core/bounded_text.h"
#include "engine/core/result.h"

/// Bytes at a place of an open file.
namespace sparkplan::copy {

/// Fills `bytes`. Errors: kFailed, also at the end of the file.
Result<void> read_at(int file, std::vector<char>& bytes, std::int64_t offset);
Result<void> write_at(int file, const std::vector<char>& bytes, std::int64_t offset);
/// Leaves holes in place of blocks of zeros, also where the file has other bytes.
Result<void> write_without_zeros(int file, const std::vector<char>& bytes, std::int64_t offset);
/// Fills `bytes`, and returns their digest. Errors: as read_at().
Result<Digest> read_with_digest(int file, std::vector<char>& bytes, std::int64_t offset);
/// The digest of the bytes in a file. Reads them part by part: each part is still in the processor's cache when it goes
/// into the digest. Errors: as read_at().
Result<Digest> digest_at(int file, std::size_t size, std::int64_t offset);
/// The number of threads that read so many chunks. A reader is as fast as one processor computes digests, and a disk is
/// as fast as several readers.
std::size_t readers_for(std::size_t chunks);
/// The error of an access names the file.
template <class Outcome>
Result<Outcome> of_file(Result<Outcome> outcome, const std::string& path) {
  if (outcome) return outcome;
  return failure(std::move(outcome).error().within(shown_text(path)));
}
/// Waits until the bytes are on the disk.
Result<void> sync_range(int file, std::int64_t offset, std::size_t size);
/// The memory of a page cache is memory that a GPU may need.
void drop_from_cache(int file, std::int64_t offset, std::size_t size);

}  // namespace sparkplan::copy
