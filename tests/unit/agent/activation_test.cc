// Activations that go on while other steps are carried out.
#include "tests/unit/agent/executor_bench.h"

namespace sparkplan {
namespace {

using test::ExecutorBench;
using test::file_step;
using test::knob;
using test::knob_step;
using test::other_types;
using test::set_to;

/// A bench on which the activation of knob "link" can be begun.
struct ActivationBench : ExecutorBench {
  ActivationBench() {
    registry = test::fake_registry_with_other(hooks);
    hooks.begun_first = {"link"};
  }

  static Step file(const std::string& path, const std::string& group) {
    return file_step(path, Absent{}, file_present("text", 0644), group);
  }
  static Step activation() {
    Step step = knob_step("link", Absent{}, set_to("1"), "linked");
    step.activates = true;
    return step;
  }
  void fail_activation() {
    hooks.interfere = [failed = false](const ArtifactId& artifact, const Observation&) mutable -> std::optional<Error> {
      if (artifact != knob("link") || std::exchange(failed, true)) return std::nullopt;
      return Error{ErrorCode::kFailed, "no", {}, {}, ""};
    };
  }
};

}  // namespace

TEST_CASE("files of other types are written while an activation goes on, and the reply waits for its end") {
  ActivationBench bench;
  bench.hooks.interfere = [&](const ArtifactId& artifact, const Observation&) -> std::optional<Error> {
    CHECK(artifact == knob("link"));
    CHECK(bench.root.exists("/etc/hosts"));
    CHECK(bench.root.exists("/etc/limits"));
    return std::nullopt;
  };
  const auto reply = bench.carry_out({ActivationBench::file("/etc/link", "linked"), ActivationBench::activation(),
                                      other_types(ActivationBench::file("/etc/hosts", "hosts")),
                                      other_types(ActivationBench::file("/etc/limits", "limits"))});
  CHECK(ExecutorBench::outcomes(reply) == "done done done done");
  CHECK(bench.hooks.log == std::vector<std::string>{"link begins", "link=1"});
  CHECK(bench.journal_lines() == std::vector<std::string>{"intent file:/etc/link", "result file:/etc/link done",
                                                          "intent knob:link", "intent file:/etc/hosts",
                                                          "result file:/etc/hosts done", "intent file:/etc/limits",
                                                          "result file:/etc/limits done", "result knob:link done"});
  CHECK(bench.manifest_on_disk().artifacts.at(knob("link")).written_digest == digest(set_to("1")));
}

TEST_CASE("an activation that goes on and fails is undone with its own group, and with nothing else") {
  ActivationBench bench;
  bench.fail_activation();
  const auto reply = bench.carry_out({ActivationBench::file("/etc/link", "linked"), ActivationBench::activation(),
                                      other_types(ActivationBench::file("/etc/hosts", "hosts"))});
  CHECK(ExecutorBench::outcomes(reply) == "undone failed done");
  CHECK(reply.results[1].error->message == "no");
  CHECK_FALSE(bench.root.exists("/etc/link"));
  CHECK(bench.root.exists("/etc/hosts"));
  // The restored file is activated again.
  CHECK(bench.hooks.log == std::vector<std::string>{"link begins", "link=1", "link=absent"});
}

TEST_CASE("steps that may depend on an activation, or disturb it, wait for its end") {
  Step needing = other_types(ActivationBench::file("/etc/hosts", "hosts"));
  needing.needs = {{"fake", "link"}};
  const Step of_its_type = ActivationBench::file("/etc/hosts", "hosts");
  const Step of_its_group = other_types(ActivationBench::file("/etc/hosts", "linked"));
  Step also_activates = other_types(ActivationBench::file("/etc/hosts", "hosts"));
  also_activates.activates = true;
  for (const Step& step : {needing, of_its_type, of_its_group, also_activates}) {
    ActivationBench bench;
    bench.hooks.interfere = [&](const ArtifactId&, const Observation&) -> std::optional<Error> {
      CHECK_FALSE(bench.root.exists("/etc/hosts"));
      return std::nullopt;
    };
    const auto reply = bench.carry_out({ActivationBench::activation(), step});
    CHECK(ExecutorBench::outcomes(reply) == "done done");
    CHECK(bench.root.exists("/etc/hosts"));
  }
  ActivationBench bench;
  bench.carry_out({ActivationBench::activation(), other_types(knob_step("a", Absent{}, set_to("1"), "other"))});
  CHECK(bench.hooks.log == std::vector<std::string>{"link begins", "link=1", "a=1"});
}

TEST_CASE("a step that needs an activation which goes on and fails is not carried out") {
  ActivationBench bench;
  bench.fail_activation();
  Step needing = other_types(ActivationBench::file("/etc/hosts", "hosts"));
  needing.needs = {{"fake", "link"}};
  const auto reply = bench.carry_out({ActivationBench::activation(), needing});
  CHECK(ExecutorBench::outcomes(reply) == "failed not_done");
  CHECK_FALSE(bench.root.exists("/etc/hosts"));
}

TEST_CASE("after a stop, the end of an activation that goes on is still awaited") {
  ActivationBench bench;
  bench.stop_asked = [&] { return !bench.hooks.log.empty(); };
  const auto reply =
      bench.carry_out({ActivationBench::activation(), other_types(ActivationBench::file("/etc/hosts", "hosts"))});
  CHECK(ExecutorBench::outcomes(reply) == "done not_done");
  CHECK(reply.stopped);
  CHECK(bench.hooks.log == std::vector<std::string>{"link begins", "link=1"});
}

}  // namespace sparkplan
