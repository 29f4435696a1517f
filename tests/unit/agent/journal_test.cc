#include "engine/agent/state/journal.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/agent/scratch_node.h"

namespace sparkplan {
namespace {

using test::node_at;
using test::ScratchDirectory;

const std::string kFolder = "/var/lib/sparkplan/journal/";

/// Later numbers sort later.
std::string run_id(int number) {
  auto digits = std::to_string(number);
  return "2026" + std::string(6 - digits.size(), '0') + digits + "T000000Z-abc";
}

}  // namespace

TEST_CASE("a journal has one JSON object per line, with time and event first") {
  const ScratchDirectory root;
  auto node = node_at(root);
  auto journal = Journal::open("run-1", node);
  REQUIRE(journal);
  REQUIRE(journal->append("intent", Value::map({{"artifact", "file:/etc/a"}, {"text", "two\nlines\xff"}})));
  REQUIRE(journal->append("result", Value()));
  const auto text = root.read(kFolder + "run-1.jsonl");
  const auto lines = split_lines(text);
  REQUIRE(lines.size() == 2);
  CHECK(text.back() == '\n');
  const auto first = decode_json(lines[0]);
  const auto second = decode_json(lines[1]);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->text_or("event", "") == "intent");
  CHECK(first->text_or("text", "") == "two\nlines\xff");
  CHECK(first->text_or("time", "").size() == std::string("2026-03-01T12:00:00Z").size());
  CHECK(second->text_or("event", "") == "result");
  CHECK(root.mode(kFolder + "run-1.jsonl") == 0600);
  CHECK(root.mode(kFolder) == 0700);
}

TEST_CASE("a second part of a run appends to its journal") {
  const ScratchDirectory root;
  auto node = node_at(root);
  for (int i = 0; i < 3; ++i) {
    auto journal = Journal::open("run-1", node);
    REQUIRE(journal);
    REQUIRE(journal->append("stage", Value::map({{"number", i}})));
  }
  const auto lines = root.read(kFolder + "run-1.jsonl");
  CHECK(split_lines(lines).size() == 3);
}

TEST_CASE("only the journals of the newest runs are kept") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const int runs = static_cast<int>(Journal::kKeptRuns) + 7;
  for (int i = 0; i < runs; ++i) REQUIRE(Journal::open(run_id(i), node));
  const auto names = node.list_directory(kFolder);
  REQUIRE(names);
  REQUIRE(names->size() == Journal::kKeptRuns);
  CHECK(names->front() == run_id(7) + ".jsonl");
  CHECK(names->back() == run_id(runs - 1) + ".jsonl");
}

TEST_CASE("the current journal is kept, even if its controller's clock is behind") {
  const ScratchDirectory root;
  auto node = node_at(root);
  for (int i = 1; i <= static_cast<int>(Journal::kKeptRuns); ++i) REQUIRE(Journal::open(run_id(i), node));
  auto journal = Journal::open(run_id(0), node);
  REQUIRE(journal);
  REQUIRE(journal->append("intent", Value()));
  const auto lines = root.read(kFolder + run_id(0) + ".jsonl");
  CHECK(split_lines(lines).size() == 1);
  CHECK(node.list_directory(kFolder)->size() == Journal::kKeptRuns);
}

TEST_CASE("a run id that would be a path or a hidden file is refused") {
  const ScratchDirectory root;
  auto node = node_at(root);
  for (const std::string& run :
       {std::string(), std::string(".."), std::string(".hidden"), std::string("a/b"), std::string("../../../etc/cron"),
        std::string("a b"), std::string("a\0b", 3), std::string("a\n"), std::string(65, 'a')}) {
    INFO(run);
    const auto journal = Journal::open(run, node);
    REQUIRE_FALSE(journal);
    CHECK(journal.error().code == ErrorCode::kInvalidInput);
  }
  CHECK(root.tree().empty());
}

TEST_CASE("a link at the journal's path is not followed") {
  const ScratchDirectory root;
  root.write("/victim", "untouched");
  root.make_link(kFolder + "run-1.jsonl", "/victim");
  auto node = node_at(root);
  CHECK_FALSE(Journal::open("run-1", node));
  CHECK(root.read("/victim") == "untouched");
}

}  // namespace sparkplan
