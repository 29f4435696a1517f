#include "engine/cli/application.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <sstream>

#include "engine/cli/commands.h"
#include "engine/cli/doctor_command.h"
#include "engine/cli/usage/completion.h"
#include "engine/cli/usage/program_usage.h"
#include "engine/cli/verify_command.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/export/export.h"

namespace sparkplan {
namespace {

/// All options and arguments of the command line. CLI11 writes into it.
struct CommandLine {
  GlobalOptions global;
  InitOptions init;
  ValidateOptions validate;
  PlanOptions plan;
  ApplyCommandOptions apply;
  DriftOptions drift;
  VerifyCommandOptions verify;
  DoctorCommandOptions doctor;
  std::string status_file;
  FactsOptions facts;
  TrustOptions trust;
  ReleaseOptions release;
  ShowOptions show;
  HistoryOptions history;
  RollbackOptions rollback;
  UnlockOptions unlock;
  ExportOptions exported;
  std::string completion_shell;
  std::function<Result<ExitCode>(Console&)> command;
};

void add_duration(CLI::App& app, const std::string& name, std::chrono::milliseconds& into, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [&into, name](const std::string& text) {
           const auto duration = parse_duration(text);
           if (!duration) throw CLI::ValidationError(name, duration.error().describe());
           into = *duration;
         },
         help)
      ->type_name("DURATION");
}

void add_safety(CLI::App& app, SafetyOptions& safety) {
  add_duration(app, "--confirm-timeout", safety.confirm_timeout,
               "roll back if the node is unreachable after DURATION; 5s to 30m [90s]");
  app.add_flag("--allow-mgmt-change", safety.allow_management_change,
               "also change the interface that carries the connection");
  app.add_flag("--no-safety-net", safety.no_safety_net, "do not roll back on a node that is cut off");
  app.add_option("--max-parallel", safety.max_parallel,
                 "after the first node, change the network of at most N nodes at once [all]")
      ->check(CLI::Range(1, 256).description(""))
      ->type_name("N");
}

void add_signer(CLI::App& app, SignerOptions& into) {
  // An empty variable of a script must not disable the check.
  const CLI::Validator not_empty(
      [](std::string& text) { return text.empty() ? std::string("it must not be empty") : std::string(); }, "");
  app.add_option("--signed-by", into.identity, "refuse a plan that IDENTITY has not signed with ssh-keygen -Y sign")
      ->check(not_empty)
      ->type_name("IDENTITY");
  app.add_option("--allowed-signers", into.allowed_signers,
                 "file that assigns keys to identities [~/.ssh/allowed_signers]")
      ->check(not_empty)
      ->type_name("PATH");
}

constexpr auto kFileHelp = "cluster description [$SPARKPLAN_CLUSTER or ./cluster.yaml]";

constexpr auto kFileOrPlanHelp = "cluster description, or a saved plan [$SPARKPLAN_CLUSTER or ./cluster.yaml]";

// Without a type name, CLI11 prints its own after the name of the argument.
void add_file(CLI::App& app, std::string& into) { app.add_option("FILE", into, kFileHelp)->type_name(""); }

void add_file_option(CLI::App& app, std::string& into) {
  app.add_option("-f,--file", into, kFileHelp)->type_name("FILE");
}

void add_selection(CLI::App& app, SelectionOptions& into) {
  app.add_option("--only", into.only, "only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option("--exclude", into.exclude, "everything except what matches GLOB")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.add_flag("-v,--verbose", global.verbosity, "print each action on each node");
  app.add_flag("-q,--quiet", global.quiet, "print only what needs attention");
  app.add_flag("--no-color", global.no_color, "no colours (NO_COLOR in the environment does the same)");
  app.add_option("--log-file", global.log_file, "write the output of -v to PATH")->type_name("PATH");
  app.add_option("--workers", global.workers, "number of nodes in parallel, 1 to 256 [16]")
      ->check(CLI::Range(1, 256).description(""))
      ->type_name("N");
  add_duration(app, "--timeout", global.timeout, "how long to wait for a connection [10s]");
  app.add_flag("--ask-become-pass", global.ask_become_pass, "ask for the password that sudo needs on the nodes");
}

void add_init(CLI::App& app, CommandLine& line) {
  auto* init = app.add_subcommand("init", "write a cluster.yaml that describes these machines as they are");
  init->add_option("HOST", line.init.hosts, "[USER@]HOST[:PORT] of each machine")->type_name("");
  init->add_flag("--discover", line.init.discover, "find machines that announce SSH in this machine's networks");
  init->add_option("-o,--output", line.init.output, "write PATH; - is standard output [where commands look for FILE]")
      ->type_name("PATH");
  init->footer(
      "The file keeps what sparkplan already manages there, and the existing addresses.\n"
      "init shows unknown host keys and asks once for all of them. If a machine accepts no\n"
      "key, it asks for one password. It writes to a machine only the agent, a single\n"
      "static file, if it is missing, and your public key if you agree.");
  init->callback([&] { line.command = [&](Console& c) { return run_init(line.init, line.global, c); }; });
}

void add_commands(CLI::App& app, CommandLine& line) {
  auto* validate = app.add_subcommand("validate", "check cluster.yaml; contacts no node");
  add_file(*validate, line.validate.file);
  validate->add_flag("--json", line.validate.json, "findings as JSON");
  validate->callback([&] { line.command = [&](Console& c) { return run_validate(line.validate, line.global, c); }; });

  auto* plan = app.add_subcommand("plan", "show what would change on each node, and why; changes nothing");
  add_file(*plan, line.plan.file);
  plan->add_option("-o,--output", line.plan.output, "save the plan as PATH, for apply")->type_name("PATH");
  plan->add_flag("--json", line.plan.json, "the plan as JSON");
  plan->add_flag("--yes-prune", line.plan.yes_prune,
                 "contact nodes that left the file, and show what is restored there");
  plan->add_flag("--detailed-exitcode", line.plan.detailed_exit_code, "exit 2 if there are changes");
  add_selection(*plan, line.plan.selection);
  plan->footer(
      "plan writes nothing to a node except the agent, a single static file, if the node\n"
      "has no usable one.");
  plan->callback([&] { line.command = [&](Console& c) { return run_plan(line.plan, line.global, c); }; });

  auto* show = app.add_subcommand("show", "show a saved plan; contacts no node");
  show->add_option("PLAN", line.show.file, "the file that plan -o has written")->required()->type_name("");
  show->add_flag("--json", line.show.json, "the plan as JSON");
  add_signer(*show, line.show.signer);
  show->callback([&] { line.command = [&](Console& c) { return run_show(line.show, c); }; });

  auto* apply = app.add_subcommand("apply", "make the nodes match cluster.yaml, or apply a saved plan");
  apply->add_option("FILE", line.apply.file, kFileOrPlanHelp)->type_name("");
  apply->add_flag("--yes", line.apply.yes, "do not ask");
  apply->add_flag("--yes-prune", line.apply.yes_prune,
                  "restore nodes that left the file; permit a prune of most resources");
  apply->add_flag("--all-or-nothing", line.apply.all_or_nothing, "change no node if one cannot be reached or planned");
  add_safety(*apply, line.apply.safety);
  add_duration(*apply, "--lock-timeout", line.apply.lock_timeout, "how long to wait for another run's locks [0s]");
  add_signer(*apply, line.apply.signer);
  apply->add_flag("--verify", line.apply.verify, "after success, run the checks of `verify`");
  apply->add_flag("--json", line.apply.json, "the outcome as JSON");
  add_selection(*apply, line.apply.selection);
  apply->footer(
      "Shows the plan and asks; without a terminal it needs --yes. After the changes it\n"
      "reads the nodes again and reports settings without effect. Disruptive changes are\n"
      "made on one node first. A node rolls back by itself unless sparkplan reconnects in\n"
      "time. Ctrl-C finishes the current step, records what was done and releases the\n"
      "locks. A saved plan is applied once, exactly as it is shown. Changes whose nodes\n"
      "differ from the plan are refused.");
  apply->callback([&] { line.command = [&](Console& c) { return run_apply(line.apply, line.global, c); }; });

  auto* drift = app.add_subcommand("drift", "find changes made on the nodes since the last apply; for cron");
  add_file(*drift, line.drift.file);
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

void add_membership_commands(CLI::App& app, CommandLine& line) {
  auto* release =
      app.add_subcommand("release", "restore a node as it was before sparkplan, and remove it from the others");
  release->add_option("NODE", line.release.node, "its name")->required()->type_name("");
  add_file_option(*release, line.release.file);
  release->add_flag("--yes", line.release.yes, "do not ask");
  add_safety(*release, line.release.safety);
  add_duration(*release, "--lock-timeout", line.release.lock_timeout, "how long to wait for another run's locks [0s]");
  release->footer(
      "Removes everything of sparkplan from the node, the agent too. Values that were\n"
      "edited since stay. The other nodes are changed to match the file without this node.\n"
      "To release it permanently, remove it from the file as well.");
  release->callback([&] { line.command = [&](Console& c) { return run_release(line.release, line.global, c); }; });

  auto* trust = app.add_subcommand("trust", "show a node's host key and record it in ~/.ssh/known_hosts");
  trust->add_option("NODE", line.trust.node, "its name")->required()->type_name("");
  add_file_option(*trust, line.trust.file);
  trust->add_flag("--yes", line.trust.yes, "do not ask");
  trust->footer(
      "Asks first if there is a terminal. Compare the fingerprint with the output of\n"
      "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the machine itself.");
  trust->callback([&] { line.command = [&](Console& c) { return run_trust(line.trust, line.global, c); }; });
}

void add_commands_about_past_runs(CLI::App& app, CommandLine& line) {
  auto* history = app.add_subcommand("history", "past runs, newest first");
  history->add_option("NODE", line.history.node, "its runs, with every artifact; without it, the runs of all nodes")
      ->type_name("");
  add_file_option(*history, line.history.file);
  history->add_flag("--json", line.history.json, "as JSON");
  history->callback([&] { line.command = [&](Console& c) { return run_history(line.history, line.global, c); }; });

  auto* rollback = app.add_subcommand("rollback", "undo the last run, except values that were edited since");
  rollback->add_option("NODE", line.rollback.nodes, "undo the last run of each; without it, the cluster's last run")
      ->type_name("");
  add_file_option(*rollback, line.rollback.file);
  rollback->add_flag("--yes", line.rollback.yes, "do not ask");
  add_safety(*rollback, line.rollback.safety);
  add_duration(*rollback, "--lock-timeout", line.rollback.lock_timeout,
               "how long to wait for another run's locks [0s]");
  rollback->footer(
      "Shows its plan and asks. Values that were edited since stay, and are listed.\n"
      "cluster.yaml still asks for the other state: the next plan shows the difference.\n"
      "A second rollback undoes the run before, never the rollback.");
  rollback->callback([&] { line.command = [&](Console& c) { return run_rollback(line.rollback, line.global, c); }; });

  auto* unlock = app.add_subcommand("unlock", "break a node's lock, after naming its holder");
  unlock->add_option("NODE", line.unlock.node, "its name")->required()->type_name("");
  add_file_option(*unlock, line.unlock.file);
  unlock->add_flag("--yes", line.unlock.yes, "do not ask");
  unlock->footer(
      "Ends the agent that holds the lock, and so the other run on that node. You rarely\n"
      "need it: a lock ends with its run, or two minutes after its controller disappeared.");
  unlock->callback([&] { line.command = [&](Console& c) { return run_unlock(line.unlock, line.global, c); }; });
}

void add_verify(CLI::App& app, CommandLine& line) {
  auto* verify = app.add_subcommand("verify", "measure whether the cluster works, from the cable up to NCCL");
  add_file(*verify, line.verify.file);
  verify
      ->add_option("--level", line.verify.level,
                   "one of " + join(level_names(), ", ") + "; runs the levels it needs, too [all]")
      ->type_name("LEVEL");
  verify->add_flag("--json", line.verify.json, "the checks as JSON");
  verify->add_option("--junit", line.verify.junit, "write the checks to PATH as JUnit XML")->type_name("PATH");
  verify->add_option("--only", line.verify.selection.only, "only nodes whose name matches GLOB")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  verify->footer(
      "Writes to a node only the agent, if it is missing or of another build, and the\n"
      "history of its measurements. Failed checks are printed last, with cause and fix. A\n"
      "check is skipped if one that it needs failed, or if its hardware is absent.");
  verify->callback([&] { line.command = [&](Console& c) { return run_verify(line.verify, line.global, c); }; });

  auto* doctor = app.add_subcommand("doctor", "find known faults, with cause and fix");
  add_file(*doctor, line.doctor.file);
  doctor->add_flag("--json", line.doctor.json, "the findings as JSON");
  doctor->footer(
      "Reads everything from the nodes and measures nothing. Writes to a node only the\n"
      "agent, if it is missing or of another build. Exits with 8 if something fails;\n"
      "warnings do not count. docs/doctor.md lists all faults it knows.");
  doctor->callback([&] { line.command = [&](Console& c) { return run_doctor(line.doctor, line.global, c); }; });
}

void add_inspecting_commands(CLI::App& app, CommandLine& line) {
  auto* status = app.add_subcommand("status", "one line per node");
  add_file(*status, line.status_file);
  status->callback([&] { line.command = [&](Console& c) { return run_status(line.status_file, line.global, c); }; });

  auto* facts = app.add_subcommand("facts", "print everything that sparkplan reads from a node");
  facts->add_option("NODE", line.facts.node, "its name; without it, all nodes")->type_name("");
  add_file_option(*facts, line.facts.file);
  facts->add_flag("--json", line.facts.json, "as JSON");
  facts->footer(
      "Reads everything from a node. Writes to it only the agent, if it is missing or of\n"
      "another build.");
  facts->callback([&] { line.command = [&](Console& c) { return run_facts(line.facts, line.global, c); }; });

  auto* exported = app.add_subcommand("export", "print the cluster for another tool; contacts no node");
  add_file(*exported, line.exported.file);
  exported->add_option("--format", line.exported.format, "one of " + join(export_formats(), ", "))
      ->type_name("FORMAT")
      ->check(CLI::IsMember(export_formats()).description(""));
  exported->footer(
      "Uses only the file. RDMA devices that only a node can name are missing from env and\n"
      "docker, unless the file names them or the profile is dgx-spark.");
  exported->callback([&] { line.command = [&](Console& c) { return run_export(line.exported, c); }; });

  auto* completion = app.add_subcommand("completion", "print a script that adds completion of sparkplan to a shell");
  // The completion scripts offer the words of the type name.
  completion->add_option("SHELL", line.completion_shell, "the shell")
      ->required()
      ->type_name(join(completion_shells(), "|"))
      ->check(CLI::IsMember(completion_shells()).description(""));
  completion->footer(
      "For bash add `source <(sparkplan completion bash)` to ~/.bashrc, for zsh\n"
      "`source <(sparkplan completion zsh)` to ~/.zshrc after compinit, for fish\n"
      "`sparkplan completion fish | source` to ~/.config/fish/config.fish. The Debian\n"
      "package installs all three.");
  completion->callback([&] { line.command = [&](Console& c) { return run_completion(line.completion_shell, c); }; });

  app.add_subcommand("schema", "print the JSON Schema of cluster.yaml")->callback([&] { line.command = run_schema; });
  app.add_subcommand("types", "list the resource types")->callback([&] { line.command = run_types; });
  app.add_subcommand("version", "print the version")->callback([&] { line.command = run_version; });
}

// The only table of commands and flags. --help, the manual page, the completions and docs/commands.md are generated
// from it.
void declare(CLI::App& app, CommandLine& line) {
  app.name("sparkplan");
  app.description("Makes a cluster of machines match one cluster.yaml, over SSH.");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.fallthrough();
  add_global_options(app, line.global);
  add_init(app, line);
  add_commands(app, line);
  add_verify(app, line);
  add_commands_about_past_runs(app, line);
  add_membership_commands(app, line);
  add_inspecting_commands(app, line);
}

/// Returns the unknown word in place of a command. CLI11 only reports that a command is missing.
std::optional<std::string> unknown_command(const CLI::App& app) {
  const auto words = app.remaining();
  if (!app.get_subcommands().empty() || words.empty() || words.front().starts_with('-')) return std::nullopt;
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  const auto near = nearest(words.front(), commands);
  return "there is no command " + printable(words.front()) + (near ? "; did you mean " + *near + "?" : "");
}

}  // namespace

ProgramUsage program_usage() {
  CommandLine line;
  CLI::App app;
  declare(app, line);
  return usage_of(app);
}

Result<ExitCode> run_completion(const std::string& shell, Console& console) {
  console.result(completion_script(shell, program_usage()));
  return ExitCode::kDone;
}

ExitCode run_application(int argc, char** argv) {
  // When a node's agent or a pager closes its pipe, report an error instead of dying by SIGPIPE.
  ::signal(SIGPIPE, SIG_IGN);
  CommandLine line;
  CLI::App app;
  declare(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    const auto unknown = unknown_command(app);
    if (unknown && problem.get_exit_code() != 0) {
      std::cerr << "sparkplan: error: " << *unknown << "\nRun with --help for more information.\n";
      return ExitCode::kUsage;
    }
    std::ostringstream out;
    std::ostringstream complaint;
    const int status = app.exit(problem, out, complaint);
    std::cout << out.str();
    std::cerr << printable(complaint.str(), true);
    return status == 0 ? ExitCode::kDone : ExitCode::kUsage;
  }
  auto console = Console::open(line.global.verbosity, line.global.quiet, line.global.no_color, line.global.log_file);
  if (!console) {
    std::cerr << "sparkplan: error: " << printable(console.error().describe()) << "\n";
    return ExitCode::kUsage;
  }
  const auto code = line.command(*console);
  if (!code) console->error(code.error());
  return code.value_or(ExitCode::kUsage);
}

}  // namespace sparkplan
