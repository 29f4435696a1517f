#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/result.h"

/// Bytes at a place of an open file.
namespace sparkplan::copy {

/// Fills `bytes`. Errors: kFailed, also at the end of the file.
Result<void> read_at(int file, std::vector<char>& bytes, std::int64_t offset);
Result<void> write_at(int file, const std::vector<char>& bytes, std::int64_t offset);
/// Leaves holes in place of blocks of zeros. The file has holes there already.
Result<void> write_without_zeros(int file, const std::vector<char>& bytes, std::int64_t offset);
/// The error of an access names the file.
Result<void> of_file(Result<void> outcome, const std::string& path);
/// Waits until the bytes are on the disk.
Result<void> sync_range(int file, std::int64_t offset, std::size_t size);
/// The memory of a page cache is memory that a GPU may need.
void drop_from_cache(int file, std::int64_t offset, std::size_t size);

}  // namespace sparkplan::copy
