// Reading journals again: the actions of a run, how to undo them, and the lock holder.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/agent/apply/undo.h"
#include "engine/agent/state/journal_reader.h"
#include "engine/agent/state/node_lock.h"
#include "tests/unit/agent/executor_bench.h"

namespace sparkplan {
namespace {

using test::ExecutorBench;
using test::file_step;
using test::knob;
using test::knob_step;
using test::ScratchDirectory;
using test::set_to;

const std::string kJournalFolder = "/var/lib/sparkplan/journal/";

RunJournal journal_of(const ExecutorBench& bench) {
  auto journal = parse_journal(bench.run_id(), bench.root.read(kJournalFolder + bench.run_id() + ".jsonl"));
  REQUIRE(journal);
  return *std::move(journal);
}

UndoReply undo_of(const ExecutorBench& bench, const std::string& run = "") {
  const auto journals = read_journals(bench.node);
  REQUIRE(journals);
  auto reply = what_undoes({run}, *journals, bench.registry, bench.node);
  REQUIRE(reply);
  return *std::move(reply);
}

std::vector<std::string> artifacts(const std::vector<Step>& steps) {
  std::vector<std::string> names;
  for (const auto& step : steps) names.push_back(step.artifact.str());
  return names;
}

}  // namespace

TEST_CASE("a journal contains each step's values, its outcome and the earlier manifest entry") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  bench.manifest.resources[{"fake", "a"}] = {Value(7), {knob("a")}};
  bench.carry_out({knob_step("a", set_to("old"), set_to("new")), knob_step("b", Absent{}, set_to("1"))});
  const auto journal = journal_of(bench);
  REQUIRE(journal.steps.size() == 2);
  const auto& first = journal.steps[0];
  CHECK(first.step.artifact == knob("a"));
  CHECK(same_state(first.step.before, set_to("old")));
  CHECK(first.outcome == StepOutcome::kDone);
  REQUIRE(first.managed.at({"fake", "a"}));
  CHECK(first.managed.at({"fake", "a"})->last_applied == Value(7));
  CHECK_FALSE(journal.steps[1].managed.at({"fake", "b"}));
  // The run wrote no manifest at its end.
  CHECK(journal.outcome() == RunOutcome::kBrokenOff);
}

TEST_CASE("a truncated last line is ignored, and a step without a result is broken off") {
  ExecutorBench bench;
  bench.carry_out({knob_step("a", Absent{}, set_to("1"))});
  const auto whole = bench.root.read(kJournalFolder + bench.run_id() + ".jsonl");
  const auto intent_end = whole.find('\n') + 1;
  for (auto length = intent_end; length < whole.size(); ++length) {
    const auto journal = parse_journal("run", whole.substr(0, length));
    REQUIRE(journal);
    REQUIRE(journal->steps.size() == 1);
    CHECK_FALSE(journal->steps[0].outcome);
    CHECK(journal->outcome() == RunOutcome::kBrokenOff);
  }
}

TEST_CASE("an invalid line is reported with its number") {
  for (const std::string line :
       {"nonsense", "[]", "{\"event\": \"intent\"}", "{\"event\":\"result\",\"artifact\":\"x\"}",
        "{\"event\":\"result\",\"artifact\":\"a:b\",\"outcome\":\"splendid\"}", ""}) {
    INFO(line);
    const auto journal = parse_journal("run", "{\"event\": \"begin\"}\n" + line + "\n{\"event\": \"commit\"}\n");
    REQUIRE_FALSE(journal);
    CHECK(journal.error().code == ErrorCode::kInvalidInput);
    CHECK(journal.error().describe().find("line 2") != std::string::npos);
  }
}

TEST_CASE("unknown events are ignored, and a rollback event makes the run rolled back") {
  const auto journal = parse_journal("run",
                                     "{\"event\":\"begin\",\"who\":\"anna@laptop\"}\n{\"event\":\"fanfare\"}\n"
                                     "{\"event\":\"rolled_back\",\"reason\":\"nobody came\"}\n");
  REQUIRE(journal);
  CHECK(journal->who == "anna@laptop");
  CHECK(journal->outcome() == RunOutcome::kRolledBack);
  CHECK_FALSE(journal->changed_something());
}

namespace {

/// Adds a line to the journal of the last run, as a trial and its rollback do.
void note_event(ExecutorBench& bench, const std::string& event) {
  const std::string file = kJournalFolder + bench.run_id() + ".jsonl";
  bench.root.write(file, bench.root.read(file) + "{\"event\":\"" + event + "\"}\n");
}

/// A stage of the last run: it changes a knob from "old" to "new".
void change_in_same_run(ExecutorBench& bench, const std::string& name) {
  bench.root.write("/knobs/" + name, "old");
  if (bench.runs > 0) --bench.runs;
  bench.carry_out({knob_step(name, set_to("old"), set_to("new"))});
}

}  // namespace

TEST_CASE("history: a trial that the node has rolled back leaves the safe changes of its run to a rollback") {
  ExecutorBench bench;
  change_in_same_run(bench, "safe");
  note_event(bench, "armed");
  change_in_same_run(bench, "tried");
  bench.root.write("/knobs/tried", "old");
  note_event(bench, "rolled_back");
  const auto journal = journal_of(bench);
  CHECK(journal.changed_something());
  CHECK(journal.outcome() == RunOutcome::kFailed);
  REQUIRE(journal.steps.size() == 2);
  CHECK(journal.steps[0].outcome == StepOutcome::kDone);
  CHECK(journal.steps[1].outcome == StepOutcome::kUndone);
  const auto undo = undo_of(bench);
  CHECK(undo.run == bench.run_id());
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"knob:safe"});
  CHECK(undo.kept.empty());
}

TEST_CASE("history: a trial that was rolled back leaves an earlier one of the same run to a rollback") {
  ExecutorBench bench;
  bench.root.write("/knobs/first", "old");
  bench.carry_out({});
  note_event(bench, "armed");
  change_in_same_run(bench, "first");
  note_event(bench, "confirmed");
  change_in_same_run(bench, "safe");
  note_event(bench, "armed");
  change_in_same_run(bench, "second");
  bench.root.write("/knobs/second", "old");
  note_event(bench, "rolled_back");
  CHECK(artifacts(undo_of(bench).steps) == std::vector<std::string>{"knob:safe", "knob:first"});
}

TEST_CASE("history: of a run that was one trial, nothing is left to a rollback if the node has rolled it back") {
  ExecutorBench bench;
  change_in_same_run(bench, "before");
  ++bench.runs;
  bench.carry_out({});
  note_event(bench, "armed");
  change_in_same_run(bench, "tried");
  bench.root.write("/knobs/tried", "old");
  note_event(bench, "rolled_back");
  CHECK(journal_of(bench).outcome() == RunOutcome::kRolledBack);
  CHECK_FALSE(journal_of(bench).changed_something());
  CHECK(artifacts(undo_of(bench).steps) == std::vector<std::string>{"knob:before"});
}

TEST_CASE("a damaged journal is listed beside readable ones") {
  ExecutorBench bench;
  bench.carry_out({knob_step("a", Absent{}, set_to("1"))});
  bench.root.write(kJournalFolder + "run-0.jsonl", "nonsense\n");
  const auto journals = read_journals(bench.node);
  REQUIRE(journals);
  CHECK(journals->runs.size() == 1);
  REQUIRE(journals->damaged.size() == 1);
  CHECK(journals->damaged[0].file == kJournalFolder + "run-0.jsonl");
}

TEST_CASE("runs are sorted by their succession, not by their controllers' clocks") {
  const ScratchDirectory root;
  root.write(kJournalFolder + "20300101T000000Z-00000000.jsonl", "{\"event\":\"begin\",\"previous\":\"\"}\n");
  root.write(kJournalFolder + "20260101T000000Z-00000000.jsonl",
             "{\"event\":\"begin\",\"previous\":\"20300101T000000Z-00000000\"}\n");
  const auto node = LocalNode::open(root.path());
  REQUIRE(node);
  const auto journals = read_journals(*node);
  REQUIRE(journals);
  REQUIRE(journals->runs.size() == 2);
  CHECK(journals->runs[0].run == "20260101T000000Z-00000000");
}

TEST_CASE("steps are undone last first, from the current state to the earlier one") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  bench.carry_out(
      {knob_step("a", set_to("old"), set_to("new")), file_step("/etc/f", Absent{}, file_present("x", 0644))});
  const auto undo = undo_of(bench);
  CHECK(undo.run == bench.run_id());
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"file:/etc/f", "knob:a"});
  CHECK(same_state(undo.steps[1].before, set_to("new")));
  CHECK(same_state(undo.steps[1].after, set_to("old")));
  CHECK(std::holds_alternative<Absent>(undo.steps[0].after));
  CHECK(undo.kept.empty());
  CHECK(undo.managed_before.count({"fake", "a"}) == 1);
}

TEST_CASE("an artifact changed in several stages is restored to its state before the first") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "1");
  bench.carry_out({knob_step("a", set_to("1"), set_to("2"))});
  --bench.runs;
  bench.carry_out({knob_step("a", set_to("2"), set_to("3"))});
  const auto undo = undo_of(bench);
  REQUIRE(undo.steps.size() == 1);
  CHECK(same_state(undo.steps[0].before, set_to("3")));
  CHECK(same_state(undo.steps[0].after, set_to("1")));
}

TEST_CASE("changed and irreversible artifacts are kept, with the reason") {
  ExecutorBench bench;
  auto one_way = knob_step("b", Absent{}, set_to("1"), "2");
  one_way.reversible = Reversible::kNo;
  bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), one_way, knob_step("c", Absent{}, set_to("1"), "3")});
  bench.root.write("/knobs/a", "by hand");
  const auto undo = undo_of(bench);
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"knob:c"});
  REQUIRE(undo.kept.size() == 2);
  CHECK(undo.kept[0].reason == "it was changed since");
  CHECK(undo.kept[1].reason == "it cannot be undone");
}

TEST_CASE("an already restored artifact needs no undo, as after a broken-off rollback") {
  ExecutorBench bench;
  bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  bench.root.remove("/knobs/b");
  const auto undo = undo_of(bench);
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"knob:a"});
  CHECK(undo.kept.empty());
}

TEST_CASE("an activation is undone alone and last, and kept if it has changed since") {
  ExecutorBench bench;
  auto mount = knob_step("mount", Absent{}, set_to("mounted"), "mount/a");
  mount.activates = true;
  mount.phase = Phase::kStorage;
  bench.carry_out({mount, knob_step("a", Absent{}, set_to("1"), "1")});
  CHECK(artifacts(undo_of(bench).steps) == std::vector<std::string>{"knob:a", "knob:mount"});
  bench.root.write("/knobs/mount", "somebody else's");
  const auto undo = undo_of(bench);
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"knob:a"});
  REQUIRE(undo.kept.size() == 1);
  CHECK(undo.kept.front().artifact == knob("mount"));
}

TEST_CASE("a rollback does not restore an artifact that other nodes may use by now, but may remove one") {
  ExecutorBench bench;
  bench.hooks.exports_everywhere = true;
  bench.registry = test::fake_registry(bench.hooks);
  bench.root.write("/knobs/old", "writes");
  bench.carry_out({knob_step("old", set_to("writes"), Absent{}, "1"), knob_step("new", Absent{}, set_to("1"), "2")});
  const auto undo = undo_of(bench);
  CHECK(artifacts(undo.steps) == std::vector<std::string>{"knob:new"});
  REQUIRE(undo.kept.size() == 1);
  CHECK(undo.kept.front().artifact == knob("old"));
  CHECK(undo.kept.front().reason.starts_with("other nodes may now use what"));
}

TEST_CASE("an activation is undone after its files and never without them, and the network comes last") {
  ExecutorBench bench;
  auto link = knob_step("link", Absent{}, set_to("up"), "net");
  link.activates = true;
  link.phase = Phase::kNetwork;
  auto file = file_step("/etc/net", Absent{}, file_present("x", 0644), "net");
  file.phase = Phase::kNetwork;
  bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), file, link});
  CHECK(artifacts(undo_of(bench).steps) == std::vector<std::string>{"knob:a", "file:/etc/net", "knob:link"});
  bench.root.write("/etc/net", "by hand");
  CHECK(artifacts(undo_of(bench).steps) == std::vector<std::string>{"knob:a"});
}

TEST_CASE("a journal of an older version is listed in the history and refused for a rollback") {
  ExecutorBench bench;
  bench.root.write(kJournalFolder + "run-1.jsonl",
                   R"({"event":"intent","type":"fake","artifact":"knob:a","before":{"state":"absent"},)"
                   R"("after":{"state":"absent"}})"
                   "\n");
  const auto journals = read_journals(bench.node);
  REQUIRE(journals);
  CHECK(history_of(*journals, true).runs.size() + journals->damaged.size() == 1);
  if (journals->damaged.empty()) {
    const auto undo = what_undoes({}, *journals, bench.registry, bench.node);
    REQUIRE_FALSE(undo);
    CHECK(undo.error().code == ErrorCode::kUnsupported);
  }
}

TEST_CASE("breaking a lock ends only the process that holds it") {
  const ScratchDirectory root;
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  const LockHolder anna{"anna@laptop", 4242, "apply", "2026-03-01T12:00:00Z"};
  CHECK(break_lock({anna.describe(), ""}, *node).error().code == ErrorCode::kNotFound);
  // The child runs the same program as this process, like a second agent.
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, SIG_DFL);  // The test program handles SIGTERM to report it.
    const auto lock = NodeLock::acquire(anna, *node);
    const char told = lock ? 'y' : 'n';
    (void)!::write(ready[1], &told, 1);
    while (true) ::pause();
  }
  char told = '?';
  REQUIRE(::read(ready[0], &told, 1) == 1);
  REQUIRE(told == 'y');
  CHECK(break_lock({"bert@desk (process 7, apply since then)", ""}, *node).error().code == ErrorCode::kBusy);
  root.write("/var/lib/sparkplan/txn/1/armed", "");
  CHECK(break_lock({anna.describe(), ""}, *node).error().code == ErrorCode::kRefused);
  CHECK(*lock_holder(*node));
  root.remove("/var/lib/sparkplan/txn");
  CHECK(break_lock({anna.describe(), ""}, *node));
  CHECK_FALSE(*lock_holder(*node));
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGTERM);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock whose file names another process is not broken by ending that process") {
  const ScratchDirectory root;
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  const LockHolder anna{"anna@laptop", 4242, "apply", "2026-03-01T12:00:00Z"};
  const auto lock = NodeLock::acquire(anna, *node);
  REQUIRE(lock);
  auto text = root.read("/var/lib/sparkplan/lock");
  const auto ours = "\"agent_started\":" + std::to_string(start_of_process(::getpid()));
  const auto at = text.find(ours);
  REQUIRE(at != std::string::npos);
  root.write("/var/lib/sparkplan/lock", text.replace(at, ours.size(), "\"agent_started\":1"));
  const auto broken = break_lock({anna.describe(), ""}, *node);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == ErrorCode::kRefused);
}

}  // namespace sparkplan
