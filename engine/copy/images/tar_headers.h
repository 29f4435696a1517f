#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/copy/images/tar_fields.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// One name in a tar archive.
struct TarEntry {
  enum class Kind : std::uint8_t { kFile, kDirectory, kLink };

  std::string name;
  Kind kind = Kind::kFile;
  std::int64_t size = 0;    ///< Of a file.
  std::int64_t offset = 0;  ///< Of its content in the archive.
  std::string target = {};  ///< Of a link.
};

/// The names in the archive that the file contains, in their order. Reads headers only. It accepts what container
/// engines write, so that no other reader finds other names or other content there: files, directories and symbolic
/// links with names in their own headers.
/// Errors: kUnsupported (any other archive), kFailed (the file cannot be read).
Result<std::vector<TarEntry>> tar_entries(int file);

}  // namespace sparkplan::copy
