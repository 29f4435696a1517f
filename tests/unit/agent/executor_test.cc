// Steps that succeed, and their records in the manifest.
#include "tests/unit/agent/executor_bench.h"

namespace sparkplan {
namespace {

using test::ExecutorBench;
using test::file_step;
using test::knob;
using test::knob_step;
using test::set_to;

constexpr auto kDirectory = "/var/lib/sparkplan";

class OpenTrial final : public StepTrial {
 public:
  Result<void> arm() override { return {}; }
  bool goes_on() const override { return true; }
};

}  // namespace

TEST_CASE("steps are executed in order, and journaled before and after") {
  ExecutorBench bench;
  bench.root.write("/knobs/b", "old");
  const auto reply = bench.carry_out({knob_step("b", set_to("old"), set_to("new")),
                                      file_step("/etc/a", Absent{}, file_present("text\n", 0640)),
                                      knob_step("a", Absent{}, set_to("1"), "other")});
  CHECK(ExecutorBench::outcomes(reply) == "done done done");
  CHECK_FALSE(reply.stopped);
  CHECK(bench.hooks.log == std::vector<std::string>{"b=new", "a=1"});
  CHECK(bench.root.read("/knobs/b") == "new");
  CHECK(bench.root.read("/etc/a") == "text\n");
  CHECK(bench.root.mode("/etc/a") == 0640);
  CHECK(bench.journal_lines() == std::vector<std::string>{"intent knob:b", "result knob:b done", "intent file:/etc/a",
                                                          "result file:/etc/a done", "intent knob:a",
                                                          "result knob:a done"});
}

TEST_CASE("an intent contains the state before and after the step") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  bench.carry_out({knob_step("a", set_to("old"), set_to("new"))});
  const auto text = bench.root.read(std::string(kDirectory) + "/journal/" + bench.run_id() + ".jsonl");
  const auto intent = decode_json(split_lines(text).front());
  REQUIRE(intent);
  const auto before = decode<Observation>(*intent->find("before"));
  const auto after = decode<Observation>(*intent->find("after"));
  REQUIRE(before);
  REQUIRE(after);
  CHECK(same_state(*before, set_to("old")));
  CHECK(same_state(*after, set_to("new")));
}

TEST_CASE("the manifest on the disk contains originals and written digests") {
  ExecutorBench bench;
  bench.root.write("/knobs/b", "old");
  bench.carry_out(
      {knob_step("b", set_to("old"), set_to("new")), file_step("/etc/a", Absent{}, file_present("text\n", 0644))});
  const auto stored = bench.manifest_on_disk();
  REQUIRE(stored.artifacts.size() == 2);
  CHECK(same_state(stored.artifacts.at(knob("b")).original, set_to("old")));
  CHECK(stored.artifacts.at(knob("b")).written_digest == digest(set_to("new")));
  CHECK(stored.artifacts.at(knob("b")).type == "fake");
  CHECK(same_state(stored.artifacts.at(file_artifact("/etc/a")).original, Absent{}));
  CHECK(canonical_json(encode(stored)) == canonical_json(encode(bench.manifest)));
}

TEST_CASE("all originals are on the disk before the first write, with nothing claimed as written") {
  ExecutorBench bench;
  bench.root.write("/knobs/b", "old");
  int looked = 0;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    const auto stored = bench.manifest_on_disk();
    CHECK(stored.artifacts.size() == 2);
    CHECK(same_state(stored.artifacts.at(knob("b")).original, set_to("old")));
    CHECK(stored.artifacts.at(knob("b")).written_digest.empty());
    // The journal also has the intent before the write.
    CHECK(bench.journal_lines().back() == "intent " + artifact.str());
    ++looked;
    return std::nullopt;
  };
  bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", set_to("old"), set_to("2"))});
  CHECK(looked == 2);
}

TEST_CASE("while a trial waits for its confirmation, the manifest stays as it was before the first step") {
  ExecutorBench bench;
  const auto file = [&] { return bench.node.status("/var/lib/sparkplan/manifest.json").value().inode; };
  std::uint64_t before = 0;
  bench.hooks.interfere = [&](const ArtifactId&, const Observation&) -> std::optional<Error> {
    before = file();
    return std::nullopt;
  };
  auto journal = Journal::open("run-1", bench.node);
  REQUIRE(journal);
  StepExecutor executor(bench.registry, bench.node, *journal, bench.stop_asked, [](std::string_view) {});
  OpenTrial trial;
  executor.put_on_trial(trial);
  const auto reply = executor.carry_out({knob_step("a", Absent{}, set_to("1"))}, {}, bench.manifest);
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "done");
  CHECK(file() == before);
  const auto stored = bench.manifest_on_disk();
  CHECK(stored.artifacts.at(knob("a")).intended_digest == digest(set_to("1")));
  CHECK(stored.artifacts.at(knob("a")).written_digest.empty());
}

TEST_CASE("an intended write is recorded on the disk before it, and afterwards as written or not") {
  ExecutorBench bench;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    CHECK(bench.manifest_on_disk().artifacts.at(artifact).wrote(digest(set_to("1"))));
    return artifact == knob("b") ? std::optional<Error>(Error{ErrorCode::kFailed, "no", {}, {}, ""}) : std::nullopt;
  };
  bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), knob_step("b", Absent{}, set_to("1"), "2")});
  const auto stored = bench.manifest_on_disk();
  CHECK(stored.artifacts.at(knob("a")).written_digest == digest(set_to("1")));
  CHECK(stored.artifacts.at(knob("a")).intended_digest.empty());
  CHECK_FALSE(stored.artifacts.at(knob("b")).wrote(digest(set_to("1"))));
}

TEST_CASE("an intended digest of a broken-off run stays recorded while the next run writes another value") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "2");
  bench.manifest.artifacts[knob("a")] = {"fake", digest(set_to("1")), Absent{}, digest(set_to("2"))};
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    CHECK(bench.manifest_on_disk().artifacts.at(artifact).wrote(digest(set_to("2"))));
    CHECK(bench.manifest_on_disk().artifacts.at(artifact).wrote(digest(set_to("3"))));
    return std::nullopt;
  };
  bench.carry_out({knob_step("a", set_to("2"), set_to("3"))});
  CHECK(bench.manifest_on_disk().artifacts.at(knob("a")).written_digest == digest(set_to("3")));
}

TEST_CASE("a later run never overwrites the recorded original") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "original");
  bench.carry_out({knob_step("a", set_to("original"), set_to("1"))});
  bench.carry_out({knob_step("a", set_to("1"), set_to("2"))});
  CHECK(same_state(bench.manifest_on_disk().artifacts.at(knob("a")).original, set_to("original")));
  CHECK(bench.manifest_on_disk().artifacts.at(knob("a")).written_digest == digest(set_to("2")));
  // A run after a killed agent also keeps the original: it reads the manifest from the disk.
  bench.manifest = bench.manifest_on_disk();
  bench.carry_out({knob_step("a", set_to("2"), Absent{})});
  CHECK(same_state(bench.manifest_on_disk().artifacts.at(knob("a")).original, set_to("original")));
}

TEST_CASE("a step is stale if its artifact has changed since the plan, and so is its group") {
  ExecutorBench bench;
  bench.root.write("/knobs/b", "changed by hand");
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1")),
                                      knob_step("c", Absent{}, set_to("1"), "other")});
  CHECK(ExecutorBench::outcomes(reply) == "not_done stale done");
  REQUIRE(reply.results[1].error);
  CHECK(reply.results[1].error->code == ErrorCode::kStalePlan);
  CHECK(bench.root.read("/knobs/b") == "changed by hand");
  CHECK(bench.hooks.log == std::vector<std::string>{"c=1"});
  CHECK(bench.manifest_on_disk().artifacts.count(knob("b")) == 0);
}

TEST_CASE("a step begins on another state than planned if its type leaves the difference to others") {
  ExecutorBench bench;
  bench.hooks.left_to_others = true;
  bench.root.write("/knobs/a", "changed by a neighbour");
  CHECK(ExecutorBench::outcomes(bench.carry_out({knob_step("a", Absent{}, set_to("1"))})) == "done");
  CHECK(bench.root.read("/knobs/a") == "1");
}

TEST_CASE("a changed mode or owner of a file is stale too") {
  ExecutorBench bench;
  bench.root.write("/etc/a", "text\n");
  std::filesystem::permissions(bench.root / "/etc/a", std::filesystem::perms::owner_all);
  const auto reply = bench.carry_out({file_step("/etc/a", file_present("text\n", 0644), file_present("new\n", 0644))});
  CHECK(ExecutorBench::outcomes(reply) == "stale");
  CHECK(bench.root.read("/etc/a") == "text\n");
}

TEST_CASE("a stop takes effect between two steps, and later steps are not executed") {
  ExecutorBench bench;
  bench.stop_asked = [&] { return bench.hooks.log.size() == 2; };
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1")),
                                      knob_step("c", Absent{}, set_to("1"))});
  CHECK(reply.stopped);
  CHECK(ExecutorBench::outcomes(reply) == "done done not_done");
  CHECK_FALSE(bench.root.exists("/knobs/c"));
  const auto manifest = bench.manifest_on_disk();
  CHECK(manifest.artifacts.at(knob("c")).written_digest.empty());
  // This digest lets the next run recognise a half-done or half-undone resource as sparkplan's own.
  CHECK(manifest.artifacts.at(knob("c")).intended_digest == digest(set_to("1")));
  CHECK(manifest.artifacts.at(knob("b")).intended_digest.empty());
}

TEST_CASE("resources are recorded once all of their steps are done") {
  ExecutorBench bench;
  bench.manifest.resources[{"fake", "gone"}] = {Value(1), {knob("gone")}};
  bench.root.write("/knobs/gone", "1");
  bench.root.write("/knobs/c", "changed by hand");
  const std::map<ResourceId, Value> after{{{"fake", "a"}, Value(7)},
                                          {{"fake", "c"}, Value(7)},
                                          {{"fake", "gone"}, Value()},
                                          {{"fake", "no step"}, Value(7)}};
  bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), knob_step("c", Absent{}, set_to("1"), "2"),
                   knob_step("gone", set_to("1"), Absent{}, "3")},
                  after);
  const auto stored = bench.manifest_on_disk();
  REQUIRE(stored.resources.size() == 1);
  CHECK(stored.resources.at({"fake", "a"}).last_applied == Value(7));
  CHECK(stored.resources.at({"fake", "a"}).artifacts == std::vector<ArtifactId>{knob("a")});
}

TEST_CASE("a step is not executed if a step that it needs has failed") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "changed by hand");
  auto needing = knob_step("b", Absent{}, set_to("1"), "2");
  needing.needs = {{"fake", "a"}};
  auto needing_that = knob_step("c", Absent{}, set_to("1"), "3");
  needing_that.needs = {{"fake", "b"}};
  auto needing_nobody = knob_step("d", Absent{}, set_to("1"), "4");
  needing_nobody.needs = {{"fake", "not in this run"}};
  const auto reply =
      bench.carry_out({knob_step("a", Absent{}, set_to("1"), "1"), needing, needing_that, needing_nobody});
  CHECK(ExecutorBench::outcomes(reply) == "stale not_done not_done done");
  CHECK(bench.hooks.log == std::vector<std::string>{"d=1"});
}

TEST_CASE("each step is announced before it begins") {
  ExecutorBench bench;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    CHECK(bench.told.back() == "fake/" + artifact.name);
    return std::nullopt;
  };
  bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  CHECK(bench.told == std::vector<std::string>{"fake/a", "fake/b"});
}

TEST_CASE("an artifact that changes during earlier steps is stale, and its group is undone") {
  ExecutorBench bench;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    if (artifact == knob("a")) bench.root.write("/knobs/b", "changed by hand");
    return std::nullopt;
  };
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  CHECK(ExecutorBench::outcomes(reply) == "undone stale");
  CHECK(bench.root.read("/knobs/b") == "changed by hand");
  CHECK_FALSE(bench.root.exists("/knobs/a"));
}

TEST_CASE("an empty list of steps leaves an empty manifest") {
  ExecutorBench bench;
  CHECK(bench.carry_out({}).results.empty());
  CHECK(bench.manifest_on_disk().artifacts.empty());
}

}  // namespace sparkplan
