// When the lines of a journal are on the disk.
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "tests/unit/agent/executor_bench.h"

namespace sparkplan {
namespace {

using test::ExecutorBench;
using test::file_step;
using test::knob;
using test::knob_step;
using test::set_to;

/// The texts of the journals that were synced, each as it was then. Null outside a test of this file.
std::vector<std::string>* synced_texts = nullptr;

void note_sync_of(int descriptor) {
  if (synced_texts == nullptr) return;
  std::error_code unknown;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), unknown);
  if (unknown || path.extension() != ".jsonl") return;
  std::ifstream file(path, std::ios::binary);
  synced_texts->emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// Records syncs during its lifetime.
class RecordedSyncs {
 public:
  RecordedSyncs() { synced_texts = &texts_; }
  RecordedSyncs(const RecordedSyncs&) = delete;
  RecordedSyncs& operator=(const RecordedSyncs&) = delete;
  ~RecordedSyncs() { synced_texts = nullptr; }

  /// For each sync the last line that it brought to the disk, such as "intent file:/a", "result knob:b done".
  std::vector<std::string> last_lines() const {
    std::vector<std::string> lines;
    for (const std::string& text : texts_) {
      const auto entry = decode_json(split_lines(text).back());
      REQUIRE(entry);
      auto words = entry->text_or("event", "?") + " " + entry->text_or("artifact", "?");
      if (const auto outcome = entry->text_or("outcome", ""); !outcome.empty()) words += " " + outcome;
      lines.push_back(words);
    }
    return lines;
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace
}  // namespace sparkplan

/// In place of the function of the C library, in this test program.
extern "C" int fdatasync(int descriptor) {
  sparkplan::note_sync_of(descriptor);
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

namespace sparkplan {

TEST_CASE("an intent is on the disk before its step, a result with the next intent or before the reply") {
  ExecutorBench bench;
  const RecordedSyncs syncs;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    CHECK(syncs.last_lines().back() == "intent " + artifact.str());
    return std::nullopt;
  };
  bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), file_step("/etc/b", Absent{}, file_present("b", 0644)),
                   knob_step("c", Absent{}, set_to("1"), "2")});
  CHECK(syncs.last_lines() ==
        std::vector<std::string>{"intent knob:a", "intent file:/etc/b", "intent knob:c", "result knob:c done"});
}

TEST_CASE("a failure, and each step that is undone for it, is on the disk at once") {
  ExecutorBench bench;
  const RecordedSyncs syncs;
  bench.hooks.interfere = [](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    if (artifact != knob("b")) return std::nullopt;
    return Error{ErrorCode::kFailed, "no", {}, {}, ""};
  };
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  CHECK(ExecutorBench::outcomes(reply) == "undone failed");
  CHECK(syncs.last_lines() ==
        std::vector<std::string>{"intent knob:a", "intent knob:b", "result knob:a undone", "result knob:b failed"});
}

TEST_CASE("a journal whose lines are all on the disk is not synced again") {
  ExecutorBench bench;
  auto journal = Journal::open("run-1", bench.node);
  REQUIRE(journal);
  const RecordedSyncs syncs;
  REQUIRE(journal->append("intent", Value()));
  REQUIRE(journal->sync());
  CHECK(syncs.last_lines().size() == 1);
  REQUIRE(journal->append_for_next_sync("result", Value()));
  CHECK(syncs.last_lines().size() == 1);
  REQUIRE(journal->sync());
  REQUIRE(journal->sync());
  CHECK(syncs.last_lines() == std::vector<std::string>{"intent ?", "result ?"});
}

}  // namespace sparkplan
