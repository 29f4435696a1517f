#include "engine/sync/answer_limits.h"

#include <chrono>
#include <limits>
#include <string>

#include "engine/core/digest.h"
#include "engine/sync/transfer.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using std::chrono::seconds;

const AnswerClock::Clock::time_point kBegin{};
const AnswerPatience kPatience;

CopyProgress progress(std::int64_t read) {
  CopyProgress made;
  made.read_bytes = read;
  return made;
}

CopyEntries entries(std::size_t count, std::int64_t size) {
  CopyEntries made;
  made.entries.resize(count);
  for (CopyEntry& entry : made.entries) {
    entry.path = "a";
    entry.size = size;
  }
  return made;
}

}  // namespace

TEST_CASE("listing: progress without end extends an answer only to its deadline") {
  AnswerClock clock(kPatience, 0, kBegin);
  for (int second = 0; second < 299; ++second) {
    CHECK_FALSE(clock.is_over(kBegin + seconds(second)));
    clock.note(progress(second), kBegin + seconds(second));
  }
  CHECK(clock.is_over(kBegin + seconds(300)));
}

TEST_CASE("listing: a node that is silent, or that reads nothing more, ends its answer") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40U;
  AnswerClock silent(kPatience, kLarge, kBegin);
  CHECK(silent.is_over(kBegin + seconds(61)));
  AnswerClock reading(kPatience, kLarge, kBegin);
  for (int second = 0; second < 1000; second += 10) reading.note(progress(second + 1), kBegin + seconds(second));
  CHECK_FALSE(reading.is_over(kBegin + seconds(1000)));
  for (int second = 1000; second < 1400; second += 10) reading.note(progress(5), kBegin + seconds(second));
  CHECK(reading.is_over(kBegin + seconds(1400)));
}

TEST_CASE("listing: names, bytes of names and chunks are bounded, and digests that were not asked for are dropped") {
  ListingParts too_many;
  for (std::size_t i = 0; i <= kMostCopyEntries / 500; ++i) too_many.add(entries(500, 1));
  CHECK_FALSE(too_many.take());
  ListingParts too_large;
  too_large.add(entries(20, kLargestCopyFile));
  CHECK_FALSE(too_large.take());
  ListingParts too_long;
  auto long_names = entries(500, 1);
  for (CopyEntry& entry : long_names.entries) entry.target = std::string(kLongestCopyPath, 't');
  for (int i = 0; i < 33; ++i) too_long.add(long_names);
  CHECK_FALSE(too_long.take());
  auto with_digests = entries(1, 1);
  with_digests.entries[0].digests = std::string(kCopyDigestBytes, 'd');
  ListingParts plain;
  plain.add(with_digests);
  CHECK(plain.take()->front().digests.empty());
}

TEST_CASE("listing: the largest one takes less than 60 MB of memory") {
  // Texts that are too long for their object, as far as the bytes of names last.
  constexpr std::size_t kLongEnough = 25;
  constexpr std::size_t kRest = kMostCopyNameBytes / kMostCopyEntries - 3 * kLongEnough;
  ListingParts parts;
  for (std::size_t i = 0; i < kMostCopyEntries; i += kMostEntriesInFrame) {
    auto part = entries(kMostEntriesInFrame, 1);
    for (std::size_t at = 0; at < part.entries.size(); ++at) {
      CopyEntry& entry = part.entries[at];
      entry.path = std::to_string(1'000'000 + i + at);
      entry.path.resize(kLongEnough, 'p');
      entry.path.reserve(4 * kLongEnough);
      for (std::string* text : {&entry.user, &entry.group}) text->assign(kLongEnough, 't');
      entry.target.assign(kRest, 't');
      entry.sum.assign(2 * kCopyDigestBytes, 's');
      entry.digests.assign(kCopyDigestBytes, 'd');
    }
    parts.add(std::move(part));
  }
  const auto taken = parts.take();
  REQUIRE(taken);
  REQUIRE(taken->size() == kMostCopyEntries);
  constexpr std::size_t kBlock = 16;  // What an allocation takes beside its bytes.
  constexpr std::size_t kInPlace = 15;
  std::size_t bytes = taken->capacity() * sizeof(CopyEntry);
  for (const CopyEntry& entry : *taken) {
    for (const std::string* text :
         {&entry.path, &entry.target, &entry.user, &entry.group, &entry.sum, &entry.digests}) {
      if (text->capacity() > kInPlace) bytes += text->capacity() + kBlock;
    }
  }
  CHECK(bytes < 60'000'000);
}

TEST_CASE("listing: a tree with many names has fewer chunks, as the controller keeps both") {
  constexpr std::size_t kNames = 100'000;
  REQUIRE(most_chunks_with(kNames) == 2 * kNames);
  const std::int64_t more = GENERATE(0, 1);
  ListingParts parts;
  for (std::size_t i = 0; i < kNames; i += kMostEntriesInFrame) {
    auto part = entries(kMostEntriesInFrame, 2 * kCopyChunk);
    for (std::size_t at = 0; at < part.entries.size(); ++at) part.entries[at].path = std::to_string(1'000'000 + i + at);
    if (i == 0) part.entries[0].size += more;
    parts.add(std::move(part));
  }
  CHECK(parts.take().has_value() == (more == 0));
  // Files of some bytes are as many as names.
  CHECK(most_chunks_with(kMostCopyEntries) >= static_cast<std::int64_t>(kMostCopyEntries));
}

TEST_CASE("listing: digests are taken for the files of the first listing alone, as they were there") {
  std::vector<CopyEntry> listed(3);
  for (std::size_t i = 0; i < listed.size(); ++i) {
    listed[i].path = std::string(1, static_cast<char>('a' + i));
    listed[i].size = 1;
  }
  CopyEntries part;
  part.entries = listed;
  for (CopyEntry& entry : part.entries) entry.digests.assign(kCopyDigestBytes, 'd');
  part.entries[1].mtime_ns = 5;
  part.entries.push_back(part.entries[0]);
  part.entries.back().path = "unknown";
  take_digests_of(std::move(part), listed);
  CHECK(listed.size() == 3);
  CHECK(listed[0].digests.size() == kCopyDigestBytes);
  CHECK(listed[1].digests.empty());
  CHECK(listed[2].digests.size() == kCopyDigestBytes);
}

TEST_CASE("listing: a name twice, or without its directory, is refused, and the order does not matter") {
  const auto taken = [](const std::vector<std::pair<std::string, CopyKind>>& names) {
    CopyEntries part;
    for (const auto& [path, kind] : names) {
      CopyEntry& entry = part.entries.emplace_back();
      entry.path = path;
      entry.kind = kind;
    }
    ListingParts parts;
    parts.add(std::move(part));
    return parts.take();
  };
  const auto whole = taken({{"a/b", CopyKind::kFile}, {"a-b", CopyKind::kFile}, {"a", CopyKind::kDirectory}});
  REQUIRE(whole);
  CHECK(whole->front().path == "a");
  CHECK(whole->back().path == "a/b");
  CHECK_FALSE(taken({{"a", CopyKind::kFile}, {"b", CopyKind::kFile}, {"a", CopyKind::kFile}}));
  CHECK_FALSE(taken({{"a/b", CopyKind::kFile}}));
  CHECK_FALSE(taken({{"a", CopyKind::kFile}, {"a/b", CopyKind::kFile}}));
  CHECK_FALSE(taken({{"a", CopyKind::kLink}, {"a/b", CopyKind::kFile}}));
}

TEST_CASE("listing: a tree that is too deep for the receivers' own listing is refused") {
  const auto taken = [](std::size_t directories, bool has_file) {
    CopyEntries part;
    std::string path;
    for (std::size_t i = 0; i < directories; ++i) {
      path += path.empty() ? "d" : "/d";
      CopyEntry& entry = part.entries.emplace_back();
      entry.path = path;
      entry.kind = CopyKind::kDirectory;
    }
    if (has_file) part.entries.emplace_back().path = path + "/file";
    ListingParts parts;
    parts.add(std::move(part));
    return parts.take();
  };
  CHECK(taken(kDeepestCopyTree, true));
  const auto refused = taken(kDeepestCopyTree + 1, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("64 directories deep") != std::string::npos);
}

TEST_CASE("listing: digests that do not belong to the listed sum fail the source") {
  auto listed = entries(1, 1).entries;
  listed[0].mode = 0600;
  listed[0].digests = std::string(kCopyDigestBytes, 'd');
  listed[0].sum = sha256(listed[0].digests);
  CHECK(check_to_send(listed, ""));
  listed[0].digests[0] = 'x';
  const auto refused = check_to_send(listed, "");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("do not belong to the sum") != std::string::npos);
  // The digest was not known any more, and comes while the file is read.
  listed[0].digests.assign(kCopyDigestBytes, '\0');
  CHECK(check_to_send(listed, ""));
}

TEST_CASE("listing: what its own owner could not read is not sent, unless the owner is root") {
  auto listed = entries(2, 1).entries;
  for (CopyEntry& entry : listed) entry.user = "nvidia";
  listed[0].mode = 0400;
  listed[1].kind = CopyKind::kDirectory;
  listed[1].mode = 0500;
  CHECK(check_to_send(listed, "operator"));
  CHECK_FALSE(check_to_send(listed, "operator", CopyRoot{0300, 0, "root", "root"}));
  CHECK(check_to_send(listed, "operator", CopyRoot{0700, 0, "root", "root"}));
  CHECK(check_to_send({}, "", CopyRoot{0300, 0, "root", "root"}));
  CHECK(check_to_send(listed, ""));
  listed[0].mode = 0;
  CHECK_FALSE(check_to_send(listed, "operator"));
  CHECK_FALSE(check_to_send(listed, ""));
  CHECK(check_to_send(listed, "root"));
  listed[0].user = "root";
  CHECK(check_to_send(listed, ""));
  listed[0].mode = 0400;
  listed[1].mode = 0400;
  CHECK_FALSE(check_to_send(listed, "operator"));
}

TEST_CASE("transfer: a digest of zeros fails the source, as receivers would wait for another one") {
  const auto listed = entries(1, 1).entries;
  KnownChunks known(listed);
  CHECK_FALSE(known.only_new(std::string(kCopyRecordBytes, '\0')));
  const std::string record =
      std::string(kCopyRecordBytes - kCopyDigestBytes, '\0') + std::string(kCopyDigestBytes, 'd');
  const auto fresh = known.only_new(record);
  REQUIRE(fresh);
  CHECK(*fresh == record);
}

TEST_CASE("transfer: digests that come late fail the source if they have another sum than it lists") {
  const auto record = [](char chunk, char digest) {
    return std::string(7, '\0') + chunk + std::string(kCopyDigestBytes, digest);
  };
  auto listed = entries(1, 2 * kCopyChunk).entries;
  listed[0].sum = sha256(std::string(kCopyDigestBytes, 'a') + std::string(kCopyDigestBytes, 'b'));
  SECTION("all of them") {
    KnownChunks right(listed);
    CHECK(right.only_new(record(1, 'b') + record(0, 'a')));
    CHECK(right.all());
    KnownChunks wrong(listed);
    CHECK(wrong.only_new(record(1, 'b')));
    const auto refused = wrong.only_new(record(0, 'x'));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("do not belong to the sum") != std::string::npos);
    CHECK_FALSE(wrong.all());
  }
  SECTION("beside digests that were known before") {
    listed[0].digests = std::string(kCopyDigestBytes, 'a') + std::string(kCopyDigestBytes, '\0');
    KnownChunks right(listed);
    CHECK(right.only_new(record(1, 'b')));
    KnownChunks wrong(listed);
    CHECK_FALSE(wrong.only_new(record(1, 'x')));
  }
  SECTION("of a file without a sum, none is wrong") {
    listed[0].sum.clear();
    KnownChunks known(listed);
    CHECK(known.only_new(record(0, 'x') + record(1, 'y')));
  }
}

TEST_CASE("transfer: an honest node's answers stay within its allowance, a flood does not") {
  AnswerBudget honest(kBegin);
  for (int second = 0; second < 5000; ++second) CHECK(honest.take(kBegin + seconds(second)));
  AnswerBudget flood(kBegin);
  int taken = 0;
  while (taken < 10'000 && flood.take(kBegin + seconds(1))) ++taken;
  CHECK(taken < 1000);
}

TEST_CASE("transfer: its deadlines grow with the tree, and with a limit of the rate") {
  const auto none = patience_for(0, 2, 0, 8);
  const auto large = patience_for(std::int64_t{1} << 40U, 2, 0, 8);
  const auto slow = patience_for(std::int64_t{1} << 30U, 2, 1'000'000, 2);
  CHECK(large.total > none.total);
  CHECK(large.stall == none.stall);
  CHECK(slow.stall > none.stall);
  CHECK(slow.total > std::chrono::seconds((std::int64_t{1} << 30U) / 1'000'000));
}

TEST_CASE("transfer: its deadlines are bounded for every size that a node claims") {
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  CHECK(patience_for(kHuge, 2, 0, 8).total == patience_for(kMostCopyChunks * kCopyChunk, 2, 0, 8).total);
  CHECK(patience_for(-1, 2, 0, 8).total == patience_for(0, 2, 0, 8).total);
  CHECK(patience_for(kHuge, 2, 1, 2).total <= std::chrono::hours(24 * 365));
}

}  // namespace sparkplan
