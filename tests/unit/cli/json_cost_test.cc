// The memory that JSON on standard output costs, measured in a separate process.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/input/saved_plan_file.h"
#include "engine/cli/output/history_text.h"
#include "engine/cli/output/printing.h"
#include "engine/remote/programs/request_deadline.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

/// A node's text of 6 MB in characters that JSON writes with six bytes each.
Report report_of_escaped_text() {
  Change change;
  change.id = {"file", "/etc/a"};
  change.origin = Origin::kDrift;
  change.fields.push_back({"content", std::string(6'000'000, '\x7f'), "a"});
  Report report;
  report.command = "drift";
  report.nodes.emplace_back().name = "spark-01";
  report.nodes.back().plan.changes.push_back(std::move(change));
  return report;
}

/// A plan of one node's largest texts: a changed file of 4 MB in the observation, and 8 MB of originals in the
/// manifest. JSON escapes their characters.
NodePlan plan_of_escaped_text(char escaped) {
  NodePlan plan;
  const auto add = [&plan](const std::string& path, Action action, FieldChange field, Observation before,
                           Observation after) {
    Change& change = plan.changes.emplace_back();
    change.id = {"file", path};
    change.action = action;
    change.fields.push_back(std::move(field));
    Step& step = plan.steps.emplace_back();
    step.type = "file";
    step.artifact = file_artifact(path);
    step.before = std::move(before);
    step.after = std::move(after);
    step.resources = {change.id};
  };
  const std::string large(4'000'000, escaped);
  add("/etc/large", Action::kUpdate, {"content", large, "a"}, file_present(large, 0644), file_present("a", 0644));
  for (int i = 0; i < 8; ++i) {
    add("/etc/a" + std::to_string(i), Action::kRemove, {"content", "b", Value()}, file_present("b", 0644),
        file_present(std::string(1'000'000, escaped), 0644));
  }
  return plan;
}

SavedPlan saved_plan_of_escaped_text(char escaped) {
  SavedPlan plan;
  plan.id = "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10";
  plan.created = "2026-03-01T12:00:00Z";
  plan.source =
      "version: 1\nname: lab\nfiles: [{path: /etc/large, content: a}]\nnodes: [{name: n1, address: 10.0.0.11}]\n";
  plan.machines["n1"] = {"0123", "SHA256:abc"};
  const auto loaded = load_cluster(plan.source, "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  plan.report.cluster = "lab";
  plan.report.file = "cluster.yaml";
  plan.report.config_digest = loaded.cluster->config_digest;
  plan.report.diagnostics = loaded.diagnostics;
  NodeReport& node = plan.report.nodes.emplace_back();
  node.name = "n1";
  node.address = "10.0.0.11";
  node.plan = plan_of_escaped_text(escaped);
  node.status = status_of(node.plan);
  return plan;
}

template <class Print>
bool print_to_nothing(Print print_with) {
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, STDOUT_FILENO) < 0 || ::dup2(nothing, STDERR_FILENO) < 0) return false;
  auto console = Console::open(0, true, true, "");
  if (!console) return false;
  print_with(*console);
  return console->check_output().has_value();
}

bool shows(const std::string& path, bool json) {
  bool done = false;
  const bool printed = print_to_nothing([&](Console& console) {
    const auto code = run_show({path, json, {}}, console);
    done = code.has_value() && *code == ExitCode::kDone;
  });
  return printed && done;
}

/// Takes 2 MB of output from each of 64 ranks of a node, and prints the outcome as JSON.
bool print_outputs_of_ranks(const Console& console) {
  constexpr int kRanks = 64;
  NodeJob job;
  JobReport report;
  report.nodes.emplace_back().name = "spark-01";
  for (int rank = 0; rank < kRanks; ++rank) {
    job.start.ranks.push_back({rank, {"a"}, {}});
    report.nodes.back().ranks.emplace_back().rank = rank;
  }
  const std::vector<NodeJob> jobs{job};
  auto outputs = JobOutputs::open("", true, jobs, console);
  if (!outputs) return false;
  const std::string piece(100'000, '\x7f');
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < 20; ++i) {
      if (!outputs->output().take({0, rank, false}, piece)) return false;
    }
  }
  outputs->add_to(report);
  finish_job(std::move(report), true, console);
  return true;
}

/// A node's reply of 256 runs with that many artifacts each, as short as they can be.
std::string frame_of_journals(int artifacts_of_a_run) {
  std::string artifacts;
  for (int i = 0; i < artifacts_of_a_run; ++i) artifacts += i == 0 ? R"({"artifact":"a:b"})" : R"(,{"artifact":"a:b"})";
  std::string text = R"({"runs":[)";
  for (int i = 0; i < 256; ++i) {
    const std::string id = "20260301T120" + std::to_string(100 + i) + "Z-4f9a1c07";
    text += (i == 0 ? "" : ",") + (R"({"run":")" + id) + R"(","outcome":"applied","artifacts":[)" + artifacts + "]}";
  }
  text += "]}";
  std::string frame(kPreamble);
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>((text.size() >> shift) & 0xffU);
  return frame + text;
}

/// Reads the reply as `history NODE --json` does, and prints it.
bool print_journals(FrameReader& reader) {
  std::vector<NodeHistory> histories;
  {
    const auto message = reader.next(reply_limits(HistoryRequest{true}));
    if (!message || !*message) return false;
    auto reply = decode<HistoryReply>(**message);
    if (!reply) return false;
    histories.push_back({"spark-01", {}, true, *std::move(reply)});
  }
  const auto entries = merged(histories);
  return entries.size() == 256 && print_to_nothing([&](const Console& console) {
           console.result_json(history_json("lab", entries, histories, true));
         });
}

}  // namespace

TEST_CASE("a node with the largest journals costs the JSON of a history less than 75 MB") {
  const auto cost = test::cost_of([] {
    FrameReader reader;
    reader.feed(frame_of_journals(300));
    return print_journals(reader);
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 75);
}

TEST_CASE("journals with more artifacts than honest nodes keep are refused, and without artifacts a reply is small") {
  for (const int artifacts : {425, 500}) {
    FrameReader reader;
    reader.feed(frame_of_journals(artifacts));
    CHECK_FALSE(reader.next(reply_limits(HistoryRequest{true})));
  }
  HistoryReply honest;
  honest.runs.resize(50);
  for (JournaledRun& run : honest.runs) {
    run.run = "20260301T120000Z-4f9a1c07";
    run.who = run.time = run.purpose.saved_plan = std::string(kLongestShortText, 'x');
  }
  CHECK(encode_frame(encode(honest), reply_limits(HistoryRequest{false})));
  for (JournaledRun& run : honest.runs) {
    run.artifacts.assign(kMostJournaledArtifacts, {"systemd_unit", {"file", "/" + std::string(79, 'x')}, "done", ""});
  }
  CHECK(encode_frame(encode(honest), reply_limits(HistoryRequest{true})));
  CHECK_FALSE(encode_frame(encode(honest), reply_limits(HistoryRequest{false})));
}

TEST_CASE("JSON of drift and apply is printed without holding its whole text") {
  const Report report = report_of_escaped_text();
  const auto cost = test::cost_of(
      [&] { return print_to_nothing([&](const Console& console) { print(report, LoadedCluster{}, true, console); }); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

TEST_CASE("a plan that a node has filled with escaped text costs plan -o less than 60 MB, and show less than 85 MB") {
  const test::ScratchDirectory desk;
  const std::string path = (desk.path() / "change.plan").string();
  for (const char escaped : {'\x7f', '\n'}) {
    const auto written =
        test::cost_of([&] { return write_saved_plan(path, saved_plan_of_escaped_text(escaped)).has_value(); });
    std::printf("escaped text: plan -o %ld MB\n", written.megabytes);
    CHECK(written.exit_status == 0);
    CHECK(written.megabytes < 60);
    for (const bool json : {false, true}) {
      const auto shown = test::cost_of([&] { return shows(path, json); });
      std::printf("escaped text: show%s %ld MB\n", json ? " --json" : "", shown.megabytes);
      CHECK(shown.exit_status == 0);
      CHECK(shown.megabytes < 85);
    }
  }
}

TEST_CASE("JSON of exec and run holds few megabytes of a node, also if each of its 64 ranks prints without end") {
  bool is_printed = false;
  const auto cost = test::cost_of([&] {
    return print_to_nothing([&](const Console& console) { is_printed = print_outputs_of_ranks(console); }) &&
           is_printed;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

}  // namespace sparkplan
