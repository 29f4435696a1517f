// Names that are a directory on one side alone: no consent replaces them.
#include <string>
#include <vector>

#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

CopyEntry entry_of(const std::string& path, CopyKind kind) {
  CopyEntry entry;
  entry.path = path;
  entry.kind = kind;
  entry.mode = 0755;
  if (kind == CopyKind::kLink) entry.target = "other";
  if (kind != CopyKind::kFile) return entry;
  entry.size = 1;
  entry.sum = test::kFirst;
  return entry;
}

/// Lists these names, and takes part in a transfer.
test::CopyReaction that_has(const std::vector<CopyEntry>& entries) {
  return [entries](const CopyCommand& command, test::Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.exists = true;
      test::say(self, opened);
    } else if (std::holds_alternative<CopyLook>(command)) {
      test::say(self, CopyEntries{entries});
      test::say(self, CopyLooked{});
    } else {
      test::honest(command, self);
    }
  };
}

/// n1 is the source; n2 and n3 have the name "one" as these kinds.
struct KindsBench : test::Bench {
  KindsBench(CopyKind source, CopyKind second, CopyKind third) : Bench(3) {
    declare("models", Value::map({{"path", "/srv/models/one"}, {"from", "n1"}}));
    const std::vector<CopyKind> kinds{source, second, third};
    for (std::size_t i = 0; i < kinds.size(); ++i) nodes[i].reaction = that_has({entry_of("one", kinds[i])});
    options.may_replace = [this](const ContentReport& item) {
      questions.push_back(question_text(item));
      return true;
    };
  }

  std::vector<std::string> questions;
};

}  // namespace

TEST_CASE("sync run: a directory in the place of a file, or the reverse, is refused by its name before any question") {
  const bool source_has_file = GENERATE(true, false);
  const CopyKind right = source_has_file ? CopyKind::kFile : CopyKind::kDirectory;
  const CopyKind wrong = source_has_file ? CopyKind::kDirectory : CopyKind::kFile;
  KindsBench bench(right, wrong, right);
  const auto report = bench.run();
  CHECK(bench.questions.empty());
  const ContentOfNode& refused = report.items[0].nodes[1];
  CHECK(refused.status == ContentStatus::kFailed);
  REQUIRE(refused.error);
  CHECK(refused.error->code == ErrorCode::kRefused);
  CHECK(refused.error->message.starts_with("one: "));
  CHECK_FALSE(refused.error->hint.empty());
  CHECK(bench.nodes[1].all<CopyBegin>().empty());
  CHECK_FALSE(report.items[0].nodes[2].error);
}

TEST_CASE("sync run: the question names only nodes whose names a yes replaces, as a link for a file") {
  KindsBench bench(CopyKind::kFile, CopyKind::kDirectory, CopyKind::kLink);
  const auto report = bench.run();
  REQUIRE(bench.questions.size() == 1);
  CHECK(bench.questions[0].find("n3: one") != std::string::npos);
  CHECK(bench.questions[0].find("n2") == std::string::npos);
  CHECK(report.items[0].nodes[1].status == ContentStatus::kFailed);
  REQUIRE(bench.nodes[2].all<CopyBegin>().size() == 1);
  CHECK(bench.nodes[2].all<CopyBegin>()[0].replace);
}

TEST_CASE("sync run: a dry run says which names are to be moved by hand, and fails no node") {
  KindsBench bench(CopyKind::kFile, CopyKind::kDirectory, CopyKind::kFile);
  bench.options.dry_run = true;
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kDiffers);
  CHECK_FALSE(report.items[0].nodes[1].error);
  CHECK(to_text(report, true, TextStyle()).find("by hand") != std::string::npos);
}

}  // namespace sparkplan
