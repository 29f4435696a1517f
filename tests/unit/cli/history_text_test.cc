// The text and the JSON of `history`.
#include "engine/cli/output/history_text.h"

#include <algorithm>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/cli/program.h"

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

TextStyle columns(int width) {
  TextStyle style;
  style.width = width;
  return style;
}

using test::contains;

}  // namespace

TEST_CASE("history: the text has local times, and the JSON has UTC") {
  const auto text = history_text({an_apply()}, false, ahead(), columns(1000));
  CHECK(contains(text, "today 13:00 "));
  CHECK_FALSE(contains(text, "12:00:00Z"));
  CHECK(contains(text, "3 changes on spark-[01-02]\n"));
  const auto json = parse_plain_json(public_json(history_json("lab", {an_apply()}, {}, false)));
  REQUIRE(json);
  CHECK(json->find("runs")->list_items()->at(0).text_or("time", "") == "2026-03-01T12:00:00Z");
}

TEST_CASE("history: lines fit the terminal, with their words in the column of the run") {
  ClusterHistoryEntry entry = an_apply();
  entry.left_nodes = {"spark-08", "spark-09"};
  entry.run.artifacts.push_back({"file", {"file", "/etc/motd"}, "failed", "write /etc/motd: no space left on device"});
  for (const int width : {50, 80}) {
    const auto text = history_text({entry}, true, ahead(), columns(width));
    INFO(text);
    for (const std::string_view line : split_lines(text)) CHECK(text_width(line) <= static_cast<std::size_t>(width));
  }
  CHECK(history_text({entry}, true, ahead(), columns(80)) ==
        "today 13:00   20260301T120000Z-4f9a1c07  apply     anna@laptop           applied\n"
        "              3 changes on spark-[01-02] and on spark-[08-09] (no longer in the\n"
        "              cluster, from this controller's log)\n"
        "  failed    file            /etc/motd: write /etc/motd: no space left on device\n");
}

TEST_CASE("history: nodes that only this controller's log names are marked, and so are those that left") {
  ClusterHistoryEntry entry = an_apply();
  entry.recorded_nodes = {"spark-03"};
  entry.left_nodes = {"spark-08", "spark-09"};
  const auto text = history_text({entry}, false, ahead(), columns(1000));
  CHECK(contains(text,
                 "on spark-[01-02] and on spark-03 (from this controller's log) and on spark-[08-09] (no longer in the "
                 "cluster, from this controller's log)\n"));
  entry.nodes.clear();
  entry.recorded_nodes.clear();
  CHECK(contains(history_text({entry}, false, ahead(), columns(1000)),
                 "3 changes on spark-[08-09] (no longer in the cluster, from this controller's log)\n"));
  const auto json = parse_plain_json(public_json(history_json("lab", {entry}, {}, false)));
  REQUIRE(json);
  const Value& run = json->find("runs")->list_items()->at(0);
  CHECK(*run.find("nodes") == Value::list({"spark-08", "spark-09"}));
  CHECK(*run.find("left_nodes") == Value::list({"spark-08", "spark-09"}));
  CHECK(run.find("recorded_nodes") == nullptr);
}

TEST_CASE("history: nodes that a run forgot are named") {
  ClusterHistoryEntry entry = an_apply();
  entry.nodes.clear();
  entry.run.operation = "release";
  entry.run.changes = 0;
  entry.forgotten_nodes = {"spark-09"};
  CHECK(
      contains(history_text({entry}, false, ahead(), columns(1000)), "  0 changes, forgot spark-09 without contact\n"));
  const auto json = parse_plain_json(public_json(history_json("lab", {entry}, {}, false)));
  REQUIRE(json);
  const Value& run = json->find("runs")->list_items()->at(0);
  CHECK(*run.find("nodes") == Value::list({"spark-09"}));
  CHECK(*run.find("forgotten_nodes") == Value::list({"spark-09"}));
  CHECK(run.find("left_nodes") == nullptr);
}

TEST_CASE("history: no text of a node passes for other columns of the line") {
  ClusterHistoryEntry entry = an_apply();
  entry.run.time = "today 13:00  20260301T120000Z-00000000  apply";
  entry.run.who = "eve                   rolled back  0 changes";
  entry.run.operation = "apply     anna@laptop";
  const auto text = history_text({entry}, false, ahead(), columns(1000));
  INFO(text);
  CHECK(text.starts_with("?  "));
  CHECK(contains(text, "  apply anna@laptop  eve rolled back 0 changes  applied "));
}

TEST_CASE("history: what a node reports otherwise than most is printed apart, and so is a run that it reports alone") {
  ClusterHistoryEntry entry = an_apply();
  OtherClaim claim;
  claim.node = "liar";
  claim.outcome = RunOutcome::kRolledBack;
  claim.undone_by = "r\x1b[2J";
  claim.saved_plan = "";
  entry.other_claims = {claim};
  const auto text = history_text({entry}, false, ahead(), columns(1000));
  CHECK(contains(text, "  applied "));
  CHECK(contains(text, ", liar says: rolled back, undone by r"));
  CHECK(contains(text, ", of no plan\n"));
  CHECK_FALSE(contains(text, "\x1b"));
  const auto json = parse_plain_json(public_json(history_json("lab", {entry}, {}, false)));
  REQUIRE(json);
  const Value& run = json->find("runs")->list_items()->at(0);
  CHECK(run.text_or("outcome", "") == "applied");
  CHECK(run.find("undone_by") == nullptr);
  const Value& other = run.find("other_claims")->list_items()->at(0);
  CHECK(other.text_or("node", "") == "liar");
  CHECK(other.text_or("outcome", "") == "rolled_back");
  ClusterHistoryEntry alone = an_apply();
  alone.nodes = {"liar"};
  alone.journals = 3;
  CHECK(contains(history_text({alone}, false, ahead(), columns(1000)), ", reported only by liar\n"));
  alone.is_recorded = true;
  CHECK_FALSE(contains(history_text({alone}, false, ahead(), columns(1000)), "reported"));
}

TEST_CASE("history: a node with hundreds of damaged journals has four errors") {
  NodeHistory history;
  history.node = "liar";
  for (const std::size_t damaged : {0U, 1U, 3U, 256U}) {
    history.reply.damaged.assign(damaged, {"/var/lib/sparkplan/journal/x", Error{ErrorCode::kFailed, "y", {}, {}, ""}});
    CHECK(gaps_in(history).size() == std::min<std::size_t>(damaged, 4));
  }
  CHECK(gaps_in(history).back().message == "253 more of its journals are damaged");
}

}  // namespace sparkplan
