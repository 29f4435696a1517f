// The output of jobs: lines, files and tails.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <limits>

#include "engine/launch/job_output.h"
#include "engine/launch/last_lines.h"
#include "engine/launch/output_queue.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;
using Lines = std::vector<std::string>;

Lines lines_of(const std::vector<std::string>& pieces) {
  Lines lines;
  LineSplitter splitter;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  for (const auto& piece : pieces) splitter.feed(piece, take);
  splitter.finish(take);
  return lines;
}

/// Holds its writer until it is released.
class HeldOutput final : public JobOutput {
 public:
  Result<void> take(const OutputSource& /*source*/, std::string_view /*bytes*/) override {
    released.wait();
    return {};
  }
  std::latch released{1};
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a stream is cut into lines wherever its pieces end") {
  CHECK(lines_of({"a\nb", "c\n", "\n", "d"}) == Lines{"a", "bc", "", "d"});
  CHECK(lines_of({}).empty());
  CHECK(lines_of({"a\r\nb\r", "\nc\r", "d"}) == Lines{"a", "b", "c", "d"});
  CHECK(lines_of({"10%\r20%\r\n"}) == Lines{"10%", "20%"});
}

TEST_CASE("a line without an end is cut into bounded pieces") {
  const auto lines = lines_of({std::string(3 * LineSplitter::kLongestLine + 5, 'x'), "y\n"});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].size() == LineSplitter::kLongestLine);
  CHECK(lines[3] == "xxxxxy");
}

TEST_CASE("each line has the prefix of its source, and nothing in it controls the terminal") {
  std::string out;
  std::string err;
  PrefixedLines lines([](const OutputSource& source) { return "n" + std::to_string(source.node) + ": "; },
                      [&](std::string_view text, bool error) { (error ? err : out) += text; });
  REQUIRE(lines.take({1, 0, false}, "one\x1b[2Jtwo\nthr"));
  REQUIRE(lines.take({2, 0, true}, "bad\xff\n"));
  CHECK(out == "n1: one␛[2Jtwo\n");
  CHECK(err == "n2: bad\xef\xbf\xbd\n");
  REQUIRE(lines.finish());
  CHECK(out == "n1: one␛[2Jtwo\nn1: thr\n");
}

TEST_CASE("the last lines of a rank are kept: any, also without an end, and NCCL's") {
  std::string passed;
  PrefixedLines lines([](const OutputSource&) { return ""; }, [&](std::string_view text, bool) { passed += text; });
  LastLinesKept kept(lines);
  REQUIRE(kept.take({0, 1, true}, "n1:4:5 [0] NCCL INFO Init COMPLETE\n"));
  REQUIRE(kept.take({0, 1, false}, "step 1\n\n  \nste"));
  REQUIRE(kept.take({1, 2, false}, "p 2 \x1b[2J" + std::string(5000, 'x')));
  CHECK(kept.of(0, 1).any == "ste");
  CHECK(kept.of(0, 1).nccl == "n1:4:5 [0] NCCL INFO Init COMPLETE");
  CHECK(kept.of(1, 2).any.size() <= LastLinesKept::kLongest);
  CHECK(kept.of(1, 2).any.find('\x1b') == std::string::npos);
  CHECK(kept.of(2, 3).any.empty());
  CHECK(passed.find("step 1\n") != std::string::npos);
}

TEST_CASE("single bytes fill the queue of a slow output before they fill the memory") {
  HeldOutput output;
  OutputQueue queue(output);
  std::size_t pieces = 0;
  while (pieces < OutputQueue::kMostBytes && queue.wait_for_room(std::chrono::milliseconds(0))) {
    queue.put({0, 0, false}, "x");
    ++pieces;
  }
  output.released.count_down();
  CHECK(pieces <= OutputQueue::kMostBytes / OutputQueue::kPieceBytes);
}

TEST_CASE("files have the bytes of each stream, and a link in their place is not followed") {
  const ScratchDirectory scratch;
  const auto folder = scratch / "/out";
  const auto name = [](const OutputSource& source) { return source.error ? "n.err" : "n.out"; };
  {
    auto files = OutputFiles::in(folder.string(), name);
    REQUIRE(files);
    REQUIRE(files->make({0, 0, true}));
    REQUIRE(files->take({0, 0, false}, std::string("a\0b\xff", 4)));
    REQUIRE(files->take({0, 0, false}, "c"));
  }
  CHECK(content(folder / "n.out") == std::string("a\0b\xff"
                                                 "c",
                                                 5));
  CHECK(std::filesystem::exists(folder / "n.err"));
  std::filesystem::remove(folder / "n.out");
  std::filesystem::create_symlink(scratch / "/elsewhere", folder / "n.out");
  auto files = OutputFiles::in(folder.string(), name);
  REQUIRE(files);
  CHECK_FALSE(files->take({0, 0, false}, "x"));
  CHECK_FALSE(std::filesystem::exists(scratch / "/elsewhere"));
  CHECK_FALSE(OutputFiles::in((folder / "n.err").string(), name));
}

TEST_CASE("a FIFO in the place of a file of output keeps no one waiting") {
  const ScratchDirectory scratch;
  REQUIRE(::mkfifo((scratch / "/n.out").c_str(), 0600) == 0);
  auto files = OutputFiles::in(scratch.path().string(), [](const OutputSource&) { return "n.out"; });
  REQUIRE(files);
  CHECK_FALSE(files->make({0, 0, false}));
}

TEST_CASE("files of output leave space on the disk, however much a node prints") {
  const ScratchDirectory scratch;
  const auto name = [](const OutputSource&) { return "n.out"; };
  const OutputRoom no_room{std::numeric_limits<std::int64_t>::max(), 10};
  auto files = OutputFiles::in((scratch / "/out").string(), name, no_room);
  REQUIRE(files);
  // A little is written to a full disk as well.
  REQUIRE(files->take({0, 0, false}, "0123456789"));
  const auto full = files->take({0, 0, false}, "x");
  REQUIRE_FALSE(full);
  CHECK(full.error().message.find("fills the disk") != std::string::npos);
  CHECK(content(scratch / "/out/n.out") == "0123456789");
}

TEST_CASE("a tail keeps the end of the output") {
  OutputTails tails;
  REQUIRE(tails.take({0, 1, false}, "first"));
  CHECK_FALSE(tails.tail_of(0, 1).is_cut);
  for (int i = 0; i < 5; ++i) REQUIRE(tails.take({0, 1, i % 2 == 0}, std::string(OutputTails::kLongestTail, 'x')));
  REQUIRE(tails.take({0, 1, false}, "last"));
  const auto tail = tails.tail_of(0, 1);
  CHECK(tail.is_cut);
  CHECK(tail.text.size() == OutputTails::kLongestTail);
  CHECK(tail.text.ends_with("xlast"));
  CHECK(tails.tail_of(0, 2).text.empty());
  CHECK(tails.move_tail_of(0, 1).text == tail.text);
  CHECK(tails.tail_of(0, 1).text.empty());
}

TEST_CASE("the tails of a node's ranks share one bound, however much each rank prints") {
  constexpr int kRanks = 64;
  const std::string flood(OutputTails::kLongestTail, 'x');
  OutputTails tails;
  REQUIRE(tails.take({1, 0, false}, flood));
  for (int round = 0; round < 3; ++round) {
    for (int rank = 0; rank < kRanks; ++rank) REQUIRE(tails.take({0, rank, false}, flood + std::to_string(rank)));
  }
  std::size_t sum = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto tail = tails.tail_of(0, rank);
    CHECK(tail.is_cut);
    CHECK(tail.text.ends_with("x" + std::to_string(rank)));
    sum += tail.text.size();
  }
  CHECK(sum == OutputTails::kMostOfNode);
  // Another node's rank keeps its own part.
  CHECK(tails.tail_of(1, 0).text == flood);
  CHECK_FALSE(tails.tail_of(1, 0).is_cut);
}

TEST_CASE("the tail of a rank that has ended is shortened when more ranks of its node print") {
  OutputTails tails;
  REQUIRE(tails.take({0, 0, false}, std::string(OutputTails::kLongestTail, 'a') + "end"));
  for (int rank = 1; rank < 64; ++rank) REQUIRE(tails.take({0, rank, false}, "b"));
  const auto tail = tails.move_tail_of(0, 0);
  CHECK(tail.is_cut);
  CHECK(tail.text.size() == OutputTails::kMostOfNode / 64);
  CHECK(tail.text.ends_with("aend"));
  CHECK(tails.tail_of(0, 1).text == "b");
}

}  // namespace sparkplan
