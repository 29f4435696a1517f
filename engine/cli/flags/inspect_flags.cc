// status, facts, drift, verify, tune, doctor, history: commands that inspect the nodes.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/verify_command.h"
#include "engine/cli/flags/command_flags.h"
#include "engine/cli/flags/shared_flags.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// A flag with a text; an empty text is a value, too.
void add_text(CLI::App& app, const std::string& name, const std::string& type, std::optional<std::string>& into,
              const std::string& help) {
  app.add_option_function<std::string>(
         name, [&into](const std::string& text) { into = text; }, help)
      ->type_name(type);
}

}  // namespace

void add_status(CLI::App& app, CommandLine& line) {
  auto* status = app.add_subcommand("status", "state, software, fabric and past runs of all nodes");
  add_file(*status, line, line.status.file);
  status->add_flag("--json", line.status.json, "as JSON");
  status->footer(
      "Writes nothing to a node. A row of the second table stands for all nodes with the\n"
      "same software. Times are local; those of --json are UTC.");
  status->callback([&] { line.command = [&](Console& c) { return run_status(line.status, line.global, c); }; });
}

void add_facts(CLI::App& app, CommandLine& line) {
  auto* facts = app.add_subcommand("facts", "print everything that sparkplan reads from a node");
  facts->add_option("NODE", line.facts.node, "its name; without it, all nodes are compared")->type_name("");
  line.files.push_back(&line.facts.file);
  facts->add_flag("--json", line.facts.json, "as JSON");
  facts->footer(
      "Reads everything from a node. Writes only the agent to it, if it is missing or of\n"
      "another build. With several nodes, a value that all of them have is printed once;\n"
      "--json prints everything of all nodes.");
  facts->callback([&] { line.command = [&](Console& c) { return run_facts(line.facts, line.global, c); }; });
}

void add_drift(CLI::App& app, CommandLine& line) {
  auto* drift = app.add_subcommand("drift", "find changes made on the nodes since the last apply; for cron");
  add_file(*drift, line, line.drift.file);
  drift->add_flag("--json", line.drift.json, "the findings as JSON");
  drift->add_flag("--syslog", line.drift.syslog, "one RFC 5424 message per finding to /dev/log");
  drift->add_option("--textfile", line.drift.textfile, "write metrics for Prometheus' node exporter to PATH")
      ->type_name("PATH");
  add_duration(*drift, "--splay", line.drift.splay, "start after a random delay of up to DURATION");
  drift->add_flag("--pending", line.drift.pending, "exit 2 also for changes that were never applied");
  add_selection(*drift, line.drift.selection);
  drift->footer(
      "Never asks and never writes to a node. With --quiet it prints nothing if there is\n"
      "no finding. A node that was never applied is pending, not drifted.");
  drift->callback([&] { line.command = [&](Console& c) { return run_drift(line.drift, line.global, c); }; });
}

void add_verify(CLI::App& app, CommandLine& line) {
  auto* verify = app.add_subcommand("verify", "measure whether the cluster works, from the cable up to NCCL");
  add_file(*verify, line, line.verify.file);
  verify
      ->add_option("--level", line.verify.level,
                   "one of " + join(level_names(), ", ") + "; also runs the levels it needs [all]")
      ->type_name("LEVEL");
  verify->add_flag("--force", line.verify.force, "levels gpu and nccl: also measure a GPU that a job uses");
  verify->add_flag("--json", line.verify.json, "the checks as JSON");
  verify->add_option("--junit", line.verify.junit, "write the checks to PATH as JUnit XML")->type_name("PATH");
  add_report(*verify, line.verify.report);
  verify->add_flag("--history", line.verify.history, "measure nothing; print the last runs, and what became slower");
  verify->add_option("--check", line.verify.check, "with --history: all values of the check ID")->type_name("ID");
  add_text(*verify, "--sizes", "RANGE", line.verify.sizes, "nccl: MIN:MAX or MIN:MAX:FACTOR, such as 8B:8GiB:2");
  add_text(*verify, "--collectives", "LIST", line.verify.collectives,
           "nccl: all, or a list such as all_reduce,broadcast [all_reduce,all_gather]");
  add_text(*verify, "--ranks-per-node", "N", line.verify.ranks_per_node,
           "nccl: a number, or gpus: one rank per GPU [1]");
  add_text(*verify, "--library", "PATH", line.verify.library, "nccl: load NCCL from PATH on the nodes, as a job does");
  add_text(*verify, "--image", "IMAGE", line.verify.image, "nccl: load the NCCL of this image, in a container");
  add_node_selection(*verify, line.verify.selection);
  verify->footer(
      "On a node it writes only the agent, the program of the NCCL test and the history of\n"
      "its measurements. The programs are written if they are missing or of another build.\n"
      "Failed checks are printed last, with cause and fix. A check is skipped if another\n"
      "check that it needs failed, or if its hardware is absent. A measurement of an image\n"
      "also writes the process starter.");
  verify->callback([&] { line.command = [&](Console& c) { return run_verify(line.verify, line.global, c); }; });
}

void add_tune(CLI::App& app, CommandLine& line) {
  auto* tune = app.add_subcommand("tune", "find settings of NCCL that are proven faster on this cluster");
  add_file(*tune, line, line.tune.file);
  add_duration(*tune, "--budget", line.tune.budget, "measure for at most DURATION; 30s or more [20m]");
  tune->add_flag("--force", line.tune.force, "also measure nodes and GPUs that a job uses");
  tune->add_option("-o,--output", line.tune.output, "write the lines for cluster.yaml to PATH")->type_name("PATH");
  add_report(*tune, line.tune.report);
  tune->add_flag("--json", line.tune.json, "the result as JSON, with every measured pair");
  add_node_selection(*tune, line.tune.selection);
  tune->footer(
      "Changes no setting: each run of NCCL gets its own environment. Runs of two settings\n"
      "alternate. A setting is accepted only if its gain is outside the noise. Variables that\n"
      "cluster.yaml sets are not tried. On a node it writes only the agent and the program of\n"
      "the NCCL test, if they are missing or of another build.");
  tune->callback([&] { line.command = [&](Console& c) { return run_tune(line.tune, line.global, c); }; });
}

void add_doctor(CLI::App& app, CommandLine& line) {
  auto* doctor = app.add_subcommand("doctor", "find known faults, with cause and fix");
  add_file(*doctor, line, line.doctor.file);
  doctor->add_flag("--json", line.doctor.json, "the findings as JSON");
  add_report(*doctor, line.doctor.report);
  add_node_selection(*doctor, line.doctor.selection);
  doctor->footer(
      "Reads everything from the nodes and measures nothing. On a node it writes only the\n"
      "agent, if it is missing or of another build. Exits with 8 if something fails;\n"
      "warnings do not count. docs/doctor.md lists all faults it knows.");
  doctor->callback([&] { line.command = [&](Console& c) { return run_doctor(line.doctor, line.global, c); }; });
}

void add_history(CLI::App& app, CommandLine& line) {
  auto* history = app.add_subcommand("history", "past runs, newest first");
  history->add_option("NODE", line.history.node, "its runs, with every artifact; without NODE, the runs of all nodes")
      ->type_name("");
  line.files.push_back(&line.history.file);
  history->add_flag("--json", line.history.json, "as JSON");
  history->callback([&] { line.command = [&](Console& c) { return run_history(line.history, line.global, c); }; });
}

}  // namespace sparkplan
