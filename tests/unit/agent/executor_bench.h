#pragma once

#include "engine/agent/apply/step_executor.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/fake_type.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

/// A node in a scratch directory, a journal, and the executor under test.
struct ExecutorBench {
  ScratchDirectory root;
  FakeHooks hooks;
  Registry registry = fake_registry(hooks);
  LocalNode node = open_node();
  Manifest manifest;
  std::function<bool()> stop_asked = [] { return false; };
  std::vector<std::string> told;
  int runs = 0;

  LocalNode open_node() const {
    auto opened = LocalNode::open(root.path());
    REQUIRE(opened);
    return std::move(*opened);
  }
  std::string run_id() const { return "run-" + std::to_string(runs); }

  Result<ApplyReply> try_to_carry_out(const std::vector<Step>& steps, const std::map<ResourceId, Value>& after = {}) {
    ++runs;
    auto journal = Journal::open(run_id(), node);
    REQUIRE(journal);
    const auto tell = [this](std::string_view doing) { told.emplace_back(doing); };
    return StepExecutor(registry, node, *journal, stop_asked, tell).carry_out(steps, after, manifest);
  }
  ApplyReply carry_out(const std::vector<Step>& steps, const std::map<ResourceId, Value>& after = {}) {
    auto reply = try_to_carry_out(steps, after);
    REQUIRE(reply);
    REQUIRE(reply->results.size() == steps.size());
    return std::move(*reply);
  }

  /// The outcomes in their order, such as "done stale".
  static std::string outcomes(const ApplyReply& reply) {
    std::vector<std::string> words;
    for (const auto& result : reply.results) words.emplace_back(to_string(result.outcome));
    return join(words, " ");
  }
  Manifest manifest_on_disk() const {
    auto stored = read_manifest(node);
    REQUIRE(stored);
    REQUIRE(*stored);
    return **stored;
  }
  /// The journal of the last run, such as "intent file:/a", "result knob:b done".
  std::vector<std::string> journal_lines() const {
    std::vector<std::string> lines;
    const auto text = root.read("/var/lib/sparkplan/journal/" + run_id() + ".jsonl");
    for (const auto line : split_lines(text)) {
      const auto entry = decode_json(line);
      REQUIRE(entry);
      auto words = entry->text_or("event", "?") + " " + entry->text_or("artifact", "?");
      if (const auto outcome = entry->text_or("outcome", ""); !outcome.empty()) words += " " + outcome;
      lines.push_back(words);
    }
    return lines;
  }
};

}  // namespace sparkplan::test
