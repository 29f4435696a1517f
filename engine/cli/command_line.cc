#include "engine/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "engine/cli/job_commands.h"
#include "engine/cli/usage/completion.h"
#include "engine/cli/verify_command.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/export/export.h"

namespace sparkplan {
namespace {

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
  app.add_flag("--no-safety-net", safety.no_safety_net, "make disruptive changes without automatic rollback");
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

/// FILE as an argument; -f FILE, which every command takes, is the same. Without a type name, CLI11 prints its own
/// after the name of the argument.
void add_file(CLI::App& app, CommandLine& line, std::string& into, const char* help = kFileHelp) {
  app.add_option("FILE", into, help)->type_name("");
  line.files.push_back(&into);
}

/// The words that an option or argument may be. The message names the nearest one.
CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    const auto near = nearest(word, words);
    return "there is no " + in_quotes(word) + "; " +
           (near ? "did you mean " + *near + "?" : "it is one of " + join(words, ", "));
  };
  return CLI::Validator([check](std::string& word) { return check(word); }, "");
}

void add_selection(CLI::App& app, SelectionOptions& into) {
  app.add_option("--only", into.only, "only what matches GLOB: NODE, NODE/TYPE or NODE/TYPE/NAME")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option("--exclude", into.exclude, "everything except what matches GLOB")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_node_selection(CLI::App& app, SelectionOptions& into) {
  app.add_option("--only", into.only, "only nodes that GLOB matches: spark-01, spark-*, spark-[01-03], a,b")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void add_report(CLI::App& app, std::string& into) {
  app.add_option("--report", into, "also write the result to PATH as an HTML page of one file")->type_name("PATH");
}

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.set_version_flag("--version", version_text, "print the version");
  app.add_option("-f,--file", global.file, kFileHelp)->type_name("FILE");
  app.add_flag("-v,--verbose", global.verbosity, "print each action on each node, and long values in full");
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
  line.files.push_back(&line.init.output);
  init->footer(
      "The file keeps what sparkplan already manages there, and the existing addresses.\n"
      "init shows unknown host keys and asks once for all of them. If a machine accepts no\n"
      "key, it asks for one password. On a machine it writes only the agent (a single static\n"
      "file) if it is missing, and your public key if you agree.");
  init->callback([&] { line.command = [&](Console& c) { return run_init(line.init, line.global, c); }; });
}

void add_commands(CLI::App& app, CommandLine& line) {
  auto* validate = app.add_subcommand("validate", "check cluster.yaml; contacts no node");
  add_file(*validate, line, line.validate.file);
  validate->add_flag("--json", line.validate.json, "findings as JSON");
  validate->callback([&] { line.command = [&](Console& c) { return run_validate(line.validate, line.global, c); }; });

  auto* plan = app.add_subcommand("plan", "show what would change on each node, and why; changes nothing");
  add_file(*plan, line, line.plan.file);
  plan->add_option("-o,--output", line.plan.output, "save the plan as PATH, for apply")->type_name("PATH");
  plan->add_flag("--json", line.plan.json, "the plan as JSON");
  plan->add_option("--format", line.plan.format,
                   "one of " + join(plan_formats(), ", ") + "; markdown is for pull requests [text]")
      ->type_name("FORMAT")
      ->check(one_of(plan_formats()));
  add_report(*plan, line.plan.report);
  plan->add_flag("--yes-prune", line.plan.yes_prune,
                 "contact nodes removed from the file, and show what is restored there");
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
  add_file(*apply, line, line.apply.file, kFileOrPlanHelp);
  apply->add_flag("--yes", line.apply.yes, "do not ask");
  apply->add_flag("--yes-prune", line.apply.yes_prune,
                  "restore nodes removed from the file; permit a prune of most resources");
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

void add_membership_commands(CLI::App& app, CommandLine& line) {
  auto* release =
      app.add_subcommand("release", "restore a node as it was before sparkplan, and remove it from the others");
  release->add_option("NODE", line.release.node, "its name")->required()->type_name("");
  line.files.push_back(&line.release.file);
  release->add_flag("--yes", line.release.yes, "do not ask");
  add_safety(*release, line.release.safety);
  add_duration(*release, "--lock-timeout", line.release.lock_timeout, "how long to wait for another run's locks [0s]");
  release->footer(
      "Removes everything of sparkplan from the node, including the agent. Values edited\n"
      "since the last apply stay. The other nodes are changed to match the file without\n"
      "this node. To release it permanently, remove it from the file as well.");
  release->callback([&] { line.command = [&](Console& c) { return run_release(line.release, line.global, c); }; });

  auto* trust = app.add_subcommand("trust", "show a node's host key and record it in ~/.ssh/known_hosts");
  trust->add_option("NODE", line.trust.node, "its name")->required()->type_name("");
  line.files.push_back(&line.trust.file);
  trust->add_flag("--yes", line.trust.yes, "do not ask");
  trust->footer(
      "Asks first; without a terminal it records nothing unless --yes is given. Begins with\n"
      "the jump hosts of the node. Compare the fingerprint with the output of\n"
      "`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the machine itself.");
  trust->callback([&] { line.command = [&](Console& c) { return run_trust(line.trust, line.global, c); }; });
}

void add_commands_about_past_runs(CLI::App& app, CommandLine& line) {
  auto* history = app.add_subcommand("history", "past runs, newest first");
  history->add_option("NODE", line.history.node, "its runs, with every artifact; without NODE, the runs of all nodes")
      ->type_name("");
  line.files.push_back(&line.history.file);
  history->add_flag("--json", line.history.json, "as JSON");
  history->callback([&] { line.command = [&](Console& c) { return run_history(line.history, line.global, c); }; });

  auto* rollback = app.add_subcommand("rollback", "undo the last run, but keep values edited since then");
  rollback->add_option("NODE", line.rollback.nodes, "undo the last run of each; without NODE, the cluster's last run")
      ->type_name("");
  line.files.push_back(&line.rollback.file);
  rollback->add_flag("--yes", line.rollback.yes, "do not ask");
  add_safety(*rollback, line.rollback.safety);
  add_duration(*rollback, "--lock-timeout", line.rollback.lock_timeout,
               "how long to wait for another run's locks [0s]");
  rollback->footer(
      "Shows its plan and asks. Values edited since the run stay, and are listed.\n"
      "cluster.yaml is unchanged, so the next plan shows the difference.\n"
      "A second rollback undoes the run before, never the rollback.");
  rollback->callback([&] { line.command = [&](Console& c) { return run_rollback(line.rollback, line.global, c); }; });

  auto* unlock = app.add_subcommand("unlock", "show who holds a node's lock, and break it");
  unlock->add_option("NODE", line.unlock.node, "its name")->required()->type_name("");
  line.files.push_back(&line.unlock.file);
  unlock->add_flag("--yes", line.unlock.yes, "do not ask");
  unlock->footer(
      "Ends the agent that holds the lock, and so the other run on that node. You rarely\n"
      "need it: a lock ends with its run, or two minutes after its controller disappeared.");
  unlock->callback([&] { line.command = [&](Console& c) { return run_unlock(line.unlock, line.global, c); }; });
}

void add_verify(CLI::App& app, CommandLine& line) {
  auto* verify = app.add_subcommand("verify", "measure whether the cluster works, from the cable up to NCCL");
  add_file(*verify, line, line.verify.file);
  verify
      ->add_option("--level", line.verify.level,
                   "one of " + join(level_names(), ", ") + "; also runs the levels it needs [all]")
      ->type_name("LEVEL");
  verify->add_flag("--json", line.verify.json, "the checks as JSON");
  verify->add_option("--junit", line.verify.junit, "write the checks to PATH as JUnit XML")->type_name("PATH");
  add_report(*verify, line.verify.report);
  add_node_selection(*verify, line.verify.selection);
  verify->footer(
      "On a node it writes only the agent, if it is missing or of another build, and the\n"
      "history of its measurements. Failed checks are printed last, with cause and fix. A\n"
      "check is skipped if another check that it needs failed, or if its hardware is absent.");
  verify->callback([&] { line.command = [&](Console& c) { return run_verify(line.verify, line.global, c); }; });

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

/// COMMAND and its arguments. split_command() takes them from the command line if they come after --.
void add_started_command(CLI::App& app, std::vector<std::string>& into) {
  app.add_option("COMMAND", into, "the command and its arguments, after --")->type_name("");
}

void add_job_commands(CLI::App& app, CommandLine& line) {
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
  run->add_option("--env", line.run.environment, "NAME=VALUE: set a variable in all ranks")
      ->type_name("VARIABLE")
      ->allow_extra_args(false);
  run->add_option("--workdir", line.run.directory, "the working directory on the nodes [home]")->type_name("DIRECTORY");
  run->add_option("--output-dir", line.run.output_dir, "write the output of each rank to files in PATH")
      ->type_name("PATH");
  run->add_option("--master-port", line.run.master_port, "the port of rank 0 for the rendezvous [29500]")
      ->check(CLI::Range(1, 65535).description(""))
      ->type_name("PORT");
  add_duration(*run, "--time-limit", line.run.time_limit, "end the job after DURATION [none]");
  add_duration(*run, "--grace", line.run.grace, "between SIGTERM and SIGKILL [10s]");
  run->add_flag("--no-preflight", line.run.no_preflight, "start even if the preflight would fail");
  run->add_flag("--json", line.run.json, "the outcome as JSON, with the end of the output");
  add_node_selection(*run, line.run.selection);
  run->footer(
      "Each rank has RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR and\n"
      "MASTER_PORT, the variables of `profile_env`, and those that NCCL needs on the fabric. If\n"
      "a rank fails, all others are ended, and the exit code is 10. A preflight that fails is 8:\n"
      "nothing was started. No process of the job stays on a node.");
  run->callback([&] {
    line.started = &line.run.argv;
    line.command = [&](Console& c) { return run_job_command(line.run, line.global, c); };
  });
}

void add_inspecting_commands(CLI::App& app, CommandLine& line) {
  auto* status = app.add_subcommand("status", "state, software, fabric and past runs of all nodes");
  add_file(*status, line, line.status.file);
  status->add_flag("--json", line.status.json, "as JSON");
  status->footer(
      "Writes nothing to a node. A row of the second table stands for all nodes with the\n"
      "same software. Times are local; those of --json are UTC.");
  status->callback([&] { line.command = [&](Console& c) { return run_status(line.status, line.global, c); }; });

  auto* facts = app.add_subcommand("facts", "print everything that sparkplan reads from a node");
  facts->add_option("NODE", line.facts.node, "its name; without it, all nodes are compared")->type_name("");
  line.files.push_back(&line.facts.file);
  facts->add_flag("--json", line.facts.json, "as JSON");
  facts->footer(
      "Reads everything from a node. Writes only the agent to it, if it is missing or of\n"
      "another build. Of several nodes the text has what they can have in common, each value\n"
      "once; --json has everything of all nodes.");
  facts->callback([&] { line.command = [&](Console& c) { return run_facts(line.facts, line.global, c); }; });

  auto* exported = app.add_subcommand("export", "print the cluster for another tool; contacts no node");
  add_file(*exported, line, line.exported.file);
  exported->add_option("--format", line.exported.format, "one of " + join(export_formats(), ", "))
      ->type_name("FORMAT")
      ->check(one_of(export_formats()));
  add_selection(*exported, line.exported.selection);
  exported->footer(
      "Uses only the file, and ~/.ssh/config for the way to the nodes. Interfaces and RDMA\n"
      "devices that only a node can name are missing, unless the file names them or the\n"
      "profile is dgx-spark: standard error reports that. With --only NODE, env sets that\n"
      "node's variables on any host; without, it selects them by the host's name.");
  exported->callback([&] { line.command = [&](Console& c) { return run_export(line.exported, c); }; });

  auto* completion = app.add_subcommand("completion", "print a script that adds completion of sparkplan to a shell");
  // The completion scripts offer the words of the type name.
  completion->add_option("SHELL", line.completion_shell, "the shell")
      ->required()
      ->type_name(join(completion_shells(), "|"))
      ->check(one_of(completion_shells()));
  completion->footer(
      "For bash add `source <(sparkplan completion bash)` to ~/.bashrc, for zsh\n"
      "`source <(sparkplan completion zsh)` to ~/.zshrc after compinit, for fish\n"
      "`sparkplan completion fish | source` to ~/.config/fish/config.fish. The Debian\n"
      "package installs all three.");
  completion->callback([&] { line.command = [&](Console& c) { return run_completion(line.completion_shell, c); }; });

  auto* help = app.add_subcommand("help", "print the commands, or the arguments and flags of one");
  help->add_option("COMMAND", line.help_of, "the command")->type_name("");
  help->callback([&] { line.command = [&](Console& c) { return run_help(line.help_of, c); }; });

  app.add_subcommand("schema", "print the JSON Schema of cluster.yaml")->callback([&] { line.command = run_schema; });
  app.add_subcommand("types", "list the resource types")->callback([&] { line.command = run_types; });
  app.add_subcommand("version", "print the version")->callback([&] { line.command = run_version; });
}

void add_sync(CLI::App& app, CommandLine& line) {
  auto* sync = app.add_subcommand("sync", "bring the directories of `models` to every node, over the fabric");
  line.files.push_back(&line.sync.file);
  sync->add_flag("--yes", line.sync.yes, "replace files that have other content, without asking");
  sync->add_flag("--dry-run", line.sync.dry_run, "show what would be sent; send nothing");
  sync->add_flag("--verify", line.sync.verify, "read every file again and compare its digests");
  sync->add_flag("--encrypt", line.sync.encrypt, "encrypt what travels over the fabric");
  sync->add_option("--limit", line.sync.limit, "send and receive at most RATE per node: 0.4 Gb/s, 50 MB/s")
      ->type_name("RATE");
  sync->add_flag("--json", line.sync.json, "the outcome as JSON; progress as JSON objects on standard error");
  add_node_selection(*sync, line.sync.selection);
  sync->footer(
      "The data travels from node to node, never through this machine. Each chunk is\n"
      "verified by SHA-256. A file gets its name only when it is whole. A sync that was\n"
      "interrupted continues where it ended. Files that only one node has are left alone.");
  sync->callback([&] { line.command = [&](Console& c) { return run_sync(line.sync, line.global, c); }; });
}

/// --help of a command, with the place of the flags that every command takes.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_footer(const CLI::App* app) const override {
    if (app->get_parent() == nullptr) return CLI::Formatter::make_footer(app);
    const std::string footer = app->get_footer();
    return footer + (footer.empty() ? "" : "\n\n") + "Flags of every command, such as -f FILE and -v: sparkplan help\n";
  }
};

/// The headings of --help.
void sort_into_groups(CLI::App& app) {
  const auto put = [&](const std::string& group, const std::vector<std::string>& commands) {
    for (const std::string& command : commands) app.get_subcommand(command)->group(group);
  };
  put("Begin", {"init", "trust", "validate"});
  put("Change the nodes", {"plan", "show", "apply", "sync", "rollback", "release", "unlock"});
  put("Inspect the nodes", {"status", "facts", "drift", "verify", "doctor", "history"});
  put("Run commands", {"exec", "run"});
  put("For other programs", {"export", "completion", "schema", "types", "version", "help"});
}

}  // namespace

void declare(CLI::App& app, CommandLine& line) {
  app.name("sparkplan");
  app.description("Makes a cluster of machines match one cluster.yaml, over SSH.");
  app.set_help_flag("-h,--help", "print this help");
  app.require_subcommand(1);
  app.fallthrough();
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  app.formatter(formatter);
  add_global_options(app, line.global);
  add_init(app, line);
  add_commands(app, line);
  add_verify(app, line);
  add_sync(app, line);
  add_commands_about_past_runs(app, line);
  add_membership_commands(app, line);
  add_inspecting_commands(app, line);
  add_job_commands(app, line);
  add_run(app, line);
  sort_into_groups(app);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace sparkplan
