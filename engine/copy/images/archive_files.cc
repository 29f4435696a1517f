#include "engine/copy/images/archive_files.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/copy/file_bytes.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {
namespace {

/// Of the files that are read here: lists and configurations. containerd has the same bound for a manifest.
constexpr std::int64_t kLargestPart = std::int64_t{8} << 20U;
/// Of all these files of an archive together: they are read without a sign of life.
constexpr std::int64_t kLargestParts = std::int64_t{64} << 20U;
constexpr std::string_view kUp = "../";

/// The files of an image in the forms that docker and podman write. No file lies below a link.
bool is_usual_file(std::string_view name) {
  constexpr std::array<std::string_view, 4> kLists{kDockerList, kOciList, kRepositories, "oci-layout"};
  constexpr std::array<std::string_view, 3> kOfLayer{"layer.tar", "VERSION", "json"};
  if (std::find(kLists.begin(), kLists.end(), name) != kLists.end()) return true;
  if (name.starts_with(kBlobs)) return is_sha256(name.substr(kBlobs.size()));
  const auto digest = name.substr(0, 2 * kCopyDigestBytes);
  const auto rest = name.substr(digest.size());
  if (!is_sha256(digest)) return false;
  if (rest.empty() || rest == ".json" || rest == ".tar") return true;
  return rest.front() == '/' && std::find(kOfLayer.begin(), kOfLayer.end(), rest.substr(1)) != kOfLayer.end();
}

bool is_usual(const TarEntry& entry) {
  std::string_view name = entry.name;
  switch (entry.kind) {
    case TarEntry::Kind::kFile:
      return is_usual_file(name);
    case TarEntry::Kind::kLink:  // A layer that the archive has already.
      return name.ends_with("/layer.tar") && is_usual_file(name);
    case TarEntry::Kind::kDirectory:
      break;
  }
  if (name.ends_with('/')) name.remove_suffix(1);
  return name == "blobs" || name == "blobs/sha256" || is_sha256(name);
}

}  // namespace

tl::unexpected<Error> refused_image(const std::string& why) {
  return failure(ErrorCode::kUnsupported, "the image's archive " + why,
                 "look at the image on the source; another version of the engine may write archives in another way");
}

Result<Value> json_from(const std::string& bytes) {
  auto value = parse_plain_json(bytes);
  if (value) return value;
  return refused_image("has a list that is no JSON: " + value.error().describe());
}

Result<ArchiveFiles> ArchiveFiles::open(int file) {
  ArchiveFiles archive(file);
  SPARK_TRY(auto entries, tar_entries(file));
  for (TarEntry& entry : entries) {
    if (!is_usual(entry)) return refused_image("has the name " + shown_text(entry.name, kShownName));
    std::string name = entry.name;
    if (name.ends_with('/')) name.pop_back();
    if (!archive.entries_.emplace(std::move(name), std::move(entry)).second) return refused_image("has a name twice");
  }
  SPARK_CHECK(archive.check_links());
  return archive;
}

bool ArchiveFiles::is_link(const std::string& name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.kind == TarEntry::Kind::kLink;
}

Result<TarEntry> ArchiveFiles::target_of(const std::string& link) const {
  return file(entries_.at(link).target.substr(kUp.size()));
}

Result<TarEntry> ArchiveFiles::file(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end() && found->second.kind == TarEntry::Kind::kFile) return found->second;
  return refused_image("lacks " + shown_text(name, kShownName));
}

Result<std::string> ArchiveFiles::read(const std::string& name) {
  SPARK_TRY(const TarEntry entry, file(name));
  if (entry.size > kLargestPart) return refused_image("has a list or a configuration above 8 MiB");
  read_bytes_ += entry.size;
  if (read_bytes_ > kLargestParts) return refused_image("has lists and configurations above 64 MiB in all");
  std::vector<char> bytes(static_cast<std::size_t>(entry.size));
  SPARK_CHECK(read_at(file_, bytes, entry.offset));
  return std::string(bytes.begin(), bytes.end());
}

Result<Value> ArchiveFiles::json(const std::string& name) {
  SPARK_TRY(const std::string bytes, read(name));
  return json_from(bytes);
}

/// A link leads to a layer beside its own folder: "../NAME". So no reader looks for it outside the archive.
Result<void> ArchiveFiles::check_links() const {
  for (const auto& [name, entry] : entries_) {
    if (entry.kind != TarEntry::Kind::kLink) continue;
    const auto layer = entry.target.starts_with(kUp) ? entries_.find(entry.target.substr(kUp.size())) : entries_.end();
    const bool is_layer = layer != entries_.end() && layer->second.kind == TarEntry::Kind::kFile;
    if (!is_layer) return refused_image("has a link to " + shown_text(entry.target, kShownName));
  }
  return {};
}

}  // namespace sparkplan::copy
