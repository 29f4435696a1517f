#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/file_bytes.h"
#include "engine/copy/images/archive_files.h"
#include "engine/copy/images/image_archive.h"
#include "engine/copy/images/layer_headers.h"
#include "engine/core/bounded_text.h"

/// The content of the layers in an image's archive.
namespace sparkplan::copy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLayerPiece = std::int64_t{8} << 20U;
constexpr std::chrono::seconds kSignInterval{1};
constexpr std::size_t kShownLayer = 100;
/// Engines keep them beside the files, and podman in its memory. Enough for four million files that each have one.
constexpr std::int64_t kMostExtended = std::int64_t{2} << 30U;

/// Enough for a million files in any order, each in eight directories that have no names of their own.
constexpr std::int64_t kMostImplied = 8'000'000;
/// Of most file systems. An empty file or directory takes a block, and has 512 bytes in a layer.
constexpr std::int64_t kFileSystemBlock = 4096;
constexpr std::int64_t kMostRepeated = std::int64_t{1} << 30U;

/// The space that plain layers take, beside their own bytes.
class UnpackedSize {
 public:
  /// Errors: kUnsupported (too much in all).
  Result<void> add(const LayerPlace& layer, const LayerHeaders& headers) {
    extended_ += headers.extended_bytes();
    implied_ += headers.implied_directories();
    costs_[layer.digest] = layer.size + kFileSystemBlock * (headers.names() + headers.implied_directories());
    if (extended_ > kMostExtended) return refused_image("has more than 2 GiB of extended headers in its layers");
    if (implied_ > kMostImplied) return refused_image("has more than eight million directories that no name states");
    return {};
  }

  /// An engine unpacks a layer as often as the image lists it. Errors: kUnsupported.
  Result<void> check_repeats(const std::vector<std::string>& unpacked) const {
    std::set<std::string> seen;
    std::int64_t once = 0;
    std::int64_t again = 0;
    for (const std::string& digest : unpacked) {
      const auto cost = costs_.find(digest);
      if (cost == costs_.end()) continue;  // Left out: the engine has it.
      (seen.insert(digest).second ? once : again) += cost->second;
    }
    if (again - kMostRepeated <= once) return {};
    return refused_image("lists its layers again and again, and would unpack to many times its size");
  }

 private:
  std::map<std::string, std::int64_t> costs_;  ///< By the digests.
  std::int64_t extended_ = 0;
  std::int64_t implied_ = 0;
};

/// Reads layer after layer.
class LayerReader {
 public:
  LayerReader(int file, const std::function<void()>& sign_of_life) : file_(file), sign_of_life_(sign_of_life) {}

  /// `headers` receives the content.
  Result<std::string> digest_of(const LayerPlace& layer, LayerHeaders& headers) {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    bool good = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
    std::vector<char> bytes;
    for (std::int64_t at = 0; good && at < layer.size; at += kLayerPiece) {
      bytes.resize(static_cast<std::size_t>(std::min(kLayerPiece, layer.size - at)));
      SPARK_CHECK(read_at(file_, bytes, layer.offset + at));
      good = EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
      headers.add(std::string_view(bytes.data(), bytes.size()));
      show_life();
    }
    Digest digest{};
    if (good && EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1) return hex(digest);
    return failure(ErrorCode::kFailed, "the digest of a layer could not be computed");
  }

 private:
  void show_life() {
    if (!sign_of_life_ || Clock::now() < next_) return;
    sign_of_life_();
    next_ = Clock::now() + kSignInterval;
  }

  int file_;
  const std::function<void()>& sign_of_life_;
  Clock::time_point next_ = Clock::now();
};

}  // namespace

Result<void> check_layers(int file, const std::vector<LayerPlace>& layers, const std::vector<std::string>& unpacked,
                          LayerForm form, const std::function<void()>& sign_of_life) {
  LayerReader reader(file, sign_of_life);
  UnpackedSize size;
  std::set<std::pair<std::int64_t, std::string>> checked;
  for (const LayerPlace& layer : layers) {
    if (!checked.emplace(layer.offset, layer.digest).second) continue;
    const std::string name = "the layer " + shown_text(layer.name, kShownLayer);
    LayerHeaders headers;
    SPARK_TRY(const std::string digest, reader.digest_of(layer, headers));
    if (digest != layer.digest) {
      return failure(ErrorCode::kVerifyFailed,
                     name + " of the archive has other content than the image's configuration names",
                     "nothing was loaded; look at the image on the source");
    }
    if (form == LayerForm::kPacked) continue;
    if (auto plain = headers.end(); !plain) return failure(std::move(plain).error().within(name));
    SPARK_CHECK(size.add(layer, headers));
  }
  return size.check_repeats(unpacked);
}

}  // namespace sparkplan::copy
