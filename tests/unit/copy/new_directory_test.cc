// The declared directory itself, which is no entry of its tree.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/look.h"
#include "engine/copy/tree.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/copy/files.h"

namespace sparkplan::copy {
namespace {

namespace fs = std::filesystem;

using test::status_of_path;

int mode_of(const fs::path& path) { return static_cast<int>(status_of_path(path).st_mode & 07777U); }

/// A receiver of one file, "abc", whose directory a sync has made.
struct MadeDirectory {
  MadeDirectory() {
    fs::create_directory(path);
    fs::permissions(path, fs::perms(0755));
    tree.emplace(*Tree::open(path.string()));
    index.set_origin({path.string(), "", true});
    entries[0].path = "file";
    entries[0].size = 3;
    test::give_to_this_user(entries[0]);
    entries[0].digests = packed({digest_of("abc", 3)});
    command.root = CopyRoot{0550, 1'000'000'000, entries[0].user, entries[0].group};
  }

  std::unique_ptr<Content> begin() {
    auto content = std::make_unique<Content>(*tree, index);
    REQUIRE(content->expect(entries));
    REQUIRE(content->begin(command));
    return content;
  }
  void receive() {
    const auto content = begin();
    for (auto wanted = content->take_now(); wanted; wanted = content->take_now()) {
      const std::vector<char> bytes{'a', 'b', 'c'};
      REQUIRE(content->deliver(*wanted, std::make_shared<std::vector<char>>(bytes)));
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!content->ended() && std::chrono::steady_clock::now() < end) content->wait(std::chrono::milliseconds(100));
    REQUIRE(content->complete());
  }

  const test::ScratchDirectory folder;
  const fs::path path = folder.path() / "made";
  std::optional<Tree> tree;
  DigestIndex index = *DigestIndex::open(path.string(), false);
  std::vector<CopyEntry> entries{1};
  CopyBegin command;
};

}  // namespace

TEST_CASE("copy: a look reports the mode, owner and time of the directory itself") {
  MadeDirectory one;
  fs::permissions(one.path, fs::perms(0710));
  std::atomic<std::int64_t> read{0};
  const auto looked = look(*one.tree, one.index, CopyLook{}, read, [](const CopyEntries&) {});
  REQUIRE(looked);
  REQUIRE(looked->root);
  CHECK(looked->root->mode == 0710);
  CHECK(looked->root->user == user_name(::geteuid()));
  CHECK(looked->root->mtime_ns == stamp_of(status_of_path(one.path)).mtime_ns);
}

TEST_CASE("copy: a directory that a sync has made gets the rights of the source's, also after an interruption") {
  MadeDirectory one;
  (void)one.begin();
  // No other user enters it meanwhile. The owner can still write.
  CHECK(mode_of(one.path) == 0750);
  one.receive();
  CHECK(mode_of(one.path) == 0550);
  CHECK(status_of_path(one.path).st_mtim.tv_sec == 1);
  CHECK(fs::exists(one.path / "file"));
  fs::permissions(one.path, fs::perms::owner_all);
}

TEST_CASE("copy: a directory that no sync has made, or that has content, keeps its mode") {
  MadeDirectory one;
  SECTION("not made") {
    auto index = DigestIndex::open(one.path.string(), false);
    REQUIRE(index);
    index->set_origin({one.path.string(), "", false});
    Content content(*one.tree, *index);
    REQUIRE(content.expect(one.entries));
    REQUIRE(content.begin(one.command));
  }
  SECTION("not empty") {
    std::ofstream(one.path / "own") << "text";
    one.receive();
  }
  CHECK(mode_of(one.path) == 0755);
}

TEST_CASE("copy: a directory that a sync has made belongs to its owner on the source") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root gives directories away");
    return;
  }
  const auto nobody = account_named("nobody");
  REQUIRE(nobody);
  MadeDirectory one;
  one.command.root->user = nobody->name;
  one.command.root->group = group_name(nobody->group);
  one.receive();
  CHECK(status_of_path(one.path).st_uid == nobody->user);
  CHECK(status_of_path(one.path).st_gid == nobody->group);
}

TEST_CASE("copy: a directory's owner that the node lacks is an error before anything is received, if a sync made it") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root gives directories away");
    return;
  }
  MadeDirectory one;
  const auto begins_with_unknown_owner = [&] {
    CopyBegin command = one.command;
    command.root->user = "no-such-user";
    Content content(*one.tree, one.index);
    REQUIRE(content.expect(one.entries));
    return content.begin(command);
  };
  SECTION("a sync made it and was interrupted") {
    (void)one.begin();
    const auto begun = begins_with_unknown_owner();
    REQUIRE_FALSE(begun);
    CHECK(begun.error().code == ErrorCode::kNotFound);
  }
  SECTION("another user's directory keeps its owner") {
    std::ofstream(one.path / "own") << "text";
    CHECK(begins_with_unknown_owner());
  }
}

}  // namespace sparkplan::copy
