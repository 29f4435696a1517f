// The text and the JSON of `history`.
#include "engine/cli/history_text.h"

#include "engine/core/json.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

ClusterHistoryEntry an_apply() {
  ClusterHistoryEntry entry;
  entry.run.run = "20260301T120000Z-4f9a1c07";
  entry.run.time = "2026-03-01T12:00:00Z";
  entry.run.who = "anna@laptop";
  entry.run.operation = "apply";
  entry.run.changes = 3;
  entry.nodes = {"spark-01", "spark-02"};
  return entry;
}

/// 13:30 on the first of March 2026 in a zone one hour ahead of UTC.
LocalClock ahead() {
  LocalClock clock;
  clock.now = 1'772'368'200;
  clock.ahead_of_utc = [](std::int64_t) { return std::int64_t{3600}; };
  return clock;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("history: the text has local times, and the JSON has UTC") {
  const auto text = history_text({an_apply()}, false, ahead());
  CHECK(contains(text, "today 13:00 "));
  CHECK_FALSE(contains(text, "12:00:00Z"));
  CHECK(contains(text, "3 changes on spark-[01-02]\n"));
  const auto json = parse_plain_json(history_json("lab", {an_apply()}, {}, false));
  REQUIRE(json);
  CHECK(json->find("runs")->list_items()->at(0).text_or("time", "") == "2026-03-01T12:00:00Z");
}

TEST_CASE("history: nodes that only this controller's log names are marked, and so are those that left") {
  ClusterHistoryEntry entry = an_apply();
  entry.recorded_nodes = {"spark-03"};
  entry.left_nodes = {"spark-08", "spark-09"};
  const auto text = history_text({entry}, false, ahead());
  CHECK(contains(text,
                 "on spark-[01-02], as recorded here on spark-03, as recorded here on spark-[08-09], which left\n"));
  entry.nodes.clear();
  entry.recorded_nodes.clear();
  CHECK(contains(history_text({entry}, false, ahead()), "3 changes, as recorded here on spark-[08-09], which left\n"));
  const auto json = parse_plain_json(history_json("lab", {entry}, {}, false));
  REQUIRE(json);
  const Value& run = json->find("runs")->list_items()->at(0);
  CHECK(*run.find("nodes") == Value::list({"spark-08", "spark-09"}));
  CHECK(*run.find("left_nodes") == Value::list({"spark-08", "spark-09"}));
  CHECK(run.find("recorded_nodes") == nullptr);
}

}  // namespace sparkplan
