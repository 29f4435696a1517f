// Changes on trial: who confirms them, which are rolled back, which are kept.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "engine/agent/session/session.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/agent/trial/transaction_end.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/fake_type.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {
namespace {

/// Records its calls, and starts no timer.
class NotedTimer final : public RollbackTimer {
 public:
  Result<void> start(const std::string&, const std::filesystem::path&, std::chrono::seconds, LocalNode&) override {
    ++started;
    return {};
  }
  Result<void> guard_boot(const std::string&, const std::filesystem::path&, LocalNode&) override { return {}; }
  Result<void> stop(const std::string&, LocalNode&) override {
    ++stopped;
    return {};
  }
  int started = 0;
  int stopped = 0;
};

const std::string kPath = "/etc/sysctl.d/90-sparkplan.conf";

ApplyRequest one_file(const std::string& before, const std::string& after) {
  ApplyRequest request;
  request.run = "20260301T120000Z-4f9a1c";
  request.node = "n1";
  request.window_seconds = 90;
  Step step;
  step.type = "fake";
  step.artifact = file_artifact(kPath);
  step.before = before.empty() ? Observation(Absent{}) : file_present(before, 0644);
  step.after = file_present(after, 0644);
  step.resources = {{"fake", "a"}};
  step.disruptive = true;
  request.steps.push_back(step);
  request.after_steps[{"fake", "a"}] = Value::map({{"persistent", "1"}});
  return request;
}

struct Bench {
  ScratchDirectory root;
  LocalNode node = LocalNode::open(root.path()).value();
  NotedTimer timer;
  FakeHooks hooks;
  Registry registry = fake_registry(hooks);

  Transaction armed(const ApplyRequest& request) {
    auto transaction = Transaction::prepare(request, {"anna@laptop", 42, "apply", "now"}, node).value();
    REQUIRE(transaction.arm(node));
    return transaction;
  }
  void write(const std::string& content) { REQUIRE(node.write_file(kPath, FileContent{content, 0644, 0, 0})); }
  std::string content() const { return node.read_file(kPath).value_or("(none)"); }
};

}  // namespace

TEST_CASE("a transaction is begun, armed, and then committed or rolled back") {
  Bench bench;
  CHECK_FALSE(Transaction::find(bench.node).value());
  auto transaction =
      Transaction::prepare(one_file("", "a = 1\n"), {"anna@laptop", 42, "apply", "now"}, bench.node).value();
  CHECK(transaction.state(bench.node) == TransactionState::kBegun);
  REQUIRE(transaction.arm(bench.node));
  CHECK(transaction.state(bench.node) == TransactionState::kArmed);
  CHECK(transaction.claim(TransactionState::kCommitted, bench.node) == true);
  CHECK(transaction.claim(TransactionState::kRolledBack, bench.node) == false);
  CHECK(transaction.claim(TransactionState::kCommitted, bench.node) == false);
  CHECK(transaction.state(bench.node) == TransactionState::kCommitted);
}

TEST_CASE("of a concurrent commit and rollback exactly one succeeds, 200 times") {
  int commits = 0;
  for (int race = 0; race < 200; ++race) {
    Bench bench;
    auto transaction = bench.armed(one_file("", "a = 1\n"));
    std::array<bool, 2> won{};
    {
      std::jthread commit([&] {
        auto mine = Transaction::find(bench.node).value().value();
        won[0] = mine.claim(TransactionState::kCommitted, bench.node).value();
      });
      std::jthread rollback([&] {
        auto mine = Transaction::find(bench.node).value().value();
        won[1] = mine.claim(TransactionState::kRolledBack, bench.node).value();
      });
    }
    REQUIRE(won[0] != won[1]);
    REQUIRE(transaction.state(bench.node) == (won[0] ? TransactionState::kCommitted : TransactionState::kRolledBack));
    commits += won[0] ? 1 : 0;
  }
  INFO("committed " << commits << " of 200");
  SUCCEED();
}

TEST_CASE("a rollback restores unchanged files and keeps files that were changed since") {
  Bench bench;
  bench.write("a = 0\n");
  auto transaction = bench.armed(one_file("a = 0\n", "a = 1\n"));
  REQUIRE(transaction.claim(TransactionState::kRolledBack, bench.node) == true);

  SECTION("unchanged since") {
    bench.write("a = 1\n");
    REQUIRE(undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer));
    CHECK(bench.content() == "a = 0\n");
  }
  SECTION("not yet written") {
    REQUIRE(undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer));
    CHECK(bench.content() == "a = 0\n");
  }
  SECTION("changed since") {
    bench.write("a = 7\n");
    REQUIRE(undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer));
    CHECK(bench.content() == "a = 7\n");
    CHECK(transaction.report(bench.node)->not_restored == std::vector<std::string>{kPath + ": it was changed since"});
  }
  CHECK(transaction.is_undone(bench.node));
  CHECK(bench.timer.stopped == 1);
  // A second rollback changes nothing.
  const auto now = bench.content();
  REQUIRE(undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer));
  CHECK(bench.content() == now);
}

TEST_CASE("a failed rollback keeps the record, a backup and manual commands") {
  Bench bench;
  bench.write("a = 1\n");
  auto transaction = bench.armed(one_file("a = 0\n", "a = 1\n"));
  REQUIRE(transaction.claim(TransactionState::kRolledBack, bench.node) == true);
  // A directory blocks the temporary file: even root cannot write there.
  std::filesystem::create_directories(bench.root.path() / "etc/sysctl.d/.90-sparkplan.conf.sparkplan-new/x");
  const auto undone = undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer);
  REQUIRE_FALSE(undone);
  CHECK(undone.error().hint.find("--rollback " + transaction.run()) != std::string::npos);
  const auto report = transaction.report(bench.node).value();
  CHECK(report.state == TransactionState::kRollbackFailed);
  REQUIRE(report.manual_commands.size() == 3);
  CHECK(report.manual_commands[1].find("backup-1' '" + kPath + "'") != std::string::npos);
  CHECK(report.manual_commands[2].ends_with("agent' --forget " + transaction.run()));
  CHECK(bench.node.read_file(transaction.directory() / "backup-1") == "a = 0\n");

  // The test removes the cause, as the first of those commands does, and retries.
  std::filesystem::remove_all(bench.root.path() / "etc/sysctl.d/.90-sparkplan.conf.sparkplan-new");
  REQUIRE(roll_back_by_timer(transaction.run(), bench.registry, bench.node, bench.timer));
  CHECK(bench.content() == "a = 0\n");
  CHECK(transaction.report(bench.node)->state == TransactionState::kRolledBack);
}

TEST_CASE("a person can remove the record of a rollback that failed, and of no other change") {
  Bench bench;
  bench.write("a = 1\n");
  auto transaction = bench.armed(one_file("a = 0\n", "a = 1\n"));
  const auto forget = [&](const std::string& run) {
    return forget_failed_rollback(run, bench.registry, bench.node, bench.timer);
  };
  const auto refused = forget(transaction.run());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kRefused);
  REQUIRE(transaction.claim(TransactionState::kRolledBack, bench.node) == true);
  std::filesystem::create_directories(bench.root.path() / "etc/sysctl.d/.90-sparkplan.conf.sparkplan-new/x");
  REQUIRE_FALSE(undo(transaction, UndoScope::kAll, bench.registry, bench.node, bench.timer));
  CHECK(forget("20260301T120000Z-another").error().code == ErrorCode::kNotFound);
  {
    const auto retry = transaction.begin_work(bench.node).value();
    CHECK(forget(transaction.run()).error().code == ErrorCode::kBusy);
  }
  REQUIRE(forget(transaction.run()));
  CHECK_FALSE(Transaction::find(bench.node).value());
  CHECK(bench.timer.stopped == 1);
  CHECK(bench.content() == "a = 1\n");
}

TEST_CASE("repair words: the commands after the first one are for a retry that fails") {
  CHECK(repair_words({}).empty());
  CHECK(repair_words({"a --rollback 1"}) == "run on the node, as root: a --rollback 1");
  CHECK(repair_words({"a --rollback 1", "cp b c", "a --forget 1"}) ==
        "run on the node, as root: a --rollback 1; if that fails: cp b c && a --forget 1");
}

TEST_CASE("finishing updates the manifest and removes the transaction") {
  Bench bench;
  bench.write("a = 1\n");
  auto transaction = bench.armed(one_file("", "a = 1\n"));
  REQUIRE(transaction.claim(TransactionState::kCommitted, bench.node) == true);
  REQUIRE(finish(transaction, bench.registry, bench.node, bench.timer));
  CHECK_FALSE(Transaction::find(bench.node).value());
  const auto manifest = read_manifest(bench.node).value().value();
  CHECK(manifest.resources.count({"fake", "a"}) == 1);
  CHECK(manifest.artifacts.at(file_artifact(kPath)).written_digest == digest(file_present("a = 1\n", 0644)));
  CHECK(bench.content() == "a = 1\n");
}

TEST_CASE("the timer does not roll back a confirmed change") {
  Bench bench;
  bench.write("a = 1\n");
  auto transaction = bench.armed(one_file("a = 0\n", "a = 1\n"));
  REQUIRE(transaction.claim(TransactionState::kCommitted, bench.node) == true);
  REQUIRE(roll_back_by_timer(transaction.run(), bench.registry, bench.node, bench.timer));
  CHECK(bench.content() == "a = 1\n");
  REQUIRE(roll_back_by_timer("20260301T120000Z-another", bench.registry, bench.node, bench.timer));
  CHECK(bench.content() == "a = 1\n");
}

TEST_CASE("a run waits for a change on trial, and ends one whose timer has been lost") {
  Bench bench;
  bench.write("a = 1\n");
  auto transaction = bench.armed(one_file("a = 0\n", "a = 1\n"));
  const auto lock = [&] {
    AgentSession session(
        bench.registry, LocalNode::open(bench.root.path()).value(), [] { return false; }, [](std::string_view) {});
    return session.answer(LockRequest{{"bob@desk", 7, "apply", "now"}, {}});
  };
  REQUIRE(transaction.set_deadline(std::chrono::seconds(90), bench.node));
  const auto refused = lock();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kBusy);
  CHECK(bench.content() == "a = 1\n");

  REQUIRE(transaction.set_deadline(std::chrono::seconds(-90), bench.node));
  CHECK(lock());
  CHECK(bench.content() == "a = 0\n");
  CHECK_FALSE(Transaction::find(bench.node).value());
}

TEST_CASE("an unreadable record is named, and no state is guessed") {
  Bench bench;
  auto transaction = bench.armed(one_file("", "a = 1\n"));
  REQUIRE(bench.node.write_file(transaction.directory() / "record.json", FileContent{"{\"requ", 0600, 0, 0}));
  const auto found = Transaction::find(bench.node);
  REQUIRE_FALSE(found);
  CHECK(found.error().describe().find(transaction.directory().string()) != std::string::npos);
}

TEST_CASE("a file on trial is read and written at its volatile path") {
  Bench bench;
  const StagedFile file{"/etc/netplan/60-x.yaml", "/run/netplan/60-x.yaml", "network:\n  version: 2\n"};
  const auto directory = [&](const char* path) {
    return bench.node.list_directory(path).value_or(std::vector<std::string>{"(none)"});
  };
  REQUIRE(bench.node.write_file(file.path, FileContent{"old\n", 0600, 0, 0}));
  bench.node.stage(file);
  CHECK(bench.node.read_file(file.path) == "old\n");

  REQUIRE(bench.node.write_file(file.path, FileContent{"new\n", 0600, 0, 0}));
  CHECK(bench.node.read_file(file.path) == "new\n");
  CHECK(directory("/etc/netplan") == std::vector<std::string>{"60-x.yaml"});
  CHECK(directory("/run/netplan").empty());

  REQUIRE(bench.node.remove_file(file.path));
  CHECK(bench.node.read_file(file.path).error().code == ErrorCode::kNotFound);
  CHECK(bench.node.status(file.path).error().code == ErrorCode::kNotFound);
  CHECK(directory("/etc/netplan").empty());

  bench.node.unstage();
  CHECK(bench.node.read_file(file.path) == "old\n");
  CHECK(directory("/run/netplan") == std::vector<std::string>{"60-x.yaml"});
}

TEST_CASE("an unreadable packet filter is not treated as one without rules") {
  CHECK(filter_of(CommandOutput{0, "table inet filter {\n}\n", ""}) == "table inet filter {\n}\n");
  CHECK(filter_of(CommandOutput{0, "", ""}) == "");
  CHECK(filter_of(failure(ErrorCode::kNotFound, "there is no nft")) == "");
  CHECK(filter_of(CommandOutput{1, "", "Operation not permitted\n"}) == std::nullopt);
  CHECK(filter_of(failure(ErrorCode::kFailed, "nft prints more than 4194304 bytes")) == std::nullopt);
  CHECK(filter_of(failure(ErrorCode::kUnreachable, "nft did not end within 10 s")) == std::nullopt);
}

TEST_CASE("the snapshot of the packet filter survives encoding") {
  ConnectivitySnapshot snapshot;
  snapshot.links.push_back({"enp1s0", 9000, true, {"10.0.0.11/24"}});
  for (const std::optional<std::string>& filter : {std::optional<std::string>(), std::optional<std::string>(""),
                                                   std::optional<std::string>("table inet filter {\n}\n")}) {
    snapshot.filter = filter;
    const auto kept = decode<ConnectivitySnapshot>(encode(snapshot));
    REQUIRE(kept);
    CHECK(kept->filter == filter);
    CHECK(kept->links.size() == 1);
  }
}

}  // namespace sparkplan::test
