#include "engine/sync/reading_progress.h"

#include <chrono>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ReadingProgress::Clock::time_point kStart{};
constexpr std::int64_t kFileBytes = 1000;

/// Has one file.
void with_file(const CopyCommand& command, test::Peer& self) {
  if (std::holds_alternative<CopyOpen>(command)) {
    CopyOpened opened;
    opened.exists = true;
    test::say(self, opened);
  } else if (std::holds_alternative<CopyLook>(command)) {
    CopyEntries part;
    part.entries.resize(1);
    part.entries[0].path = "a";
    part.entries[0].size = kFileBytes;
    part.entries[0].mode = 0644;
    part.entries[0].sum = "s";
    test::say(self, part);
    test::say(self, CopyLooked{});
  }
}

}  // namespace

TEST_CASE("reading: progress has the bytes, the rate of the time between two messages, and the phase") {
  ReadingProgress reading(1000, kStart);
  const auto first = reading.note(200, kStart + seconds(2));
  REQUIRE(first);
  CHECK(first->phase == TransferPhase::kReading);
  CHECK(first->done_bytes == 200);
  CHECK(first->total_bytes == 1000);
  CHECK(first->bytes_per_second == 100);
  CHECK_FALSE(first->finished);
  const auto second = reading.note(400, kStart + seconds(3));
  REQUIRE(second);
  CHECK(second->bytes_per_second > 100);
  CHECK(second->bytes_per_second < 200);
  const auto last = reading.last();
  REQUIRE(last);
  CHECK(last->done_bytes == 1000);
  CHECK(last->finished);
}

TEST_CASE("reading: messages without end show no more, and a claim is at most the total") {
  ReadingProgress reading(1000, kStart);
  CHECK_FALSE(reading.note(1, kStart + milliseconds(499)));
  CHECK(reading.note(1, kStart + milliseconds(500)));
  CHECK_FALSE(reading.note(2, kStart + milliseconds(999)));
  const auto most = reading.note(std::numeric_limits<std::int64_t>::max(), kStart + milliseconds(1000));
  REQUIRE(most);
  CHECK(most->done_bytes == 1000);
  const auto less = reading.note(5, kStart + seconds(2));
  REQUIRE(less);
  CHECK(less->done_bytes == 1000);
}

TEST_CASE("reading: a node that reads nothing, or for too short a time, shows nothing") {
  ReadingProgress nothing(0, kStart);
  CHECK_FALSE(nothing.note(100, kStart + seconds(10)));
  CHECK_FALSE(nothing.last());
  CHECK_FALSE(ReadingProgress(1000, kStart).last());
}

TEST_CASE("sync run: while a node reads its files, its progress is shown, and the last one has all bytes") {
  test::Bench bench(2);
  bench.declare("models", Value::map({{"path", "/srv/models/one"}}));
  bench.options.dry_run = true;
  bench.options.verify = true;
  std::mutex mutex;
  std::vector<TransferProgress> shown;
  std::vector<std::string> names;
  bench.options.progress = [&](const ContentItem& item, const std::string& node, const TransferProgress& progress) {
    const std::lock_guard lock(mutex);
    names.push_back(node + ": " + item.name);
    shown.push_back(progress);
  };
  const auto is_shown = [&] {
    const std::lock_guard lock(mutex);
    return !shown.empty();
  };
  bench.nodes[0].reaction = with_file;
  bench.nodes[1].reaction = [is_shown](const CopyCommand& command, test::Peer& self) {
    const auto* look = std::get_if<CopyLook>(&command);
    if (look == nullptr || !look->read) return with_file(command, self);
    self.on_read = [command, is_shown](test::Peer& peer) {
      CopyProgress progress;
      progress.read_bytes = kFileBytes / 4;
      test::say(peer, progress);
      if (!is_shown()) return;
      peer.on_read = [](test::Peer&) {};
      with_file(command, peer);
    };
  };
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kPresent);
  REQUIRE(shown.size() >= 2);
  CHECK(names.front() == "n2: /srv/models/one");
  CHECK(shown.front().phase == TransferPhase::kReading);
  CHECK(shown.front().done_bytes == kFileBytes / 4);
  CHECK(shown.front().total_bytes == kFileBytes);
  CHECK(shown.back().finished);
  CHECK(shown.back().done_bytes == kFileBytes);
}

}  // namespace sparkplan
