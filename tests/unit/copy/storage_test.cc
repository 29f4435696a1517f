#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/copy_session.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/file_bytes.h"
#include "engine/copy/journal.h"
#include "engine/copy/look.h"
#include "engine/copy/rate_limit.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

using test::write_file;

}  // namespace

TEST_CASE("copy: a digest is the SHA-256") {
  const std::string text = "abc";
  const auto digest = digest_of(text.data(), text.size());
  CHECK(hex(digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest_from_hex(hex(digest)) == digest);
  CHECK_FALSE(is_known(digest_from_hex("zz")));
  CHECK(sum_of({digest, Digest{}}).empty());
}

TEST_CASE("copy: no link below the tree is followed") {
  const test::ScratchDirectory folder;
  fs::create_directories(folder.path() / "tree/sub");
  write_file(folder.path() / "outside", "secret");
  fs::create_symlink(folder.path() / "outside", folder.path() / "tree/link");
  fs::create_directory_symlink(folder.path(), folder.path() / "tree/way");
  const auto tree = Tree::open((folder.path() / "tree").string());
  REQUIRE(tree);
  CHECK_FALSE(tree->open_file("link", O_RDONLY));
  CHECK_FALSE(tree->open_file("way/outside", O_RDONLY));
  CHECK_FALSE(tree->open_file("../outside", O_RDONLY));
  CHECK_FALSE(tree->make_directory("way/new"));
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  const auto listed = tree->list();
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == ErrorCode::kRefused);
}

TEST_CASE("copy: a FIFO is refused, and a name with a newline is listed") {
  const test::ScratchDirectory folder;
  write_file(folder.path() / "a\nb", "text");
  const auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  const auto listed = tree->list();
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().entry.path == "a\nb");
  REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
  CHECK_FALSE(tree->list());
}

TEST_CASE(
    "copy: a FIFO in the place of a listed file, an unfinished one, the journal or the index keeps no one waiting") {
  const test::ScratchDirectory folder;
  write_file(folder.path() / "file", "text");
  const auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  REQUIRE(tree->list());
  fs::remove(folder.path() / "file");
  REQUIRE(::mkfifo((folder.path() / "file").c_str(), 0600) == 0);
  const auto opened = tree->open_file("file", O_RDONLY);
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::kRefused);
  REQUIRE(::mkfifo((folder.path() / "journal").c_str(), 0600) == 0);
  Journal journal;
  const auto begun = journal.open(tree->root());
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == ErrorCode::kRefused);
  const fs::path index = fs::path(state_directory()) / (sha256(folder.path().string()).substr(0, 32) + ".index");
  fs::create_directories(index.parent_path());
  REQUIRE(::mkfifo(index.c_str(), 0600) == 0);
  CHECK(DigestIndex::open(folder.path().string(), false));
  CHECK_FALSE(DigestIndex::open(folder.path().string(), true));
  fs::remove(index);
}

TEST_CASE("copy: an unfinished file that is another file's name is not written") {
  const test::ScratchDirectory folder;
  fs::create_directories(folder.path() / "tree" / kPartialFolder);
  fs::permissions(folder.path() / "tree" / kPartialFolder, fs::perms::owner_all);
  write_file(folder.path() / "victim", "secret");
  const std::string partial = sha256(std::string("file") + '\0' + "3").substr(0, 32);
  fs::create_hard_link(folder.path() / "victim", folder.path() / "tree" / kPartialFolder / partial);
  auto tree = Tree::open((folder.path() / "tree").string());
  auto index = DigestIndex::open((folder.path() / "tree").string(), false);
  REQUIRE((tree && index));
  std::vector<CopyEntry> entries(1);
  entries[0].path = "file";
  entries[0].size = 3;
  test::give_to_this_user(entries[0]);
  entries[0].digests = packed({digest_of("abc", 3)});
  Content content(*tree, *index);
  REQUIRE(content.expect(entries));
  const auto begun = content.begin(CopyBegin{false, true});
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == ErrorCode::kRefused);
  CHECK(fs::file_size(folder.path() / "victim") == 6);
}

TEST_CASE("copy: a file with other names keeps its mode, also if its content is the declared one") {
  const test::ScratchDirectory folder;
  const fs::path victim = folder.path() / "victim";
  const fs::path linked = folder.path() / "tree/file";
  fs::create_directories(folder.path() / "tree");
  write_file(victim, "abc");
  fs::permissions(victim, fs::perms(0600));
  fs::create_hard_link(victim, linked);
  auto tree = Tree::open((folder.path() / "tree").string());
  REQUIRE(tree);
  auto index = DigestIndex::open((folder.path() / "tree").string(), false);
  REQUIRE(index);
  const auto status = tree->status_of("file");
  REQUIRE(status);
  const Digest digest = digest_of("abc", 3);
  const auto receive = [&](int mode, bool replace) {
    index->add("file", stamp_of(*status), {digest}, DigestIndex::Came::kEqual);
    std::vector<CopyEntry> entries(1);
    entries[0].path = "file";
    entries[0].size = 3;
    entries[0].mode = mode;
    entries[0].digests = packed({digest});
    Account own;
    own.user = status->st_uid;
    own.group = status->st_gid;
    Content content(*tree, *index, own);
    REQUIRE(content.expect(entries));
    auto begun = content.begin(CopyBegin{false, replace});
    content.stop();
    return begun;
  };
  const auto refused = receive(0644, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("other names") != std::string::npos);
  CHECK(receive(0644, true));
  CHECK(fs::status(victim).permissions() == fs::perms(0600));
  const auto in_place = receive(0600, false);
  REQUIRE(in_place);
  CHECK(in_place->needed_bytes == 0);
}

TEST_CASE("copy: of a folder in the place of the unfinished files, only their names are removed") {
  const test::ScratchDirectory folder;
  const fs::path partial = folder.path() / kPartialFolder;
  fs::create_directories(partial);
  const std::string unfinished = sha256("file").substr(0, 32);
  for (const std::string& name : {unfinished, std::string("journal"), std::string("precious")}) {
    write_file(partial / name, "text");
  }
  const auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  tree->remove_partial_folder();
  CHECK(fs::exists(partial / "precious"));
  CHECK_FALSE(fs::exists(partial / "journal"));
  CHECK_FALSE(fs::exists(partial / unfinished));
  fs::remove(partial / "precious");
  tree->remove_partial_folder();
  CHECK_FALSE(fs::exists(partial));
}

TEST_CASE("copy: a directory that is moved to the name of a new one keeps its owner") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root gives directories away");
    return;
  }
  constexpr uid_t kUser = 12'345;
  const test::ScratchDirectory folder;
  const fs::path victim = folder.path() / "victim";
  const fs::path name = folder.path() / "new";
  fs::create_directories(victim / "content");
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, victim.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0;
  };
  const auto owner_of = [](const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_uid;
  };
  // Most exchanges come after the new directory was opened. The test needs one that came before.
  bool is_met = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_met && std::chrono::steady_clock::now() < end) {
    std::atomic<bool> waits = false;
    std::atomic<bool> ends = false;
    std::thread mover([&] {
      waits = true;
      while (!ends && !exchange()) continue;
    });
    while (!waits) continue;
    const bool is_made = Tree::make(name.string(), kUser, kUser).has_value();
    ends = true;
    mover.join();
    const bool is_moved = fs::exists(name / "content");
    REQUIRE(owner_of(is_moved ? name : victim) == 0);
    is_met = is_moved && owner_of(victim) == 0;  // The new directory is at the other name, and not given away.
    if (is_met) CHECK_FALSE(is_made);
    if (is_moved) REQUIRE(exchange());
    REQUIRE(::rmdir(name.c_str()) == 0);
  }
  if (!is_met) WARN("SKIPPED: no directory was moved at the right moment");
}

TEST_CASE("copy: an edit shows in the stamp, also if its time is set back") {
  const test::ScratchDirectory folder;
  const auto path = folder.path() / "file";
  write_file(path, "text");
  struct stat before {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  const timespec times[2] = {before.st_atim, before.st_mtim};  // NOLINT: the call takes an array.
  struct stat after = before;
  // The kernel's clock for files advances in steps of some milliseconds.
  while (after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
    write_file(path, "TEXT");
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    REQUIRE(::stat(path.c_str(), &after) == 0);
  }
  CHECK(stamp_of(after).mtime_ns == stamp_of(before).mtime_ns);
  CHECK(stamp_of(after).size == stamp_of(before).size);
  CHECK(stamp_of(after) != stamp_of(before));
}

TEST_CASE("copy: a record without the time of change is not trusted, and the lines behind it keep their files") {
  const test::ScratchDirectory folder;
  const std::string name = sha256(folder.path().string()).substr(0, 32) + ".index";
  const auto digest = digest_of("abc", 3);
  fs::create_directories(state_directory());
  const auto index_path = fs::path(state_directory()) / name;
  write_file(index_path, "F " + base64_encode("old") + " 3 10 5 received\nC 0 0 " + hex(digest) + "\nF " +
                             base64_encode("new") + " 3 10 20 5 received\nC 1 0 " + hex(digest) + "\n");
  const auto index = DigestIndex::open(folder.path().string(), false);
  fs::remove(index_path);
  REQUIRE(index);
  CHECK_FALSE(is_known(index->find("old", {3, 10, 0, 5}, 1).front()));
  CHECK(index->find("new", {3, 10, 20, 5}, 1).front() == digest);
  CHECK_FALSE(is_known(index->find("new", {3, 10, 21, 5}, 1).front()));
  CHECK(index->records().size() == 1);
}

TEST_CASE("copy: sparse files of any size are refused together, and one alone sends no digests") {
  const test::ScratchDirectory folder;
  const auto make_sparse = [&](int number) {
    write_file(folder.path() / std::to_string(number), "");
    fs::resize_file(folder.path() / std::to_string(number), kLargestCopyFile);
  };
  make_sparse(0);
  const auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  auto index = DigestIndex::open(folder.path().string(), false);
  REQUIRE(index);
  std::atomic<std::int64_t> read_bytes{0};
  std::vector<CopyEntry> entries;
  const auto keep = [&](const CopyEntries& part) {
    entries.insert(entries.end(), part.entries.begin(), part.entries.end());
  };
  REQUIRE(look(*tree, *index, CopyLook{false, false, true, {}}, read_bytes, keep));
  REQUIRE(entries.size() == 1);
  CHECK(entries.front().digests.empty());
  for (int i = 1; i < 20; ++i) make_sparse(i);
  const auto listed = tree->list();
  REQUIRE_FALSE(listed);
  CHECK(listed.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("copy: an answer that fits into no message is a failure, not silence") {
  int ends[2];  // NOLINT: the call takes an array.
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const FileDescriptor output(ends[0]);
  {
    const FileDescriptor input(ends[1]);
    AnswerWriter answers(input.get());
    CopyEntries entries;
    entries.entries.resize(1);
    entries.entries.front().path = std::string(kMaxFrameBytes, 'a');
    answers.send(entries);
  }
  std::string bytes(1 << 16, '\0');
  const auto count = ::read(output.get(), bytes.data(), bytes.size());
  REQUIRE(count > 0);
  FrameReader reader;
  reader.feed(kPreamble);
  reader.feed({bytes.data(), static_cast<std::size_t>(count)});
  const auto message = reader.next();
  REQUIRE(message);
  REQUIRE(message->has_value());
  const auto answer = decode<CopyAnswer>(**message);
  REQUIRE(answer);
  CHECK(std::holds_alternative<CopyFailure>(*answer));
}

TEST_CASE("copy: a chunk is served while its file moves to its place") {
  const test::ScratchDirectory folder;
  auto tree = Tree::open(folder.path().string());
  REQUIRE(tree);
  auto index = DigestIndex::open(folder.path().string(), false);
  REQUIRE(index);
  std::vector<CopyEntry> entries(2);
  entries[0].path = "never";
  entries[0].size = 3;
  entries[1].path = "placed";
  entries[1].size = 3;
  entries[1].last = true;  // It stays unfinished until the other one is there.
  const auto digest = digest_of("abc", 3);
  for (CopyEntry& entry : entries) {
    entry.digests = packed({digest});
    test::give_to_this_user(entry);
  }
  {
    Content content(*tree, *index);
    REQUIRE(content.expect(entries));
    REQUIRE(content.begin(CopyBegin{false, false}));
    for (auto wanted = content.take_now(); wanted; wanted = content.take_now()) {
      if (wanted->id.file == 0) continue;
      REQUIRE(content.deliver(*wanted, std::make_shared<std::vector<char>>(std::vector<char>{'a', 'b', 'c'})));
    }
  }
  // A second process finds the chunk on the disk and not in its cache.
  Content content(*tree, *index);
  REQUIRE(content.expect(entries));
  REQUIRE(content.begin(CopyBegin{false, false}));
  const std::string partial = sha256(entries[1].path + '\0' + "3").substr(0, 32);
  fs::rename(folder.path() / kPartialFolder / partial, folder.path() / "placed");
  const auto bytes = content.read({1, 0});
  REQUIRE(bytes);
  CHECK(**bytes == std::vector<char>{'a', 'b', 'c'});
}

TEST_CASE("copy: a limit of the rate holds the bytes back") {
  RateLimit limit;
  limit.set(10'000'000);
  const auto begun = RateLimit::Clock::now();
  // A fifth of a second is granted at once.
  for (int i = 0; i < 4; ++i) limit.take(1'000'000);
  CHECK(RateLimit::Clock::now() - begun >= std::chrono::milliseconds(195));
}

TEST_CASE(
    "copy: the journal forgets a file that is made again, a chunk that is replaced, and a line that was cut off") {
  const test::ScratchDirectory folder;
  const FileDescriptor directory(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto digest = digest_of("abc", 3);
  {
    Journal journal;
    REQUIRE(journal.open(directory.get()));
    REQUIRE(journal.add("one", 3, digest));
    REQUIRE(journal.add("two", 4, digest));
    REQUIRE(journal.begin_again("two"));
    REQUIRE(journal.add("one", 4, digest));
    REQUIRE(journal.forget("one", 4));
  }
  std::ofstream(folder.path() / "journal", std::ios::app) << "C one 5 " << hex(digest).substr(0, 20);
  Journal journal;
  REQUIRE(journal.open(directory.get()));
  CHECK(journal.chunks_of_file("one") == Journal::Chunks{{3, digest}});
  CHECK(journal.chunks_of_file("two").empty());
  CHECK_FALSE(journal.of_earlier_boot());
}

TEST_CASE("copy: a writer of an index waits for one that is about to end") {
  const test::ScratchDirectory folder;
  const std::string path = (folder.path() / "tree").string();
  auto opened = DigestIndex::open(path, true);
  REQUIRE(opened);
  auto first = std::make_unique<DigestIndex>(*std::move(opened));
  auto second = std::async(std::launch::async, [&] { return DigestIndex::open(path, true).has_value(); });
  CHECK(second.wait_for(std::chrono::milliseconds(300)) == std::future_status::timeout);
  first.reset();
  CHECK(second.get());
  CHECK(forget_tree(path));
}

}  // namespace sparkplan::copy
