// Steps that fail: every artifact keeps its earlier state completely.
#include "tests/unit/agent/executor_bench.h"

namespace sparkplan {
namespace {

using test::ExecutorBench;
using test::file_step;
using test::knob;
using test::knob_step;
using test::set_to;

/// Setting `artifact` to `value` fails.
void refuse(ExecutorBench& bench, const std::string& name, const Observation& value) {
  bench.hooks.interfere = [=](const ArtifactId& artifact, const Observation& after) -> std::optional<Error> {
    if (artifact != knob(name) || !same_state(after, value)) return std::nullopt;
    return Error{ErrorCode::kFailed, "the kernel says no", {}, 22, ""};
  };
}

/// Everything except sparkplan's own files.
auto tree_of(const ExecutorBench& bench) { return bench.root.tree("/var/lib/sparkplan"); }

}  // namespace

TEST_CASE("a failed step undoes the earlier steps of its group, last first, and no other group") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old a");
  const auto before = tree_of(bench);
  refuse(bench, "d", set_to("1"));
  const auto reply =
      bench.carry_out({knob_step("a", set_to("old a"), set_to("1")), knob_step("x", Absent{}, set_to("1"), "other"),
                       knob_step("b", Absent{}, set_to("1")), knob_step("d", Absent{}, set_to("1")),
                       knob_step("e", Absent{}, set_to("1")), knob_step("y", Absent{}, set_to("1"), "other")});
  CHECK(ExecutorBench::outcomes(reply) == "undone done undone failed not_done done");
  CHECK(bench.hooks.log == std::vector<std::string>{"a=1", "x=1", "b=1", "d=1", "b=absent", "a=old a", "y=1"});
  CHECK(reply.results[3].error->describe().find("the kernel says no") != std::string::npos);
  CHECK(reply.results[3].error->sys_errno == 22);
  CHECK_FALSE(reply.results[0].error);
  auto expected = before;
  expected["/knobs/x"] = expected["/knobs/y"] = std::to_string(0644) + " 1";
  CHECK(tree_of(bench) == expected);
}

TEST_CASE("an undone step is not recorded as written") {
  ExecutorBench bench;
  refuse(bench, "b", set_to("1"));
  bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  for (const auto& [id, artifact] : bench.manifest_on_disk().artifacts) {
    INFO(id.str());
    CHECK(artifact.written_digest.empty());
  }
}

TEST_CASE("a half-done step is undone") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  const auto before = tree_of(bench);
  bench.hooks.half = true;
  refuse(bench, "a", set_to("new"));
  const auto reply = bench.carry_out({knob_step("a", set_to("old"), set_to("new"))});
  CHECK(ExecutorBench::outcomes(reply) == "failed");
  CHECK(tree_of(bench) == before);
}

TEST_CASE("a failed undo is reported as such") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  bench.hooks.half = true;
  bench.hooks.interfere = [](const ArtifactId&, const Observation&) {
    return std::optional<Error>(Error{ErrorCode::kFailed, "the device is gone", {}, {}, ""});
  };
  const auto reply = bench.carry_out({knob_step("a", set_to("old"), set_to("new"))});
  REQUIRE(reply.results[0].error);
  CHECK(reply.results[0].error->describe().find("could not be restored") != std::string::npos);
}

TEST_CASE("a failed undo carries the error of the undo") {
  ExecutorBench bench;
  bench.root.write("/knobs/a", "old");
  bench.hooks.interfere = [](const ArtifactId& artifact, const Observation& after) -> std::optional<Error> {
    if (artifact == knob("b")) return Error{ErrorCode::kFailed, "refused", {}, {}, ""};
    if (same_state(after, set_to("old"))) return Error{ErrorCode::kFailed, "the way back is gone", {}, {}, ""};
    return std::nullopt;
  };
  const auto reply =
      bench.carry_out({knob_step("a", set_to("old"), set_to("1")), knob_step("b", Absent{}, set_to("1"))});
  CHECK(ExecutorBench::outcomes(reply) == "undone failed");
  REQUIRE(reply.results[0].error);
  CHECK(reply.results[0].error->message == "the way back is gone");
}

TEST_CASE("a directory that appears at a file's path fails the step and undoes its group") {
  ExecutorBench bench;
  bench.root.write("/etc/first", "original\n");
  bench.hooks.interfere = [&](const ArtifactId&, const Observation&) -> std::optional<Error> {
    bench.root.make_directory("/etc/second");
    return std::nullopt;
  };
  const auto reply = bench.carry_out({
      file_step("/etc/first", file_present("original\n", 0644), file_present("new\n", 0644)),
      knob_step("a", Absent{}, set_to("1")),
      file_step("/etc/second", Absent{}, file_present("new\n", 0644)),
  });
  CHECK(ExecutorBench::outcomes(reply) == "undone undone failed");
  CHECK(reply.results[2].error->code == ErrorCode::kRefused);
  CHECK(bench.root.read("/etc/first") == "original\n");
  CHECK_FALSE(bench.root.exists("/knobs/a"));
  CHECK(std::filesystem::is_directory(bench.root / "/etc/second"));
}

TEST_CASE("an artifact that cannot be read fails its group before any change") {
  ExecutorBench bench;
  bench.root.make_directory("/etc/b");
  const auto reply =
      bench.carry_out({knob_step("a", Absent{}, set_to("1")), file_step("/etc/b", Absent{}, file_present("x", 0644))});
  CHECK(ExecutorBench::outcomes(reply) == "not_done failed");
  CHECK(reply.results[1].error->code == ErrorCode::kRefused);
  CHECK(bench.hooks.log.empty());
}

TEST_CASE("a step with an unknown value or an error is refused as a bug") {
  ExecutorBench bench;
  const Observation unknown = Present{Value::map({{"value", Value::Unknown{"later", "spark-02"}}}), {}};
  const Observation error = Error{ErrorCode::kFailed, "x", {}, {}, ""};
  const auto reply = bench.carry_out({knob_step("a", Absent{}, unknown, "1"), knob_step("b", Absent{}, error, "2"),
                                      knob_step("c", Absent{}, NotApplicable{"no"}, "3")});
  CHECK(ExecutorBench::outcomes(reply) == "failed failed failed");
  CHECK(reply.results[0].error->code == ErrorCode::kBug);
  CHECK(reply.results[1].error->code == ErrorCode::kBug);
  CHECK_FALSE(bench.root.exists("/knobs"));
}

TEST_CASE("a step of a type that the agent lacks is refused") {
  ExecutorBench bench;
  auto step = knob_step("a", Absent{}, set_to("1"));
  step.type = "quantum_link";
  const auto reply = bench.carry_out({step});
  CHECK(ExecutorBench::outcomes(reply) == "failed");
  CHECK(reply.results[0].error->code == ErrorCode::kUnsupported);
  CHECK(reply.results[0].error->message.find("quantum_link") != std::string::npos);
}

TEST_CASE("without a writable manifest nothing is written") {
  ExecutorBench bench;
  bench.root.make_directory("/var/lib/sparkplan/manifest.json");
  const auto reply = bench.try_to_carry_out({knob_step("a", Absent{}, set_to("1"))});
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == ErrorCode::kRefused);
  CHECK(bench.hooks.log.empty());
  CHECK_FALSE(bench.root.exists("/knobs/a"));
}

TEST_CASE("an activation is undone after the files of its group, in any order of steps") {
  ExecutorBench bench;
  refuse(bench, "late", set_to("1"));
  auto activation = knob_step("link", Absent{}, set_to("1"));
  activation.activates = true;
  bench.carry_out({knob_step("a", Absent{}, set_to("1")), activation, knob_step("late", Absent{}, set_to("1"))});
  CHECK(bench.hooks.log == std::vector<std::string>{"a=1", "link=1", "late=1", "a=absent", "link=absent"});
}

TEST_CASE("a failed activation is undone after its files are restored") {
  ExecutorBench bench;
  bench.root.write("/knobs/link", "old");
  refuse(bench, "link", set_to("1"));
  auto activation = knob_step("link", set_to("old"), set_to("1"));
  activation.activates = true;
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), activation});
  CHECK(ExecutorBench::outcomes(reply) == "undone failed");
  CHECK(bench.hooks.log == std::vector<std::string>{"a=1", "link=1", "a=absent", "link=old"});
}

TEST_CASE("an activation is executed although an earlier one has already changed its artifact") {
  ExecutorBench bench;
  auto first = knob_step("one", Absent{}, set_to("1"));
  auto second = knob_step("two", Absent{}, set_to("1"));
  first.activates = second.activates = true;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    if (artifact == knob("one")) bench.root.write("/knobs/two", "1");
    return std::nullopt;
  };
  CHECK(ExecutorBench::outcomes(bench.carry_out({first, second})) == "done done");
}

TEST_CASE("steps that the node's own tools reject are not executed, and neither is their group") {
  ExecutorBench bench;
  bench.hooks.objections = {{knob("b"), Error{ErrorCode::kRefused, "netplan says no", {}, {}, ""}}};
  const auto reply = bench.carry_out({knob_step("a", Absent{}, set_to("1")), knob_step("b", Absent{}, set_to("1")),
                                      knob_step("x", Absent{}, set_to("1"), "other")});
  CHECK(ExecutorBench::outcomes(reply) == "not_done failed done");
  CHECK(bench.hooks.log == std::vector<std::string>{"x=1"});
  CHECK(reply.results[1].error->message == "netplan says no");
}

TEST_CASE("a stop never separates a file from its activation") {
  ExecutorBench bench;
  auto activation = knob_step("link", Absent{}, set_to("1"));
  activation.activates = true;
  bench.stop_asked = [&] { return !bench.hooks.log.empty(); };
  const auto reply = bench.carry_out(
      {knob_step("a", Absent{}, set_to("1")), activation, knob_step("x", Absent{}, set_to("1"), "other")});
  CHECK(ExecutorBench::outcomes(reply) == "done done not_done");
  CHECK(reply.stopped);
}

}  // namespace sparkplan
