// Unfinished files that other users, earlier syncs and a false source have left.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/journal.h"
#include "engine/copy/prune.h"
#include "engine/copy/tree.h"
#include "engine/core/digest.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

using test::read_file;
using test::write_file;

Digest digest_of_text(const std::string& text) { return digest_of(text.data(), text.size()); }

/// A file of one chunk that belongs to this user.
CopyEntry file_with(const std::string& path, const std::string& text) {
  CopyEntry entry;
  entry.path = path;
  entry.size = static_cast<std::int64_t>(text.size());
  test::give_to_this_user(entry);
  entry.digests = packed({digest_of_text(text)});
  return entry;
}

std::string unfinished_name(const CopyEntry& entry) {
  return sha256(entry.path + '\0' + std::to_string(entry.size)).substr(0, 32);
}

/// A tree in a scratch directory, and its record, which no other process sees.
struct Receiver {
  Receiver() : tree(*Tree::open(folder.path().string())), index(*DigestIndex::open(folder.path().string(), false)) {}

  fs::path partial() const { return folder.path() / kPartialFolder; }

  const test::ScratchDirectory folder;
  Tree tree;
  DigestIndex index;
};

/// Gives the transfer the chunks that it asks for.
void deliver_all(Content& content, const std::vector<std::string>& texts) {
  for (auto wanted = content.take_now(); wanted; wanted = content.take_now()) {
    const std::string& text = texts.at(wanted->id.file);
    REQUIRE(content.deliver(*wanted, std::make_shared<std::vector<char>>(text.begin(), text.end())));
  }
}

/// True if the transfer has ended with all files in their places.
bool comes_to_its_end(Content& content) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!content.ended() && std::chrono::steady_clock::now() < end) content.wait(std::chrono::milliseconds(100));
  return content.complete();
}

/// A directory that is to belong to a user other than root.
CopyEntry directory_of_nobody(const std::string& path) {
  const auto nobody = account_named("nobody");
  REQUIRE(nobody);
  CopyEntry entry;
  entry.path = path;
  entry.kind = CopyKind::kDirectory;
  entry.mode = 0755;
  entry.user = nobody->name;
  entry.group = group_name(nobody->group);
  return entry;
}

uid_t owner_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_uid;
}

/// The journal of unfinished files when it was synced.
struct JournalSync {
  std::string text;
  bool is_named = false;  ///< The directory "new" was in the tree.
};
/// Null outside a test of this file.
std::vector<JournalSync>* journal_syncs = nullptr;

void note_sync_of_journal(int descriptor) {
  if (journal_syncs == nullptr) return;
  std::error_code unknown;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unknown);
  if (unknown || path.filename() != "journal") return;
  journal_syncs->push_back({read_file(path), fs::exists(path.parent_path().parent_path() / "new")});
}

bool is_root() {
  if (::geteuid() == 0) return true;
  WARN("SKIPPED: only root gives directories away");
  return false;
}

}  // namespace
}  // namespace sparkplan::copy

/// In place of the function of the C library, in this test program.
extern "C" int fdatasync(int descriptor) {
  sparkplan::copy::note_sync_of_journal(descriptor);
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

namespace sparkplan::copy {

TEST_CASE("copy: the journal has a new directory on the disk before the directory gets its name") {
  if (!is_root()) return;
  Receiver receiver;
  std::vector<JournalSync> syncs;
  journal_syncs = &syncs;
  Content content(receiver.tree, receiver.index);
  const auto expected = content.expect({file_with("file", "abc"), directory_of_nobody("new")});
  const auto begun = content.begin(CopyBegin{false, false});
  journal_syncs = nullptr;
  REQUIRE(expected);
  REQUIRE(begun);
  REQUIRE(syncs.size() == 1);
  CHECK(syncs[0].text.find("\nD ") != std::string::npos);
  CHECK(syncs[0].text.ends_with('\n'));
  CHECK_FALSE(syncs[0].is_named);
  CHECK(fs::exists(receiver.folder.path() / "new"));
}

TEST_CASE("copy prune: a directory that an interrupted sync made, and that stays, gets its owner from the next sync") {
  if (!is_root()) return;
  Receiver receiver;
  const std::vector<CopyEntry> entries{directory_of_nobody("a"), file_with("file", "abc")};
  {
    Content content(receiver.tree, receiver.index);
    REQUIRE(content.expect(entries));
    REQUIRE(content.begin(CopyBegin{false, false}));
  }
  write_file(receiver.folder.path() / "a/own", "mine");
  REQUIRE(fs::exists(receiver.partial() / unfinished_name(entries[1])));
  REQUIRE(prune(receiver.tree, receiver.index, true));
  CHECK(read_file(receiver.folder.path() / "a/own") == "mine");
  CHECK_FALSE(fs::exists(receiver.partial() / unfinished_name(entries[1])));
  Content content(receiver.tree, receiver.index);
  REQUIRE(content.expect(entries));
  REQUIRE(content.begin(CopyBegin{false, false}));
  deliver_all(content, {"", "abc"});
  CHECK(comes_to_its_end(content));
  CHECK(owner_of(receiver.folder.path() / "a") == account_named("nobody")->user);
  CHECK_FALSE(fs::exists(receiver.partial()));
}

TEST_CASE("copy prune: the folder of unfinished files goes when no directory of a sync stays") {
  Receiver receiver;
  {
    Content content(receiver.tree, receiver.index);
    REQUIRE(content.expect({directory_of_nobody("a"), file_with("file", "abc")}));
    REQUIRE(content.begin(CopyBegin{false, false}));
  }
  REQUIRE(fs::exists(receiver.partial()));
  REQUIRE(prune(receiver.tree, receiver.index, true));
  CHECK_FALSE(fs::exists(receiver.folder.path() / "a"));
  CHECK_FALSE(fs::exists(receiver.partial()));
}

TEST_CASE("copy: a directory that no sync has made is not given to its owner on the source, with consent or without") {
  if (!is_root()) return;
  Receiver receiver;
  const fs::path found = receiver.folder.path() / "found";
  fs::create_directory(found);
  fs::permissions(found, fs::perms::owner_all);
  for (const bool replace : {false, true}) {
    Content content(receiver.tree, receiver.index);
    REQUIRE(content.expect({file_with("file", "abc"), directory_of_nobody("found")}));
    const auto begun = content.begin(CopyBegin{false, replace});
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == ErrorCode::kRefused);
    CHECK(begun.error().hint.find("chown") != std::string::npos);
    CHECK(owner_of(found) == 0);
    CHECK(fs::status(found).permissions() == fs::perms::owner_all);
  }
}

TEST_CASE("copy: a directory that is moved to a new one's name during the transfer keeps its owner and its mode") {
  if (!is_root()) return;
  Receiver receiver;
  const fs::path victim = receiver.folder.path() / "victim";
  const fs::path name = receiver.folder.path() / "new";
  fs::create_directory(victim);
  fs::permissions(victim, fs::perms::owner_all);
  Content content(receiver.tree, receiver.index);
  REQUIRE(content.expect({file_with("file", "abc"), directory_of_nobody("new")}));
  REQUIRE(content.begin(CopyBegin{false, false}));
  fs::rename(name, receiver.folder.path() / "moved");
  fs::rename(victim, name);
  deliver_all(content, {"abc"});
  CHECK_FALSE(comes_to_its_end(content));
  REQUIRE(content.error());
  CHECK(content.error()->code == ErrorCode::kRefused);
  CHECK(owner_of(name) == 0);
  CHECK(fs::status(name).permissions() == fs::perms::owner_all);
}

TEST_CASE("copy: the sync after an interrupted one gives the directories that both have made to their owner") {
  if (!is_root()) return;
  Receiver receiver;
  const std::vector<CopyEntry> entries{directory_of_nobody("a"), directory_of_nobody("a/b"), file_with("file", "abc")};
  {
    Content content(receiver.tree, receiver.index);
    REQUIRE(content.expect({entries[0], entries[2]}));
    REQUIRE(content.begin(CopyBegin{false, false}));  // Without the file, the transfer does not end.
  }
  CHECK(owner_of(receiver.folder.path() / "a") == 0);
  Content content(receiver.tree, receiver.index);
  REQUIRE(content.expect(entries));
  REQUIRE(content.begin(CopyBegin{false, false}));
  deliver_all(content, {"", "", "abc"});
  CHECK(comes_to_its_end(content));
  CHECK_FALSE(content.error());
  for (const char* path : {"a", "a/b"}) {
    CHECK(owner_of(receiver.folder.path() / path) == account_named("nobody")->user);
    CHECK(fs::status(receiver.folder.path() / path).permissions() == fs::perms(0755));
  }
  CHECK_FALSE(fs::exists(receiver.partial()));
}

TEST_CASE("copy: the journal knows a directory that an earlier process has made by its inode and its path alone") {
  Receiver receiver;
  fs::create_directories(receiver.folder.path() / "made");
  fs::create_directories(receiver.folder.path() / "other");
  const auto id_of = [&](const char* path) {
    const auto opened = receiver.tree.open_file(path, O_RDONLY | O_DIRECTORY);
    REQUIRE(opened);
    const auto id = Journal::id_of(opened->get());
    REQUIRE(id);
    return *id;
  };
  const auto folder = receiver.tree.open_file(".", O_RDONLY | O_DIRECTORY);
  REQUIRE(folder);
  {
    Journal journal;
    REQUIRE(journal.open(folder->get()));
    REQUIRE(journal.add_directory("made", id_of("made")));
  }
  Journal journal;
  REQUIRE(journal.open(folder->get()));
  CHECK_FALSE(journal.of_earlier_boot());
  CHECK(journal.has_made("made", id_of("made")));
  CHECK_FALSE(journal.has_made("made", id_of("other")));
  CHECK_FALSE(journal.has_made("other", id_of("made")));
}

TEST_CASE("copy: a folder that others can write to is not used for unfinished files, and its journal is not used") {
  Receiver receiver;
  const CopyEntry entry = file_with("file", "abc");
  fs::create_directories(receiver.partial());
  fs::permissions(receiver.partial(), fs::perms::all);
  write_file(receiver.partial() / unfinished_name(entry), "bad");
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  write_file(receiver.partial() / "journal",
             "B " + boot + "\nC " + unfinished_name(entry) + " 0 " + hex(digest_of_text("abc")) + "\n");
  Content content(receiver.tree, receiver.index);
  REQUIRE(content.expect({entry}));
  const auto begun = content.begin(CopyBegin{false, false});
  REQUIRE(begun);
  CHECK(begun->missing_bytes == 3);
  struct stat status {};
  REQUIRE(::stat(receiver.partial().c_str(), &status) == 0);
  CHECK((status.st_mode & 0077U) == 0);
}

TEST_CASE("copy: a folder of unfinished files that has other users' files is refused, and they stay") {
  Receiver receiver;
  fs::create_directories(receiver.partial());
  write_file(receiver.partial() / "precious", "text");
  fs::permissions(receiver.partial(), fs::perms::all);
  Content content(receiver.tree, receiver.index);
  REQUIRE(content.expect({file_with("file", "abc")}));
  const auto begun = content.begin(CopyBegin{false, false});
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == ErrorCode::kRefused);
  CHECK(fs::exists(receiver.partial() / "precious"));
}

TEST_CASE("copy: a path that appears while its file or link is made is replaced only with consent") {
  Receiver receiver;
  const fs::path there = receiver.folder.path() / "there";
  const fs::path made = receiver.folder.path() / "made";
  const auto folder = receiver.tree.open_file(".", O_RDONLY | O_DIRECTORY);
  REQUIRE(folder);
  const auto give = [&](bool replace) { return give_path(folder->get(), "made", receiver.tree, "there", replace); };
  write_file(there, "own");
  SECTION("a file") { write_file(made, "new"); }
  SECTION("a link") { fs::create_symlink("other", made); }
  const auto refused = give(false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  CHECK(read_file(there) == "own");
  CHECK(give(true));
  CHECK_FALSE(fs::is_symlink(made));
  CHECK_FALSE(fs::exists(made));
}

TEST_CASE("copy: what an earlier sync has written does not show where the file has holes now") {
  Receiver receiver;
  const std::string never = "abc";
  const std::string before(8192, 'x');
  const std::string now(8192, '\0');
  const auto expect = [&](Content& content, const std::string& text) {
    auto entry = file_with("sparse", text);
    entry.sparse = true;
    REQUIRE(content.expect({file_with("never", never), entry}));
    REQUIRE(content.begin(CopyBegin{false, false}));
  };
  {
    Content content(receiver.tree, receiver.index);
    expect(content, before);
    REQUIRE(content.take_now());  // Without this file, the transfer does not end.
    deliver_all(content, {never, before});
  }
  REQUIRE(read_file(receiver.partial() / unfinished_name(file_with("sparse", before))) == before);
  Content content(receiver.tree, receiver.index);
  expect(content, now);
  deliver_all(content, {never, now});
  CHECK(comes_to_its_end(content));
  CHECK_FALSE(content.error());
  CHECK(read_file(receiver.folder.path() / "sparse") == now);
}

TEST_CASE("copy: a file with the listed sum is in its place, whatever other digests the source sends") {
  Receiver receiver;
  write_file(receiver.folder.path() / "file", "abc");
  const auto status = receiver.tree.status_of("file");
  REQUIRE(status);
  receiver.index.add("file", stamp_of(*status), {digest_of_text("abc")}, DigestIndex::Came::kEqual);
  for (const std::string& digests : {packed({digest_of_text("other")}), std::string()}) {
    auto entry = file_with("file", "abc");
    entry.sum = sum_of({digest_of_text("abc")});
    entry.digests = digests;
    Content content(receiver.tree, receiver.index);
    REQUIRE(content.expect({entry}));
    const auto begun = content.begin(CopyBegin{false, false});
    REQUIRE(begun);
    CHECK(begun->missing_bytes == 0);
    CHECK(comes_to_its_end(content));
    CHECK(read_file(receiver.folder.path() / "file") == "abc");
  }
}

}  // namespace sparkplan::copy
