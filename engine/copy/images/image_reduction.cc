#include "engine/copy/images/image_reduction.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>

#include "engine/copy/file_bytes.h"
#include "engine/copy/images/tar_headers.h"

namespace sparkplan::copy {
namespace {

constexpr std::int64_t kMovedPiece = std::int64_t{8} << 20U;
constexpr std::chrono::seconds kBetweenSigns{1};

std::int64_t in_blocks(std::int64_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

void put_octal(std::vector<char>& block, std::size_t at, std::size_t digits, std::uint64_t number) {
  for (std::size_t i = digits; i-- > 0; number /= 8) block[at + i] = static_cast<char>('0' + number % 8);
  block[at + digits] = '\0';
}

/// A header with this name and no content. tar_entries() has checked that the name is in this block alone.
/// Source: pax(1), "ustar Interchange Format".
void make_empty(std::vector<char>& header) {
  constexpr std::size_t kSizeAt = 124;
  constexpr std::size_t kSizeDigits = 11;
  constexpr std::size_t kChecksumAt = 148;
  constexpr std::size_t kChecksumDigits = 6;
  put_octal(header, kSizeAt, kSizeDigits, 0);
  std::fill_n(header.begin() + kChecksumAt, kChecksumDigits + 2, ' ');
  std::uint64_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  put_octal(header, kChecksumAt, kChecksumDigits, sum);
}

/// Moves what stays of a file towards its beginning.
class ShorterFile {
 public:
  ShorterFile(int file, const std::function<void()>& sign_of_life) : file_(file), sign_of_life_(sign_of_life) {}

  Result<void> keep(std::int64_t begin, std::int64_t end) {
    std::vector<char> bytes;
    for (std::int64_t at = begin; at < end && begin != size_;) {
      bytes.resize(static_cast<std::size_t>(std::min(kMovedPiece, end - at)));
      SPARK_CHECK(read_at(file_, bytes, at));
      SPARK_CHECK(write_at(file_, bytes, size_ + (at - begin)));
      at += static_cast<std::int64_t>(bytes.size());
      show_life();
    }
    size_ += end - begin;
    return {};
  }

  Result<void> add(const std::vector<char>& bytes) {
    SPARK_CHECK(write_at(file_, bytes, size_));
    size_ += static_cast<std::int64_t>(bytes.size());
    return {};
  }

  Result<void> end() const {
    if (::ftruncate(file_, size_) == 0) return {};
    return failure(system_error("shorten the archive", errno));
  }

 private:
  void show_life() {
    if (!sign_of_life_ || std::chrono::steady_clock::now() < next_) return;
    sign_of_life_();
    next_ = std::chrono::steady_clock::now() + kBetweenSigns;
  }

  int file_;
  const std::function<void()>& sign_of_life_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
  std::int64_t size_ = 0;
};

/// The places of the contents that are not sent.
std::set<std::int64_t> places_to_empty(const std::vector<LayerPlace>& layers, std::size_t count) {
  const auto first_needed = layers.begin() + static_cast<std::ptrdiff_t>(std::min(count, layers.size()));
  std::set<std::string> needed;
  for (auto layer = first_needed; layer != layers.end(); ++layer) needed.insert(layer->digest);
  std::set<std::int64_t> places;
  for (auto layer = layers.begin(); layer != first_needed; ++layer) {
    if (layer->size > 0 && !needed.contains(layer->digest)) places.insert(layer->offset);
  }
  return places;
}

}  // namespace

Result<void> leave_out_layers(int file, const ExpectedImage& image, const std::function<void()>& sign_of_life) {
  SPARK_TRY(const auto layers, layers_in_archive(file, image));
  const auto places = places_to_empty(layers, image.left_out);
  if (places.empty()) return {};
  SPARK_TRY(const auto entries, tar_entries(file));
  ShorterFile shorter(file, sign_of_life);
  std::int64_t at = 0;
  for (const TarEntry& entry : entries) {
    const std::int64_t end = entry.offset + in_blocks(entry.size);
    if (entry.kind == TarEntry::Kind::kFile && places.contains(entry.offset)) {
      std::vector<char> header(static_cast<std::size_t>(kTarBlock));
      SPARK_CHECK(read_at(file, header, entry.offset - kTarBlock));
      make_empty(header);
      SPARK_CHECK(shorter.add(header));
    } else {
      SPARK_CHECK(shorter.keep(at, end));
    }
    at = end;
  }
  SPARK_CHECK(shorter.add(std::vector<char>(static_cast<std::size_t>(2 * kTarBlock))));
  return shorter.end();
}

Result<void> check_left_out(int file, const ExpectedImage& image, const CountKnownLayers& count_known) {
  if (image.left_out == 0) return {};
  SPARK_TRY(const auto layers, layers_in_archive(file, image));
  std::vector<std::string> digests;
  for (const LayerPlace& layer : layers) digests.push_back(layer.digest);
  const std::size_t known = count_known(digests);
  for (std::size_t at = known; at < std::min(image.left_out, layers.size()); ++at) {
    if (layers[at].size > 0) continue;
    return failure(ErrorCode::kVerifyFailed, "the archive lacks the content of a layer that this node does not have",
                   "`sparkplan sync --verify` sends all layers");
  }
  return {};
}

std::size_t shared_layers(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto [end, other_end] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<std::size_t>(end - one.begin());
}

}  // namespace sparkplan::copy
