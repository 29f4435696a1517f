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

/// n1 is the source, without `from` because it has more bytes; n2 and n3 have the name "one" as these kinds.
struct KindsBench : test::Bench {
  KindsBench(CopyKind source, CopyKind second, CopyKind third, const std::string& from = "n1") : Bench(3) {
    Value record = Value::map({{"path", "/srv/models/one"}});
    if (!from.empty()) record.set("from", from);
    declare("models", record);
    const std::vector<CopyKind> kinds{source, second, third};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::vector<CopyEntry> entries{entry_of("one", kinds[i])};
      if (i == 0) entries.push_back(entry_of("two", CopyKind::kFile));
      if (i == 0) entries.back().size = 1000;
      nodes[i].reaction = test::that_lists(entries);
    }
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
  CHECK(refused.error->message.find("on the source n1") != std::string::npos);
  CHECK(refused.error->hint.find("n1") != std::string::npos);
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

TEST_CASE("sync run: without `from`, a source that alone has a name as a directory is named, and no other node fails") {
  const bool source_has_file = GENERATE(true, false);
  const CopyKind mine = source_has_file ? CopyKind::kFile : CopyKind::kDirectory;
  const CopyKind other = source_has_file ? CopyKind::kDirectory : CopyKind::kFile;
  KindsBench bench(mine, other, other, "");
  bench.options.may_spread = [](const ContentReport&) { return true; };
  const auto report = bench.run();
  CHECK(bench.questions.empty());
  REQUIRE(report.items[0].error);
  CHECK(report.items[0].error->code == ErrorCode::kRefused);
  const std::string& message = report.items[0].error->message;
  CHECK(message.find("only the source n1 has one as a " + std::string(source_has_file ? "file" : "directory")) !=
        std::string::npos);
  CHECK(message.find("n2") != std::string::npos);
  for (std::size_t i = 0; i < bench.nodes.size(); ++i) {
    CHECK_FALSE(report.items[0].nodes[i].error);
    CHECK(bench.nodes[i].all<CopyBegin>().empty());
  }
}

TEST_CASE("sync run: without `from`, where another node agrees with the source, the one that differs in kind fails") {
  KindsBench bench(CopyKind::kFile, CopyKind::kDirectory, CopyKind::kFile, "");
  bench.options.may_spread = [](const ContentReport&) { return true; };
  const auto report = bench.run();
  CHECK_FALSE(report.items[0].error);
  REQUIRE(report.items[0].nodes[1].error);
  CHECK(report.items[0].nodes[1].error->message.find("on the source n1") != std::string::npos);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kSent);
}

TEST_CASE("sync run: without `from`, a source that fails while it reads ends the item, and nothing else") {
  KindsBench bench(CopyKind::kFile, CopyKind::kFile, CopyKind::kFile, "");
  CopyEntry unread = entry_of("one", CopyKind::kFile);
  unread.sum.clear();
  CopyEntry large = entry_of("two", CopyKind::kFile);
  large.size = 1000;
  const auto usual = test::that_lists({unread, large});
  bench.nodes[0].reaction = [usual](const CopyCommand& command, test::Peer& self) {
    const auto* look = std::get_if<CopyLook>(&command);
    if (look == nullptr || !look->read) return usual(command, self);
    test::say(self, CopyFailure{make_error(ErrorCode::kFailed, "the disk is broken")});
    self.ended = true;
  };
  const auto report = bench.run();
  CHECK(report.items[0].nodes[0].status == ContentStatus::kFailed);
  for (const test::CopyNode& node : bench.nodes) CHECK(node.all<CopyBegin>().empty());
}

}  // namespace sparkplan
