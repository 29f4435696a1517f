// Whole runs with nodes that lie about what they have.
#include "engine/sync/sync_run.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/report/sync_report.h"
#include "tests/support/catch.h"
#include "tests/unit/sync/copy_nodes.h"

namespace sparkplan {
namespace {

using test::CopyNode;
using test::honest;
using test::Peer;
using test::say;

CopyEntry copied_file(const std::string& path, std::int64_t size, const std::string& sum) {
  CopyEntry entry;
  entry.path = path;
  entry.size = size;
  entry.mode = 0644;
  entry.sum = sum;
  return entry;
}

/// Has these files, and takes part in a transfer.
test::CopyReaction with_files(std::vector<CopyEntry> entries) {
  return [entries = std::move(entries)](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.exists = true;
      say(self, opened);
    } else if (std::holds_alternative<CopyLook>(command)) {
      for (std::size_t at = 0; at < entries.size(); at += kMostEntriesInFrame) {
        CopyEntries part;
        const auto end = std::min(entries.size(), at + kMostEntriesInFrame);
        part.entries.assign(entries.begin() + static_cast<std::ptrdiff_t>(at),
                            entries.begin() + static_cast<std::ptrdiff_t>(end));
        say(self, part);
      }
      say(self, CopyLooked{{}, CopyRoot{0700, 0, "root", "root"}});
    } else {
      honest(command, self);
    }
  };
}

/// A fake copies its reaction before each call, so the reaction has to share the number.
void say_read(Peer& peer, std::int64_t bytes) {
  CopyProgress progress;
  progress.read_bytes = bytes;
  say(peer, progress);
}

struct RunBench {
  explicit RunBench(std::size_t count, const std::string& from = "") : nodes(count), cluster(test::on_a_switch(count)) {
    Value record = Value::map({{"path", "/srv/models/one"}});
    if (!from.empty()) record.set("from", from);
    Value records{Value::List{}};
    records.push_back(record);
    for (NodeSpec& node : cluster.nodes) node.sections.emplace("models", records);
  }

  SyncReport run() {
    RunOptions run;
    run.agent = test::options_for(nodes, 4);
    run.selection = selection;
    return sync_content(cluster, run, options);
  }

  std::vector<CopyNode> nodes;
  Cluster cluster;
  Selection selection;
  SyncOptions options;
};

}  // namespace

TEST_CASE("sync run: where the source was not read, no other node is called present") {
  RunBench bench(3, "spark-01");
  bench.options.patience.total = std::chrono::milliseconds(300);
  for (CopyNode& node : bench.nodes) node.reaction = with_files({copied_file("a", 1, "s")});
  bench.nodes[0].reaction = [](const CopyCommand& /*command*/, Peer& /*self*/) {};
  const auto report = bench.run();
  CHECK(report.items[0].error);
  CHECK(report.items[0].nodes[0].status == ContentStatus::kUnreachable);
  CHECK(report.items[0].nodes[1].status == ContentStatus::kUnread);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kUnread);
}

TEST_CASE("sync run: progress without end does not hold a listing") {
  RunBench bench(3);
  bench.options.dry_run = true;
  bench.options.patience.total = std::chrono::milliseconds(300);
  for (CopyNode& node : bench.nodes) node.reaction = with_files({copied_file("a", 1, "s")});
  bench.nodes[1].reaction = [](const CopyCommand& command, Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.exists = true;
      say(self, opened);
    }
    if (!std::holds_alternative<CopyLook>(command)) return;
    self.on_read = [](Peer& peer) { say(peer, CopyProgress{}); };
  };
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kUnreachable);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kPresent);
}

TEST_CASE("sync run: what a node claims to have beside the source's files gives it no time to read them") {
  RunBench bench(2);
  bench.options.dry_run = true;
  bench.options.patience.total = std::chrono::milliseconds(300);
  for (NodeSpec& node : bench.cluster.nodes) {
    Value records{Value::List{}};
    records.push_back(Value::map({{"path", "/srv/models/one"}, {"from", "n1"}}));
    node.sections.insert_or_assign("models", records);
  }
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s")});
  const auto usual = with_files({copied_file("a", 1, ""), copied_file("own", std::int64_t{1} << 40U, "")});
  bench.nodes[1].reaction = [usual](const CopyCommand& command, Peer& self) {
    const auto* look = std::get_if<CopyLook>(&command);
    if (look == nullptr || !look->read) return usual(command, self);
    self.on_read = [read = std::make_shared<std::int64_t>(0)](Peer& peer) { say_read(peer, ++*read); };
  };
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kUnreachable);
  CHECK(report.items[0].nodes[0].status == ContentStatus::kPresent);
}

TEST_CASE("sync run: with verify the source has time for the size that it claims, unless --only leaves it out") {
  using Clock = std::chrono::steady_clock;
  RunBench bench(3);
  bench.options.dry_run = true;
  bench.options.verify = true;
  bench.options.patience.total = std::chrono::milliseconds(300);
  const auto usual = with_files({copied_file("a", std::int64_t{1} << 40U, "s")});
  bench.nodes[0].reaction = [usual](const CopyCommand& command, Peer& self) {
    const auto* look = std::get_if<CopyLook>(&command);
    if (look == nullptr || !look->read) return usual(command, self);
    const auto end = Clock::now() + std::chrono::milliseconds(900);
    self.on_read = [usual, command, end, read = std::make_shared<std::int64_t>(0)](Peer& peer) {
      say_read(peer, ++*read);
      if (Clock::now() < end) return;
      peer.on_read = [](Peer&) {};
      usual(command, peer);
    };
  };
  for (const std::size_t other : {1U, 2U}) bench.nodes[other].reaction = with_files({copied_file("a", 1, "s")});
  const auto begin = Clock::now();
  SECTION("in the run") {
    const auto report = bench.run();
    CHECK(report.items[0].nodes[0].is_source);
    CHECK(report.items[0].nodes[0].status == ContentStatus::kPresent);
    CHECK(Clock::now() - begin > std::chrono::milliseconds(850));
  }
  SECTION("left out") {
    bench.selection = Selection({"n2", "n3"}, {});
    const auto report = bench.run();
    CHECK(report.items[0].nodes[0].status == ContentStatus::kSkipped);
    CHECK(bench.nodes[0].commands.empty());
    CHECK(report.items[0].nodes[2].status == ContentStatus::kPresent);
  }
}

TEST_CASE("sync run: a node that works for long gets signs of life, as its program ends without them") {
  RunBench bench(2);
  bench.options.dry_run = true;
  bench.options.patience.alive = std::chrono::milliseconds(1);
  bench.options.patience.silence = std::chrono::milliseconds(5000);
  const auto usual = with_files({copied_file("a", 1, "s")});
  bench.nodes[0].reaction = usual;
  bench.nodes[1].reaction = [usual](const CopyCommand& command, Peer& self) {
    const bool is_sign = std::holds_alternative<CopyAlive>(command);
    if (is_sign) usual(CopyOpen{}, self);  // So late is the answer.
    if (!is_sign && !std::holds_alternative<CopyOpen>(command)) usual(command, self);
  };
  CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kPresent);
}

TEST_CASE("sync run: digests are asked for only of the source, and only to send") {
  RunBench bench(2);
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "s")});
  bench.nodes[1].reaction = with_files({copied_file("a", 1, "s")});
  bench.options.may_spread = [](const ContentReport&) { return true; };
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].status == ContentStatus::kSent);
  std::vector<bool> of_source;
  for (const CopyLook& look : bench.nodes[0].all<CopyLook>()) of_source.push_back(look.chunks);
  CHECK(of_source == std::vector<bool>{false, true});
  for (const CopyLook& look : bench.nodes[1].all<CopyLook>()) CHECK_FALSE(look.chunks);
}

TEST_CASE("sync run: a receiver gets the mode and owner of the source's own directory") {
  RunBench bench(2, "n1");
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s")});
  bench.nodes[1].reaction = with_files({});
  (void)bench.run();
  REQUIRE(bench.nodes[1].all<CopyBegin>().size() == 1);
  const auto root = bench.nodes[1].all<CopyBegin>()[0].root;
  CHECK((root && root->mode == 0700 && root->user == "root"));
  CHECK_FALSE(bench.nodes[0].all<CopyBegin>().at(0).root);
}

TEST_CASE("sync run: with verify every node computes all of its digests again, and a changed one is found") {
  RunBench bench(2);
  bench.options.dry_run = true;
  bench.options.verify = true;
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "s")});
  const auto before = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "s")});
  const auto after = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "rotten")});
  bench.nodes[1].reaction = [before, after](const CopyCommand& command, Peer& self) {
    const auto* look = std::get_if<CopyLook>(&command);
    (look != nullptr && look->ignore_known ? after : before)(command, self);
  };
  const auto report = bench.run();
  for (const CopyNode& node : bench.nodes) {
    const auto looks = node.all<CopyLook>();
    REQUIRE(looks.size() == 2);
    CHECK_FALSE(looks[0].read);
    CHECK(looks[1].read);
    CHECK(looks[1].ignore_known);
    CHECK(looks[1].paths.empty());
  }
  CHECK(report.items[0].nodes[1].status == ContentStatus::kDiffers);
  CHECK(report.items[0].nodes[1].comparison.differing == std::vector<std::string>{"b"});
}

TEST_CASE("sync run: a node that has read nothing of thousands of files does not send their names to the source") {
  RunBench bench(2);
  bench.options.dry_run = true;
  std::vector<CopyEntry> entries;
  for (int i = 0; i < 2001; ++i) entries.push_back(copied_file("file-" + std::to_string(i), 1, "s"));
  bench.nodes[0].reaction = with_files(entries);
  for (CopyEntry& entry : entries) entry.sum.clear();
  bench.nodes[1].reaction = with_files(entries);
  (void)bench.run();
  for (const CopyNode& node : bench.nodes) {
    const auto looks = node.all<CopyLook>();
    REQUIRE(looks.size() == 2);
    CHECK(looks[1].read);
    CHECK(looks[1].paths.empty());
  }
}

TEST_CASE("sync run: without `from`, files that one node alone has are sent only with consent") {
  RunBench bench(3);
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s")});
  bench.nodes[1].reaction = with_files({copied_file("a", 1, "s"), copied_file("forged", 1 << 20, "x")});
  bench.nodes[2].reaction = with_files({copied_file("a", 1, "s")});
  SECTION("refused") {
    const auto report = bench.run();
    REQUIRE(report.items[0].error);
    CHECK(report.items[0].error->message.find("n2 has 1 file: forged") != std::string::npos);
    CHECK(exit_code(report) == ExitCode::kRefused);
    for (const CopyNode& node : bench.nodes) CHECK(node.all<CopyBegin>().empty());
    TextStyle style;
    CHECK(to_text(report, false, style).find("name the node in `from`") != std::string::npos);
  }
  SECTION("asked, with the name of the node") {
    std::string question;
    bench.options.may_spread = [&](const ContentReport& item) {
      question = spread_question_text(item);
      return true;
    };
    const auto report = bench.run();
    CHECK_FALSE(report.items[0].error);
    CHECK(report.items[0].nodes[2].status == ContentStatus::kSent);
    CHECK(question.find("only n2 has 1 file: forged") != std::string::npos);
  }
  SECTION("named in the file") {
    for (NodeSpec& node : bench.cluster.nodes) {
      Value records{Value::List{}};
      records.push_back(Value::map({{"path", "/srv/models/one"}, {"from", "n2"}}));
      node.sections.insert_or_assign("models", records);
    }
    CHECK(bench.run().items[0].nodes[0].status == ContentStatus::kSent);
  }
}

TEST_CASE("sync run: without `from`, rights that one node alone gives are sent only with consent") {
  RunBench bench(3);
  CopyEntry folder;
  folder.path = "sub";
  folder.kind = CopyKind::kDirectory;
  folder.mode = 0755;
  for (CopyNode& node : bench.nodes) node.reaction = with_files({copied_file("a", 1, "s"), folder});
  folder.mode = 0777;
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s"), folder});
  SECTION("without consent") {
    const auto report = bench.run();
    REQUIRE(report.items[0].error);
    CHECK(report.items[0].error->message.find("n1 has 1 file: sub (writable by more users)") != std::string::npos);
    for (const CopyNode& node : bench.nodes) CHECK(node.all<CopyBegin>().empty());
  }
  SECTION("with consent") {
    bench.options.may_spread = [](const ContentReport&) { return true; };
    CHECK(bench.run().items[0].nodes[1].status == ContentStatus::kSent);
  }
}

TEST_CASE("sync run: a node whose other files may not be replaced still shares the files that are the same") {
  RunBench bench(3);
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "s")});
  bench.nodes[1].reaction = with_files({copied_file("a", 1, "other"), copied_file("b", 1, "s")});
  bench.nodes[2].reaction = with_files({copied_file("a", 1, "s")});
  const auto report = bench.run();
  CHECK_FALSE(report.items[0].error);
  CHECK(report.items[0].nodes[1].status == ContentStatus::kFailed);
  CHECK(report.items[0].nodes[2].status == ContentStatus::kSent);
}

TEST_CASE("sync run: nodes with equal digests are sources too, and one with others is none") {
  RunBench bench(6);
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s")});
  bench.nodes[1].reaction = with_files({copied_file("a", 1, "s"), copied_file("own", 1, "s")});
  bench.nodes[2].reaction = with_files({copied_file("a", 1, "other")});
  for (const std::size_t i : {3U, 4U, 5U}) bench.nodes[i].reaction = with_files({});
  for (NodeSpec& node : bench.cluster.nodes) {
    Value records{Value::List{}};
    records.push_back(Value::map({{"path", "/srv/models/one"}, {"from", "n1"}}));
    node.sections.insert_or_assign("models", records);
  }
  const auto report = bench.run();
  const auto& nodes = report.items[0].nodes;
  CHECK(nodes[1].status == ContentStatus::kPresent);
  CHECK(nodes[2].status == ContentStatus::kFailed);
  for (const std::size_t i : {3U, 4U, 5U}) CHECK(nodes[i].status == ContentStatus::kSent);
  REQUIRE(bench.nodes[1].all<CopyBegin>().size() == 1);
  CHECK(bench.nodes[1].all<CopyBegin>().front().source);
  // The source does not have the file of this node alone.
  CHECK(bench.nodes[1].all<CopyExpect>().front().entries.size() == 1);
  CHECK_FALSE(bench.nodes[1].all<CopyServe>().empty());
  CHECK(bench.nodes[2].all<CopyBegin>().empty());
  CHECK(bench.nodes[2].all<CopyServe>().empty());
}

TEST_CASE("sync run: nodes that have everything are listed once, and nothing is read, written or sent") {
  RunBench bench(3);
  for (CopyNode& node : bench.nodes) node.reaction = with_files({copied_file("a", 200'000'000'000, "s")});
  const auto report = bench.run();
  for (const ContentOfNode& node : report.items[0].nodes) CHECK(node.status == ContentStatus::kPresent);
  for (const CopyNode& node : bench.nodes) {
    REQUIRE(node.commands.size() == 2);
    CHECK_FALSE(node.all<CopyOpen>().front().write);
    CHECK_FALSE(node.all<CopyLook>().front().read);
    CHECK_FALSE(node.all<CopyLook>().front().chunks);
  }
}

TEST_CASE("sync run: without `from`, a node that lacks a file does not get it where the others disagree on it") {
  RunBench bench(3);
  bench.nodes[0].reaction = with_files({copied_file("a", 1 << 20, "forged"), copied_file("b", 1, "s")});
  bench.nodes[1].reaction = with_files({copied_file("a", 1, "s"), copied_file("b", 1, "s")});
  bench.nodes[2].reaction = with_files({copied_file("b", 1, "s")});
  SECTION("without consent") {
    const auto report = bench.run();
    REQUIRE(report.items[0].error);
    CHECK(report.items[0].error->message.find("n1 has 1 file: a") != std::string::npos);
    for (const CopyNode& node : bench.nodes) CHECK(node.all<CopyBegin>().empty());
  }
  SECTION("the consent to replace the file on the other node is not enough") {
    bench.options.may_replace = [](const ContentReport&) { return true; };
    const auto report = bench.run();
    CHECK(report.items[0].error);
    for (const CopyNode& node : bench.nodes) CHECK(node.all<CopyBegin>().empty());
  }
}

TEST_CASE("sync run: a dry run foresees which node receives over the management network") {
  RunBench bench(3);
  bench.options.dry_run = true;
  bench.cluster.nodes[1].fabric.clear();
  bench.nodes[0].reaction = with_files({copied_file("a", 1, "s")});
  for (const std::size_t receiver : {1U, 2U}) bench.nodes[receiver].reaction = with_files({});
  const auto report = bench.run();
  CHECK(report.items[0].nodes[1].network == Network::kManagement);
  CHECK(report.items[0].nodes[2].network == Network::kFabric);
}

TEST_CASE("sync run: the largest claims of what was received overflow no sum") {
  SyncReport report;
  ContentReport& item = report.items.emplace_back();
  for (const char* name : {"n1", "n2"}) {
    ContentOfNode& node = item.nodes.emplace_back();
    node.node = name;
    node.status = ContentStatus::kSent;
    node.bytes_received = std::numeric_limits<std::int64_t>::max();
  }
  TextStyle style;
  CHECK(to_text(report, false, style).find("2 nodes received 9223372 TB") != std::string::npos);
}

}  // namespace sparkplan
