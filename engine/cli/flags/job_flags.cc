// exec, run: commands that start a command of the user on the nodes.
#include <CLI/CLI.hpp>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/flags/command_flags.h"
#include "engine/cli/flags/shared_flags.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// COMMAND and its arguments. split_command() takes them from the command line if they come after --.
void add_started_command(CLI::App& app, std::vector<std::string>& into) {
  app.add_option("COMMAND", into, "the command and its arguments, after --")->type_name("");
}

}  // namespace

void add_exec(CLI::App& app, CommandLine& line) {
  auto* exec = app.add_subcommand("exec", "run a command on all nodes at once, as the login user");
  add_started_command(*exec, line.exec.argv);
  line.files.push_back(&line.exec.file);
  exec->add_option("--output-dir", line.exec.output_dir, "write the output to PATH/NODE.out and PATH/NODE.err")
      ->type_name("PATH");
  add_duration(*exec, "--time-limit", line.exec.time_limit, "end the command after DURATION [none]");
  exec->add_flag("--json", line.exec.json, "the outcome as JSON, with the end of the output");
  add_node_selection(*exec, line.exec.selection);
  exec->footer(
      "COMMAND is started from its argument list, without a shell; for a shell write\n"
      "`-- sh -c 'LINE'`. Each line of its output begins with the node's name. Exits with 10\n"
      "if it fails on a node. Processes that it leaves behind are ended: a service belongs in\n"
      "`units` of cluster.yaml. On a node it writes only its process starter, a single static\n"
      "file, if it is missing or of another build.");
  exec->callback([&] {
    line.started = &line.exec.argv;
    line.command = [&](Console& c) { return run_exec(line.exec, line.global, c); };
  });
}

void add_run(CLI::App& app, CommandLine& line) {
  auto* run = app.add_subcommand("run", "run one distributed job on all nodes, after a preflight");
  add_started_command(*run, line.run.argv);
  line.files.push_back(&line.run.file);
  run->add_option("--ranks-per-node", line.run.ranks_per_node, "a number, or gpus: one rank per GPU [1]")
      ->type_name("N");
  run->add_option("--launcher", line.run.launcher, "one of " + join(launcher_names(), ", ") + " [none]")
      ->type_name("LAUNCHER")
      ->check(one_of(launcher_names()));
  run->add_option("--image", line.run.image, "run each rank in a container of this image, by docker or podman")
      ->type_name("IMAGE");
  run->add_option("--env", line.run.environment, "NAME=VALUE: set a variable in all ranks")
      ->type_name("VARIABLE")
      ->allow_extra_args(false);
  run->add_option("--workdir", line.run.directory,
                  "the working directory on the nodes, or in the containers [home, or the image's]")
      ->type_name("DIRECTORY");
  run->add_option("--output-dir", line.run.output_dir, "write the output of each rank to files in PATH")
      ->type_name("PATH");
  run->add_option("--master-port", line.run.master_port, "the port of rank 0 for the rendezvous [29500]")
      ->check(whole_number(1, 65535))
      ->type_name("PORT");
  add_duration(*run, "--time-limit", line.run.time_limit, "end the job after DURATION [none]");
  add_duration(*run, "--grace", line.run.grace, "between SIGTERM and SIGKILL [10s]");
  add_duration(*run, "--watch", line.run.watch, "if no rank prints for DURATION, report what each rank does [off]");
  run->add_flag("--no-preflight", line.run.no_preflight, "start even if the preflight would fail");
  run->add_flag("--json", line.run.json, "the outcome as JSON, with the end of the output");
  add_node_selection(*run, line.run.selection);
  run->footer(
      "Copies no program: COMMAND must be on every node, or in the image. Each rank has RANK,\n"
      "LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR and MASTER_PORT, the\n"
      "variables of `profile_env`, and those that NCCL needs on the fabric. If a rank fails,\n"
      "all others are ended, and the exit code is 10. A preflight that fails is 8: nothing\n"
      "was started. No process of the job stays on a node. On a node it writes only the agent\n"
      "and the process starter.");
  run->callback([&] {
    line.started = &line.run.argv;
    line.command = [&](Console& c) { return run_job_command(line.run, line.global, c); };
  });
}

}  // namespace sparkplan
