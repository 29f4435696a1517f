// Space that receivers lack, and who says that they need it.
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"
#include "tests/unit/sync/transfer_bench.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kGigabytes = 1'000'000'000;

/// A node with the image of this id and size, whose engine writes an archive of `archive` bytes.
test::CopyReaction with_archive(const std::string& id, std::int64_t bytes, std::int64_t archive) {
  return [id, bytes, archive](const CopyCommand& command, test::Peer& self) {
    if (const auto* image = std::get_if<CopyImage>(&command)) {
      CopyImageState state;
      if (image->action == CopyImageAction::kSpace) {
        state.store = "/var/lib/docker";
        state.store_free_bytes = 100 * kGigabytes;
      } else {
        state.id = image->action == CopyImageAction::kLoad ? test::kFirst : id;
        state.bytes = state.id.empty() ? 0 : bytes;
      }
      test::say(self, state);
    } else if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.path = "/var/lib/sparkplan/images/stage";
      opened.exists = true;
      opened.free_bytes = std::int64_t{1} << 40U;
      test::say(self, opened);
    } else if (std::holds_alternative<CopyLook>(command)) {
      CopyEntries part;
      part.entries.resize(1);
      part.entries[0].path = kImageArchive;
      part.entries[0].mode = 0600;
      part.entries[0].size = archive;
      test::say(self, part);
      test::say(self, CopyLooked{});
    } else if (std::holds_alternative<CopyListTrees>(command)) {
      test::say(self, CopyTrees{});
    } else if (std::holds_alternative<CopyPrune>(command)) {
      test::say(self, CopyPruned{});
    } else if (std::holds_alternative<CopyForget>(command)) {
      test::say(self, CopyForgotten{});
    } else {
      test::honest(command, self);
    }
  };
}

/// n1 is the source of an archive with so many bytes; n2 has the image too, and n3 lacks it.
struct ArchiveBench : test::Bench {
  ArchiveBench(std::int64_t bytes, std::int64_t archive) : Bench(3) {
    declare("images", Value::map({{"name", "local/vllm:1"}, {"engine", "docker"}}));
    nodes[0].reaction = with_archive(test::kFirst, bytes, archive);
    nodes[1].reaction = with_archive(test::kFirst, bytes, archive);
    nodes[2].reaction = with_archive("", 0, archive);
  }
};

std::int64_t bytes_of(const std::vector<std::int64_t>& reported, std::size_t source) {
  std::vector<CopyImageState> states(reported.size());
  std::vector<NamedImage> images;
  for (std::size_t i = 0; i < reported.size(); ++i) {
    states[i].id = test::kFirst;
    states[i].bytes = reported[i];
    images.push_back({"n" + std::to_string(i + 1), &states[i]});
  }
  CopyImageState another;
  another.id = test::kSecond;
  images.push_back({"another", &another});
  images.push_back({"unread", nullptr});
  return bytes_of_image(images, source);
}

}  // namespace

TEST_CASE("transfer: the error of a receiver without space names the source whose list needs it") {
  test::TransferBench bench(2);
  bench.nodes[1].reaction = [](const CopyCommand& command, test::Peer& self) {
    if (!std::holds_alternative<CopyBegin>(command)) return test::honest(command, self);
    test::say(self, CopyBegun{test::kSize, 12 * kGigabytes, kGigabytes});
  };
  const auto outcomes = bench.run();
  REQUIRE(outcomes[1].error);
  CHECK(outcomes[1].too_little_space);
  CHECK(outcomes[1].error->message.find("as n1 lists") != std::string::npos);
}

TEST_CASE("transfer: a receiver whose space ends in the middle has too little space, as one that lacks it before") {
  for (const int reason : {ENOSPC, EIO}) {
    test::TransferBench bench(2);
    bench.nodes[1].reaction = [reason](const CopyCommand& command, test::Peer& self) {
      if (!std::holds_alternative<CopyFetch>(command)) return test::honest(command, self);
      Error error = make_error(ErrorCode::kFailed, "no space for file0");
      error.sys_errno = reason;
      test::say(self, CopyFailure{error});
      self.ended = true;
    };
    const auto outcomes = bench.run();
    REQUIRE(outcomes[1].error);
    INFO(outcomes[1].error->describe());
    CHECK(outcomes[1].too_little_space == (reason == ENOSPC));
  }
}

TEST_CASE("image run: an archive far larger than its image fails its source, and no receiver") {
  ArchiveBench bench(12 * kGigabytes, 500 * kGigabytes);
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  REQUIRE(nodes[0].error);
  CHECK(nodes[0].error->message.find("500000 MB") != std::string::npos);
  CHECK(nodes[0].error->message.find("12000 MB") != std::string::npos);
  CHECK(nodes[0].error->hint.find("`from: n2`") != std::string::npos);
  CHECK_FALSE(nodes[2].error);
  CHECK(bench.nodes[2].all<CopyBegin>().empty());
}

TEST_CASE("image run: the size that another node reports does not make the source lack the space for its archive") {
  ArchiveBench bench(12 * kGigabytes, 12 * kGigabytes);
  bench.nodes[1].reaction = with_archive(test::kFirst, 2'000 * kGigabytes, 12 * kGigabytes);
  const auto report = bench.run();
  CHECK_FALSE(report.items[0].nodes[0].error);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kSent);
}

TEST_CASE("image run: a source without space for an archive names the command that removes earlier ones") {
  ArchiveBench bench(2'000 * kGigabytes, 12 * kGigabytes);
  const auto report = bench.run();
  const auto& error = report.items[0].nodes[0].error;
  REQUIRE(error);
  CHECK(error->message.find("write the archive of local/vllm:1 (2000000 MB)") != std::string::npos);
  CHECK(error->hint.find("`sparkplan sync --prune`") != std::string::npos);
}

TEST_CASE("image run: an archive with headers and filled blocks of many small files is sent") {
  ArchiveBench bench(kGigabytes, 4 * kGigabytes);
  const auto report = bench.run();
  CHECK(report.items[0].nodes[2].status == ContentStatus::kSent);
}

TEST_CASE("image run: the error of a receiver whose engine lacks space names the source of the archive") {
  ArchiveBench bench(200 * kGigabytes, 200 * kGigabytes);
  const auto report = bench.run();
  const auto& lacking = report.items[0].nodes[2];
  REQUIRE(lacking.error);
  CHECK(lacking.too_little_space);
  CHECK(lacking.error->message.find("as n1 lists") != std::string::npos);
}

TEST_CASE("image run: the size of an image is what most nodes with it report, and of two the larger") {
  CHECK(bytes_of({12}, 0) == 12);
  CHECK(bytes_of({12, 1}, 0) == 12);
  CHECK(bytes_of({1, 12}, 0) == 12);
  CHECK(bytes_of({1000, 12, 12}, 0) == 12);
  CHECK(bytes_of({12, 1, 12}, 0) == 12);
}

}  // namespace sparkplan
