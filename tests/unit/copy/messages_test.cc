#include "engine/wire/copy_messages.h"

#include <climits>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("copy: a path below a tree has no way out of it") {
  for (const std::string path : {"a", "a/b", "a\nb", "..a", "a/...", "blobs/0123"}) CHECK(is_path_below_tree(path));
  for (const std::string path : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a/./b", "\xff"}) {
    INFO(path);
    CHECK_FALSE(is_path_below_tree(path));
  }
  CHECK_FALSE(is_path_below_tree(std::string("a\0b", 3)));
  CHECK_FALSE(is_path_below_tree(".sparkplan-partial/journal"));
}

TEST_CASE("copy: a path or a link's target that the kernel could not make is refused where it arrives") {
  const auto text_of = [](std::size_t length) {
    std::string text;
    while (text.size() < length) text += "a/";
    text.resize(length, 'a');
    text.back() = 'a';
    return text;
  };
  constexpr std::size_t kLongest = PATH_MAX - 1;
  CHECK(is_path_below_tree(text_of(kLongest)));
  CHECK_FALSE(is_path_below_tree(text_of(kLongest + 1)));
  CopyEntries listed;
  listed.entries.resize(1);
  listed.entries[0].path = "a";
  listed.entries[0].kind = CopyKind::kLink;
  listed.entries[0].target = text_of(kLongest);
  CHECK(decode<CopyAnswer>(encode(CopyAnswer(listed))));
  listed.entries[0].target = text_of(kLongest + 1);
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(listed))));
}

TEST_CASE("copy: files of the hub's tools are those beside the blobs, and no others") {
  for (const char* path : {"blobs/x.lock", "blobs/x.incomplete"}) CHECK(is_transient_blob(path));
  for (const char* path : {"blobs/x", "x.lock", "refs/x.lock", "blobs/a/x.lock", "a/blobs/x.lock"}) {
    CHECK_FALSE(is_transient_blob(path));
  }
}

TEST_CASE("copy: a link may lead anywhere in its tree and nowhere else") {
  CHECK(stays_in_tree("snapshots/1/file", "../../blobs/2"));
  CHECK(stays_in_tree("a/b", ".././c"));
  CHECK_FALSE(stays_in_tree("a", "../b"));
  CHECK_FALSE(stays_in_tree("a/b", "../../c"));
  CHECK_FALSE(stays_in_tree("a", "b/../../c"));
  CHECK_FALSE(stays_in_tree("a", "/etc/passwd"));
  CHECK_FALSE(stays_in_tree("a", ""));
}

TEST_CASE("copy: no chain of links leads out of the tree") {
  // With a/b/s -> ../.. the target s/../x is beside the tree, although it reads as a/b/x.
  CHECK(stays_in_tree("a/b/s", "../.."));
  CHECK_FALSE(stays_in_tree("a/b/t", "s/../../../etc/passwd"));
  CHECK_FALSE(stays_in_tree("a", "b/../c"));
}

TEST_CASE("copy: an entry that leaves its tree is refused, from a node and from the controller") {
  CopyExpect expect;
  expect.entries.resize(1);
  expect.entries[0].path = "../outside";
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(expect))));
  expect.entries[0].path = "inside";
  CHECK(decode<CopyCommand>(encode(CopyCommand(expect))));
  expect.entries[0].kind = CopyKind::kLink;
  expect.entries[0].target = "/etc/shadow";
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(expect))));
}

TEST_CASE("copy: setuid bits, sizes of directories, wrong numbers of digests and broken tokens are refused") {
  CopyEntries entries;
  entries.entries.resize(1);
  entries.entries[0].path = "a";
  entries.entries[0].mode = 04755;
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(entries))));
  entries.entries[0].mode = 0755;
  entries.entries[0].size = kCopyChunk + 1;
  entries.entries[0].digests = std::string(kCopyDigestBytes, 'd');
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(entries))));
  entries.entries[0].digests += entries.entries[0].digests;
  CHECK(decode<CopyAnswer>(encode(CopyAnswer(entries))));
  entries.entries[0].kind = CopyKind::kDirectory;
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(entries))));
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(CopyServe{1, "127.0.0.1", "127.0.0.2", "short", ""}))));
  CopyEntries listed;
  listed.entries.resize(1);
  listed.entries[0].path = "file";
  listed.entries[0].sum = std::string(2 * kCopyDigestBytes, 'a');
  CHECK(decode<CopyAnswer>(encode(CopyAnswer(listed))));
  listed.entries[0].sum += 'a';
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(listed))));
  CHECK(decode<CopyCommand>(encode(CopyCommand(CopyJoin{std::string(kCopyTokenBytes, 't')}))));
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(CopyJoin{std::string(2 * kCopyTokenBytes, 't')}))));
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(CopyJoin{}))));
}

TEST_CASE("copy: only a sparse file has holes, and at most as many bytes of them as it has in all") {
  CopyEntries entries;
  entries.entries.resize(1);
  CopyEntry& entry = entries.entries.front();
  entry.path = "file";
  entry.size = 10;
  entry.sparse = true;
  const auto is_taken = [&] { return decode<CopyAnswer>(encode(CopyAnswer(entries))).has_value(); };
  for (const std::int64_t holes : {0, 1, 10}) {
    entry.holes = holes;
    CHECK(is_taken());
  }
  const auto decoded = decode<CopyAnswer>(encode(CopyAnswer(entries)));
  REQUIRE(decoded);
  CHECK(std::get<CopyEntries>(*decoded).entries.front().holes == 10);
  for (const std::int64_t holes : {std::int64_t{-1}, std::int64_t{11}, std::numeric_limits<std::int64_t>::max()}) {
    entry.holes = holes;
    CHECK_FALSE(is_taken());
  }
  entry.holes = 1;
  entry.sparse = false;
  CHECK_FALSE(is_taken());
}

TEST_CASE("copy: the directory of a tree has a mode without setuid, or is not named") {
  CopyLooked looked;
  const auto without = decode<CopyAnswer>(encode(CopyAnswer(looked)));
  REQUIRE(without);
  CHECK_FALSE(std::get<CopyLooked>(*without).root);
  looked.root = CopyRoot{0750, 5, "nvidia", "video"};
  const auto with = decode<CopyAnswer>(encode(CopyAnswer(looked)));
  REQUIRE(with);
  REQUIRE(std::get<CopyLooked>(*with).root);
  CHECK(std::get<CopyLooked>(*with).root->mode == 0750);
  CHECK(std::get<CopyLooked>(*with).root->group == "video");
  looked.root->mode = 04750;
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(looked))));
  CopyBegin begin;
  begin.root = looked.root;
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(begin))));
  begin.root->mode = 0750;
  CHECK(decode<CopyCommand>(encode(CopyCommand(begin))));
}

TEST_CASE("copy: machines with many processors have more connections, small ones not fewer than eight") {
  CHECK(copy_streams_for(0) == 8);
  CHECK(copy_streams_for(2) == 8);
  CHECK(copy_streams_for(12) == 11);
  CHECK(copy_streams_for(20) == kMostCopyStreams);
  CHECK(copy_streams_for(kMostProcessors) == kMostCopyStreams);
}

TEST_CASE("copy: an image is loaded only by its id") {
  CopyImage command;
  command.action = CopyImageAction::kLoad;
  command.name = "local/vllm:1";
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
  command.id = "short";
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
  command.id = std::string(64, 'a');
  CHECK(decode<CopyCommand>(encode(CopyCommand(command))));
  command.action = CopyImageAction::kLook;
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
}

TEST_CASE("copy: an archive lacks layers of a named image alone, and layers are digests") {
  CopyImage command;
  command.name = "local/vllm:1";
  command.layers = {std::string(64, 'a')};
  CHECK(decode<CopyCommand>(encode(CopyCommand(command))));
  command.left_out = 1;
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
  command.action = CopyImageAction::kSave;
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
  command.id = std::string(64, 'a');
  CHECK(decode<CopyCommand>(encode(CopyCommand(command))));
  command.layers = {"../layer"};
  CHECK_FALSE(decode<CopyCommand>(encode(CopyCommand(command))));
  CopyImageState state;
  state.layers = {"a"};
  CHECK_FALSE(decode<CopyAnswer>(encode(CopyAnswer(state))));
}

}  // namespace sparkplan
