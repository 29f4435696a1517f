// The progress of a sync whose standard error is no terminal.
#include "engine/cli/terminal/transfer_display.h"

#include <fcntl.h>
#include <unistd.h>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using std::chrono::seconds;

/// Standard error goes to a file, until the end of the object.
class ErrorInFile {
 public:
  ErrorInFile() : kept_(::dup(STDERR_FILENO)) {
    const int file = ::open((folder_.path() / "error").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    REQUIRE(kept_ >= 0);
    REQUIRE(file >= 0);
    REQUIRE(::dup2(file, STDERR_FILENO) == STDERR_FILENO);
    ::close(file);
  }
  ErrorInFile(const ErrorInFile&) = delete;
  ErrorInFile& operator=(const ErrorInFile&) = delete;
  ~ErrorInFile() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }
  std::string text() const { return folder_.read("/error"); }

 private:
  test::ScratchDirectory folder_;
  int kept_;
};

ContentItem item_named(const std::string& name) {
  ContentItem item;
  item.name = name;
  return item;
}

}  // namespace

TEST_CASE("transfer display: without a terminal each node has a plain line every ten seconds") {
  const ErrorInFile error;
  const auto console = Console::open(0, false, false, "");
  REQUIRE(console);
  REQUIRE_FALSE(console->live_progress());
  const Cluster cluster{};
  ProgressDisplay display(*console, cluster);
  TransferDisplay transfers(*console, display, false);
  const auto item = item_named("m");
  const TransferDisplay::Clock::time_point begin{seconds(1000)};
  transfers.tell(item, "n1", {1'000'000'000, 5'000'000'000, 0, 2e9}, begin);
  display.clear();
  transfers.tell(item, "n1", {2'000'000'000, 5'000'000'000, 0, 2e9}, begin + seconds(9));
  transfers.tell(item, "n2", {0, 5'000'000'000, 0, 0}, begin + seconds(9));
  display.clear();
  transfers.tell(item, "n1", {3'000'000'000, 5'000'000'000, 0, 2e9}, begin + seconds(10));
  display.clear();
  CHECK(error.text() ==
        "n1: m: 1.0 GB of 5.0 GB, 2.0 GB/s, 2 s left\n"
        "n2: m: 0 bytes of 5.0 GB\n"
        "n1: m: 3.0 GB of 5.0 GB, 2.0 GB/s, 1 s left\n");
}

TEST_CASE("transfer display: the last line of a phase comes at once, and the next phase need not wait") {
  const ErrorInFile error;
  const auto console = Console::open(0, false, false, "");
  REQUIRE(console);
  const Cluster cluster{};
  ProgressDisplay display(*console, cluster);
  TransferDisplay transfers(*console, display, false);
  const auto item = item_named("m");
  const TransferDisplay::Clock::time_point begin{seconds(1000)};
  const auto tell = [&](const TransferProgress& progress, seconds after) {
    transfers.tell(item, "n1", progress, begin + after);
    display.clear();
  };
  tell({1'000'000'000, 5'000'000'000, 0, 2e9, TransferPhase::kReading}, seconds(0));
  tell({5'000'000'000, 5'000'000'000, 0, 2e9, TransferPhase::kReading, true}, seconds(2));
  tell({0, 5'000'000'000, 0, 0}, seconds(3));
  // The run's own events name these.
  tell({0, 0, 0, 0, TransferPhase::kSaving}, seconds(60));
  tell({0, 0, 0, 0, TransferPhase::kLoading}, seconds(120));
  CHECK(error.text() ==
        "n1: m: read 1.0 GB of 5.0 GB, 2.0 GB/s, 2 s left\n"
        "n1: m: read 5.0 GB of 5.0 GB\n"
        "n1: m: 0 bytes of 5.0 GB\n");
}

TEST_CASE("transfer display: with JSON each progress is an object on its own line") {
  const ErrorInFile error;
  const auto console = Console::open(0, false, false, "");
  REQUIRE(console);
  const Cluster cluster{};
  ProgressDisplay display(*console, cluster);
  TransferDisplay transfers(*console, display, true);
  const TransferDisplay::Clock::time_point begin{seconds(1000)};
  for (const std::int64_t done : {1, 2, 3}) transfers.tell(item_named("a\nb"), "n1", {done, 5, 0, 1}, begin);
  const std::string text = error.text();
  int objects = 0;
  for (const auto line : split_lines(text)) {
    if (line.empty()) continue;
    CHECK(decode_json(line));
    ++objects;
  }
  CHECK(objects == 3);
}

}  // namespace sparkplan
