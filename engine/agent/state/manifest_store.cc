#include "engine/agent/state/manifest_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/agent/node/file_io.h"
#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/roster_text.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

std::filesystem::path manifest_path() { return std::filesystem::path(kStateDirectory) / "manifest.json"; }

constexpr std::size_t kMaxManifestBytes = std::size_t{8} << 20;

Result<std::optional<std::string>> read_text(const NodeReader& node) {
  return if_there(node.read_file(manifest_path(), kMaxManifestBytes));
}

Result<std::optional<Manifest>> manifest_in(const std::optional<std::string>& text) {
  if (!text) return std::optional<Manifest>();
  auto value = decode_json(*text);
  if (!value) return failure(std::move(value).error().within(manifest_path().string()));
  auto manifest = decode_manifest(*value);
  if (!manifest) return failure(std::move(manifest).error().within(manifest_path().string()));
  return std::optional<Manifest>(std::move(*manifest));
}

}  // namespace

Result<std::optional<Manifest>> read_manifest(const NodeReader& node) {
  SPARK_TRY(const auto text, read_text(node));
  return manifest_in(text);
}

Result<OfferedManifest> read_manifest(const NodeReader& node, const std::vector<std::string>& offered) {
  SPARK_TRY(auto text, read_text(node));
  OfferedManifest found;
  if (text && !offered.empty()) {
    if (const auto roster = find_roster_text(*text)) {
      auto own = sha256(without_blanks(std::string_view(*text).substr(roster->begin, roster->size)));
      if (std::find(offered.begin(), offered.end(), own) != offered.end()) {
        found.known_roster = std::move(own);
        text->replace(roster->begin, roster->size, "{}");
      }
    }
  }
  SPARK_TRY(found.manifest, manifest_in(text));
  return found;
}

Result<void> write_manifest(const Manifest& manifest, LocalNode& node) {
  const auto text = encode_json(encode(manifest), 1) + "\n";
  // The manifest is sent with the facts, in one frame.
  if (text.size() > kMaxManifestBytes) {
    return failure(ErrorCode::kUnsupported, "the originals of the managed artifacts are too large to store");
  }
  return node.write_file(manifest_path(), private_file(text));
}

Result<std::filesystem::path> set_manifest_aside(LocalNode& node) {
  const std::filesystem::path aside = manifest_path().string() + ".damaged-" + utc_now();
  SPARK_CHECK(node.rename(manifest_path(), aside));
  return aside;
}

void remove_unfinished_files(LocalNode& node) {
  std::vector<std::filesystem::path> files{manifest_path()};
  if (const auto manifest = read_manifest(node); manifest && *manifest) {
    for (const auto& [id, artifact] : (*manifest)->artifacts)
      if (is_text_artifact(id)) files.emplace_back(id.name);
  }
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    for (const auto& unfinished : {file.parent_path() / temporary_name(name), file.parent_path() / trial_name(name)}) {
      // A remaining file does no harm: the next run removes it.
      if (node.status(unfinished)) (void)node.remove_file(unfinished);
    }
  }
}

Result<void> prepare_state_directory(LocalNode& node) { return node.make_directories(kStateDirectory, 0700); }

}  // namespace sparkplan
