#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/copy/images/tar_headers.h"
#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan::copy {

inline constexpr std::string_view kBlobs = "blobs/sha256/";
inline constexpr const char* kDockerList = "manifest.json";
inline constexpr const char* kOciList = "index.json";
inline constexpr const char* kRepositories = "repositories";
/// Of names in errors, in bytes.
inline constexpr std::size_t kShownName = 100;

/// kUnsupported: "the image's archive WHY".
tl::unexpected<Error> refused_image(const std::string& why);

/// The files of an image's archive by their names: those that docker and podman write, and no others.
class ArchiveFiles {
 public:
  /// Errors: those of tar_entries(), kUnsupported (another name, a name twice, a link that leads to no layer).
  static Result<ArchiveFiles> open(int file);

  bool has(const std::string& name) const { return entries_.contains(name); }
  bool is_link(const std::string& name) const;
  /// The layer that a link leads to. Errors: kUnsupported.
  Result<TarEntry> target_of(const std::string& link) const;
  /// Errors: kUnsupported (there is no such file).
  Result<TarEntry> file(const std::string& name) const;
  /// The content of a list or a configuration. Errors: kUnsupported (missing, above 8 MiB, or above 64 MiB with those
  /// that were read before), kFailed.
  Result<std::string> read(const std::string& name);
  /// As read(). Errors: also kUnsupported (no JSON).
  Result<Value> json(const std::string& name);

 private:
  explicit ArchiveFiles(int file) : file_(file) {}
  Result<void> check_links() const;

  int file_;
  std::int64_t read_bytes_ = 0;
  std::map<std::string, TarEntry> entries_;
};

/// Errors: kUnsupported.
Result<Value> json_from(const std::string& bytes);

}  // namespace sparkplan::copy
