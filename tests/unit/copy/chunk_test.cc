// Chunks in memory, on their way and in an unfinished file.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "engine/copy/address.h"
#include "engine/copy/chunk_buffer.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/chunk_fetcher.h"
#include "engine/copy/chunk_server.h"
#include "engine/copy/command_stream.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/file_bytes.h"
#include "engine/copy/look.h"
#include "engine/copy/peer_stream.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "tests/support/catch.h"
#include "tests/support/no_threads.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

void write_chunk_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Nothing wakes the wait of a receiver but its end.
bool becomes_complete(Content& content) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!content.complete() && !content.error() && std::chrono::steady_clock::now() < end) {
    content.wait(std::chrono::milliseconds(100));
  }
  return content.complete();
}

}  // namespace

TEST_CASE("copy: blocks of zeros stay holes") {
  const test::ScratchDirectory folder;
  const auto path = folder.path() / "sparse";
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::vector<char> bytes(1 << 20, '\0');
  bytes[500'000] = 'x';
  REQUIRE(::ftruncate(file.get(), 1 << 20) == 0);
  REQUIRE(write_without_zeros(file.get(), bytes, 0));
  std::vector<char> again(bytes.size());
  REQUIRE(read_at(file.get(), again, 0));
  CHECK(again == bytes);
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK(status.st_blocks * 512 < 100'000);
}

TEST_CASE("copy: blocks of zeros are holes also where an earlier version has left other bytes") {
  const test::ScratchDirectory folder;
  const FileDescriptor file(::open((folder.path() / "sparse").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(write_at(file.get(), std::vector<char>(1 << 20, 'y'), 0));
  std::vector<char> bytes(1 << 20, '\0');
  bytes[500'000] = 'x';
  REQUIRE(write_without_zeros(file.get(), bytes, 0));
  std::vector<char> again(bytes.size());
  REQUIRE(read_at(file.get(), again, 0));
  CHECK(again == bytes);
}

TEST_CASE("copy: the digest of a part of a file is that of its bytes, and a file that is too short has none") {
  const test::ScratchDirectory folder;
  std::string text(1'000'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 251);
  write_chunk_file(folder.path() / "file", text);
  const FileDescriptor file(::open((folder.path() / "file").c_str(), O_RDONLY | O_CLOEXEC));
  const auto digest = digest_at(file.get(), 700'000, 123'456);
  REQUIRE(digest);
  CHECK(*digest == digest_of(text.data() + 123'456, 700'000));
  CHECK_FALSE(digest_at(file.get(), 700'000, 400'000));
  std::vector<char> bytes(700'000);
  const auto with_bytes = read_with_digest(file.get(), bytes, 123'456);
  REQUIRE(with_bytes);
  CHECK(*with_bytes == *digest);
  CHECK(std::equal(bytes.begin(), bytes.end(), text.begin() + 123'456));
  CHECK_FALSE(read_with_digest(file.get(), bytes, 400'000));
}

TEST_CASE("copy: the memory of a whole chunk is used again") {
  const auto whole = static_cast<std::size_t>(kCopyChunk);
  chunk_buffer(whole)->back() = 'u';
  const auto second = chunk_buffer(whole);
  CHECK(second->back() == 'u');  // New memory would be zero, and could have the same address.
  const auto third = chunk_buffer(whole);
  CHECK(third->data() != second->data());
  CHECK(third->size() == whole);
  CHECK(chunk_buffer(3)->size() == 3);
}

namespace {

constexpr std::int64_t kChunksOfHole = 3;

/// A source of one file that is a hole behind its first byte, and a receiver in the same process.
struct HoleCase {
  HoleCase() {
    write_chunk_file(from / "holes", "x");
    fs::resize_file(from / "holes", static_cast<std::uintmax_t>(kChunksOfHole * kCopyChunk));
    REQUIRE((from_tree && from_index && to_tree && to_index));
    std::vector<CopyEntry> entries;
    std::atomic<std::int64_t> read{0};
    const auto collect = [&](const CopyEntries& part) {
      entries.insert(entries.end(), part.entries.begin(), part.entries.end());
    };
    REQUIRE(look(*from_tree, *from_index, CopyLook{true, false, true, {}}, read, collect));
    REQUIRE(entries.size() == 1);
    REQUIRE(entries[0].sparse);
    source.emplace(*from_tree, *from_index);
    receiver.emplace(*to_tree, *to_index);
    REQUIRE(source->expect(entries));
    REQUIRE(source->begin(CopyBegin{true, false}));
    REQUIRE(receiver->expect(entries));
    REQUIRE(receiver->begin(CopyBegin{false, false}));
    server = ChunkServer::start(CopyServe{1, "127.0.0.1", "127.0.0.1", token, ""}, *source, traffic).value_or(nullptr);
    REQUIRE(server);
  }

  std::unique_ptr<ChunkFetcher> fetch_as(const std::string& own) {
    const CopyFetch command{1, "127.0.0.1", server->port(), own, token, ""};
    return std::make_unique<ChunkFetcher>(command, *receiver, traffic);
  }

  static fs::path made(fs::path path) {
    fs::create_directories(path);
    return path;
  }

  const std::string token = std::string(kCopyTokenBytes, 't');
  test::ScratchDirectory folder;
  const fs::path from = made(folder.path() / "from");
  const fs::path to = made(folder.path() / "to");
  Result<Tree> from_tree = Tree::open(from.string());
  Result<Tree> to_tree = Tree::open(to.string());
  Result<DigestIndex> from_index = DigestIndex::open(from.string(), false);
  Result<DigestIndex> to_index = DigestIndex::open(to.string(), false);
  Traffic traffic;
  std::optional<Content> source;
  std::optional<Content> receiver;
  std::unique_ptr<ChunkServer> server;
};

}  // namespace

TEST_CASE("copy: chunks of a hole arrive as zeros, also in memory that another chunk has used") {
  HoleCase one;
  {
    std::vector<std::shared_ptr<std::vector<char>>> used;
    for (int i = 0; i < 8; ++i) {
      used.push_back(chunk_buffer(static_cast<std::size_t>(kCopyChunk)));
      std::fill(used.back()->begin(), used.back()->end(), 'u');
    }
  }
  const auto fetcher = one.fetch_as("127.0.0.1");
  CHECK(becomes_complete(*one.receiver));
  struct stat status {};
  REQUIRE(::stat((one.to / "holes").c_str(), &status) == 0);
  CHECK(status.st_size == kChunksOfHole * kCopyChunk);
  CHECK(status.st_blocks * 512 < 100'000);
}

TEST_CASE("copy: from another address than the peer's, the right token brings nothing and is not used up") {
  HoleCase one;
  const auto stranger = one.fetch_as("127.0.0.2");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto lost = stranger->lost();
  while (!lost && std::chrono::steady_clock::now() < end) {
    one.receiver->wait(std::chrono::milliseconds(20));
    lost = stranger->lost();
  }
  REQUIRE(lost);
  CHECK(one.receiver->done_bytes() == 0);
  const auto peer = one.fetch_as("127.0.0.1");
  CHECK(becomes_complete(*one.receiver));
}

TEST_CASE("copy: where no thread can start, a link is lost with the reason, and another one brings the file") {
  HoleCase one;
  {
    const test::NoThreads none;
    Traffic traffic;
    const CopyServe command{2, "127.0.0.1", "127.0.0.1", std::string(kCopyTokenBytes, 's'), ""};
    const auto server = ChunkServer::start(command, *one.source, traffic);
    REQUIRE_FALSE(server);
    CHECK(server.error().sys_errno == EAGAIN);
    const auto lost = one.fetch_as("127.0.0.1")->lost();
    REQUIRE(lost);
    CHECK(lost->sys_errno == EAGAIN);
  }
  const auto fetcher = one.fetch_as("127.0.0.1");
  CHECK(becomes_complete(*one.receiver));
}

TEST_CASE("copy: where no thread can start, the first command is that error") {
  const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const test::NoThreads none;
  CommandStream commands(input.get());
  const auto command = commands.next();
  REQUIRE_FALSE(command);
  CHECK(command.error().sys_errno == EAGAIN);
}

TEST_CASE("copy: a server that cannot start a thread for a connection closes it, and goes on") {
  HoleCase one;
  {
    const test::NoThreads none;
    const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval patience{60, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    auto address = socket_address("127.0.0.1", one.server->port());
    REQUIRE(address);
    REQUIRE(::connect(socket.get(), address->get(), address->size) == 0);
    char nothing = 0;
    CHECK(::recv(socket.get(), &nothing, 1, 0) == 0);
  }
  const auto fetcher = one.fetch_as("127.0.0.1");
  CHECK(becomes_complete(*one.receiver));
}

namespace {

/// A receiver of one file with one chunk, "abc".
struct EarlyCase {
  EarlyCase() {
    REQUIRE(tree);
    REQUIRE(index);
    entries[0].path = "file";
    entries[0].size = 3;
    test::give_to_this_user(entries[0]);
  }

  /// A process of the receiver. With `known`, the controller has the digest from the beginning.
  std::unique_ptr<Content> begin(bool known) {
    entries[0].digests = known ? packed({right}) : "";
    auto content = std::make_unique<Content>(*tree, *index);
    REQUIRE(content->expect(entries));
    REQUIRE(content->begin(CopyBegin{false, false}));
    return content;
  }

  /// The controller sends this record when it knows the digest.
  std::string record() const {
    return std::string(8, '\0') + std::string(reinterpret_cast<const char*>(right.data()), right.size());
  }

  test::ScratchDirectory folder;
  Result<Tree> tree = Tree::open(folder.path().string());
  Result<DigestIndex> index = DigestIndex::open(folder.path().string(), false);
  std::vector<CopyEntry> entries{1};
  const std::vector<char> bytes{'a', 'b', 'c'};
  const std::vector<char> wrong{'x', 'y', 'z'};
  const Digest right = digest_of("abc", 3);
};

}  // namespace

TEST_CASE("copy: after a restart of the node, only chunks that the disk has lost are fetched again") {
  EarlyCase one;
  constexpr std::uint32_t kChunks = 6;
  constexpr std::uint32_t kLost = 4;
  const std::vector<char> bytes(static_cast<std::size_t>(kCopyChunk), 'c');
  one.entries[0].size = kChunks * kCopyChunk;
  one.entries[0].digests = packed(std::vector<Digest>(kChunks, digest_of(bytes.data(), bytes.size())));
  {
    Content content(*one.tree, *one.index);
    REQUIRE(content.expect(one.entries));
    REQUIRE(content.begin(CopyBegin{false, false}));
    for (std::uint32_t i = 0; i + 1 < kChunks; ++i) {
      const auto wanted = content.take_now();
      REQUIRE(wanted);
      REQUIRE(content.deliver(*wanted, std::make_shared<std::vector<char>>(bytes)));
    }
  }
  const auto partial = one.folder.path() / kPartialFolder;
  write_chunk_file(partial / "journal",
                   std::regex_replace(text_of(partial / "journal"), std::regex("B [^\n]*"), "B x"));
  const auto name = sha256(one.entries[0].path + '\0' + std::to_string(one.entries[0].size)).substr(0, 32);
  const FileDescriptor file(::open((partial / name).c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::pwrite(file.get(), "x", 1, kLost * kCopyChunk + 7) == 1);
  Content content(*one.tree, *one.index);
  REQUIRE(content.expect(one.entries));
  REQUIRE(content.begin(CopyBegin{false, false}));
  std::vector<std::uint32_t> wanted;
  for (auto next = content.take_now(); next; next = content.take_now()) wanted.push_back(next->id.chunk);
  CHECK(wanted == std::vector<std::uint32_t>{kLost, kChunks - 1});
}

TEST_CASE("copy: a chunk that arrives before its digest is not fetched again after an interruption") {
  EarlyCase one;
  {
    const auto content = one.begin(false);
    const auto wanted = content->take_now();
    REQUIRE(wanted);
    REQUIRE(content->write_early(*wanted, one.bytes, one.right));
  }
  const auto next = one.begin(true);
  CHECK_FALSE(next->take_now());
  const auto read = next->read({0, 0});
  REQUIRE(read);
  CHECK(**read == one.bytes);
}

TEST_CASE("copy: a chunk that has arrived over a lost connection counts once its digest is known") {
  EarlyCase one;
  const auto content = one.begin(false);
  const auto wanted = content->take_now();
  REQUIRE(wanted);
  REQUIRE(content->write_early(*wanted, one.bytes, one.right));
  CHECK_FALSE(content->take_written(*wanted));
  content->give_back(*wanted);
  REQUIRE(content->learn(one.record()));
  const auto again = content->take_now();
  REQUIRE(again);
  CHECK(content->take_written(*again));
  CHECK_FALSE(content->take_now());
  CHECK(content->done_bytes() == 3);
}

TEST_CASE("copy: wrong bytes that arrive before their digest are replaced, by the same process or the next one") {
  EarlyCase one;
  const auto wrong = digest_of(one.wrong.data(), one.wrong.size());
  {
    const auto content = one.begin(false);
    const auto wanted = content->take_now();
    REQUIRE(wanted);
    REQUIRE(content->write_early(*wanted, one.wrong, wrong));
    REQUIRE(content->learn(one.record()));
    CHECK_FALSE(content->deliver(*wanted, std::make_shared<std::vector<char>>(one.wrong), wrong));
    CHECK_FALSE(content->take_written(*wanted));
    content->give_back(*wanted);
  }
  const auto next = one.begin(true);
  const auto wanted = next->take_now();
  REQUIRE(wanted);
  REQUIRE(next->write_early(*wanted, one.wrong, wrong));
  REQUIRE(next->deliver(*wanted, std::make_shared<std::vector<char>>(one.bytes)));
  const auto read = next->read({0, 0});
  REQUIRE(read);
  CHECK(**read == one.bytes);
  CHECK(becomes_complete(*next));
  CHECK(text_of(one.folder.path() / "file") == "abc");
}

}  // namespace sparkplan::copy
