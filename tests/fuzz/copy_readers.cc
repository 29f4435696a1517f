#include "tests/fuzz/copy_readers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/images/image_archive.h"
#include "engine/copy/images/image_name.h"
#include "engine/copy/images/image_store.h"
#include "engine/copy/images/layer_headers.h"
#include "engine/copy/images/tar_headers.h"
#include "engine/copy/journal.h"
#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/model/container_image.h"
#include "engine/wire/copy_messages.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

namespace fs = std::filesystem;

/// Of tar. Source: pax(1), "ustar Interchange Format".
constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestName = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kTargetAt = 157;
constexpr std::size_t kMagicAt = 257;
constexpr std::string_view kMagic = "ustar";

const std::string kZeroDigest(2 * kCopyDigestBytes, '0');

/// A file in memory.
FileDescriptor file_with(std::string_view bytes) {
  FileDescriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(file.valid(), "there is no file in memory");
  require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a file is too large");
  return file;
}

/// A directory for the life of the process.
class Folder {
 public:
  Folder() {
    std::error_code none;
    const fs::path memory = "/dev/shm";
    std::string name = ((fs::is_directory(memory, none) ? memory : fs::temp_directory_path()) / "fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "there is no directory to work in");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string octal(std::size_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (auto at = digits; at-- > 0; number /= 8) text[at] = static_cast<char>('0' + number % 8);
  return text;
}

void put_checksum(std::string& bytes, std::size_t header) {
  bytes.replace(header + kChecksumAt, 8, 8, ' ');
  std::size_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(bytes[header + i]);
  bytes.replace(header + kChecksumAt, 7, octal(sum, 6) + '\0');
}

void check_tar(std::string_view bytes) {
  const auto file = file_with(bytes);
  const auto entries = copy::tar_entries(file.get());
  if (!entries) return require_printable(entries.error().describe(), "an error about an archive");
  std::int64_t end = 0;
  for (const copy::TarEntry& entry : *entries) {
    require(entry.size >= 0 && entry.offset >= end + static_cast<std::int64_t>(kBlock),
            "a content begins in another one", entry.name);
    end = entry.offset + entry.size;
    require(end <= static_cast<std::int64_t>(bytes.size()), "a content ends behind its archive", entry.name);
    require(entry.kind == copy::TarEntry::Kind::kFile || entry.size == 0, "what is no file has a content", entry.name);
    require(entry.name.size() <= kLongestName, "a name is longer than its field", entry.name);
  }
}

/// A layer is the same in one piece and in many.
void check_layer(std::string_view bytes) {
  constexpr std::size_t kPiece = 100;
  copy::LayerHeaders whole;
  whole.add(bytes);
  copy::LayerHeaders in_pieces;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) in_pieces.add(bytes.substr(at, kPiece));
  const auto ended = whole.end();
  require(ended.has_value() == in_pieces.end().has_value(), "a layer in pieces is another one");
  if (!ended) require_printable(ended.error().describe(), "an error about a layer");
}

/// An archive, and the digests of its contents.
struct Archive {
  std::string bytes;
  std::vector<std::string> digests;

  /// "@A" is replaced by the first digest, and so on.
  std::string with_digests(std::string_view text) const {
    std::string whole;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto which = i + 1 < text.size() ? static_cast<std::size_t>(text[i + 1]) - 'A' : digests.size();
      if (text[i] == '@' && which < digests.size()) {
        whole += digests[which];
        ++i;
      } else {
        whole += text[i];
      }
    }
    return whole;
  }

  void add(std::string_view place, std::string_view text) {
    constexpr std::string_view kArrow = " -> ";
    const std::string content = with_digests(text);
    digests.push_back(sha256(content));
    const auto arrow = place.find(kArrow);
    const bool is_link = arrow != std::string_view::npos;
    const std::string name = with_digests(place.substr(0, arrow)).substr(0, kLongestName);
    const std::size_t header = bytes.size();
    bytes.resize(header + kBlock, '\0');
    const auto put = [&](std::size_t at, std::string_view field) { bytes.replace(header + at, field.size(), field); };
    put(0, name);
    const bool is_file = !is_link && !name.ends_with('/');
    put(kTypeAt, is_file ? "0" : is_link ? "2" : "5");
    put(kSizeAt, octal(is_file ? content.size() : 0, 11));
    if (is_link) put(kTargetAt, with_digests(place.substr(arrow + kArrow.size())).substr(0, kLongestName));
    put(kMagicAt, kMagic);
    put_checksum(bytes, header);
    if (!is_file) return;
    bytes += content;
    bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
};

Archive archive_of(std::string_view text) {
  Archive archive;
  std::string_view place;
  std::string content;
  for (const auto line : split_lines(text)) {
    if (!line.starts_with("> ")) {
      content += line;
      content += '\n';
      continue;
    }
    if (!place.empty()) archive.add(place, content);
    place = line.substr(2);
    content.clear();
  }
  if (!place.empty()) archive.add(place, content);
  archive.bytes.resize(archive.bytes.size() + 2 * kBlock, '\0');
  return archive;
}

}  // namespace

void read_tar(std::string_view text) {
  check_tar(text);
  check_layer(text);
  std::string repaired(text);
  for (std::size_t at = 0; at + kBlock <= repaired.size(); at += kBlock) {
    if (repaired.compare(at + kMagicAt, kMagic.size(), kMagic) == 0) put_checksum(repaired, at);
  }
  check_tar(repaired);
  check_layer(repaired);
}

void read_image(std::string_view text) {
  Choices choices(text);
  const auto head = split(choices.line(), ' ');
  const Archive archive = archive_of(choices.rest());
  copy::ExpectedImage image{ContainerEngine::kDocker, "local/vllm:1", kZeroDigest};
  if (head.front() == "podman") image.engine = ContainerEngine::kPodman;
  if (head.size() > 1 && is_image_name(head[1])) image.name = std::string(head[1]);
  require(copy::is_same_name(image.engine, image.name, image.name), "a name is not the same as itself", image.name);
  const auto file = file_with(archive.bytes);
  require(!copy::check_archive(file.get(), image), "an archive passes for an image that does not exist");
  const std::string id = head.size() > 2 ? archive.with_digests(head[2]) : "";
  if (!is_sha256(id)) return;
  image.id = id;
  const bool passes = copy::check_archive(file.get(), image).has_value();
  image.packs_layers = true;
  const auto checked = copy::check_archive(file.get(), image);
  if (!checked) require_printable(checked.error().describe(), "an error about the archive of an image");
  require(checked || !passes, "a store that packs layers refuses what another one accepts");
}

void read_image_state(std::string_view text) {
  const auto state = copy::image_state_from(std::string(text));
  if (!state) return require_printable(state.error().describe(), "an error about an image");
  require(is_sha256(state->id) && state->bytes >= 0, "an image has no id", state->id);
}

void read_chunk_journal(std::string_view text) {
  static const Folder folder;
  constexpr std::size_t kChunk = 7;
  const std::string name = "unfinished";
  const copy::Digest digest = copy::digest_of("a", 1);
  std::ofstream(folder.path() / "journal", std::ios::binary | std::ios::trunc) << text;
  const FileDescriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  copy::Journal journal;
  require(journal.open(opened.get()).has_value(), "a journal cannot be opened");
  require(journal.begin_again(name).has_value(), "a journal cannot be written");
  require(journal.chunks_of_file(name).empty(), "a file that begins again has chunks");
  require(journal.confirm().has_value(), "a journal cannot be written");
  require(journal.add(name, kChunk, digest).has_value(), "a journal cannot be written");
  copy::Journal later;
  require(later.open(opened.get()).has_value(), "a journal cannot be opened again");
  require(later.chunks_of_file(name) == copy::Journal::Chunks{{kChunk, digest}}, "a chunk is lost");
  require(!later.of_earlier_boot(), "a confirmed journal is of an earlier boot");
}

void read_digest_index(std::string_view text) {
  const std::string bytes(text);
  const auto names = copy::DigestIndex::of_text(bytes, false);
  auto index = copy::DigestIndex::of_text(bytes, true);
  require(names.links() == index.links() && names.directories() == index.directories(), "the names differ");
  require(names.origin() == index.origin(), "the origins differ");
  for (const auto& [path, record] : names.records()) {
    require(!record.brought || record.received, "a file was brought and not received", path);
    require(index.find(path, record.stamp, 1).size() == 1, "a file has another number of digests", path);
  }
  const copy::Digest digest = copy::digest_of("a", 1);
  const copy::FileStamp stamp{2 * kCopyChunk, 1, 2, 3};
  index.add("file", stamp, 2, 1, digest);
  require(index.find("file", stamp, 2).at(1) == digest, "a digest is lost");
  index.add("file", stamp, {digest, digest}, copy::DigestIndex::Came::kReceived);
  require(index.is_brought("file", stamp) && index.has_brought(), "a file that was brought was not");
  const std::string whole = bytes.substr(0, bytes.size() / kCopyDigestBytes * kCopyDigestBytes);
  const auto chunks = static_cast<std::int64_t>(whole.size() / kCopyDigestBytes);
  require(copy::packed(copy::unpacked(whole, chunks * kCopyChunk)) == whole, "digests change on their way");
}

}  // namespace sparkplan::fuzz
