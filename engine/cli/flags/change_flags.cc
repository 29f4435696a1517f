// init, trust, validate, plan, show, apply, sync, rollback, release, unlock: a new cluster, and changes to its nodes.
#include <CLI/CLI.hpp>

#include "engine/cli/commands/commands.h"
#include "engine/cli/flags/command_flags.h"
#include "engine/cli/flags/shared_flags.h"
#include "engine/core/text.h"

namespace sparkplan {

void add_init(CLI::App& app, CommandLine& line) {
  auto* init = app.add_subcommand("init", "write a cluster.yaml that describes these machines as they are");
  init->add_option("HOST", line.init.hosts, "[USER@]HOST[:PORT] of each machine")->type_name("");
  init->add_flag("--discover", line.init.discover, "find machines that announce SSH in this machine's networks");
  init->add_option("-o,--output", line.init.output, "write PATH; - is standard output [where commands look for FILE]")
      ->type_name("PATH");
  line.files.push_back(&line.init.output);
  init->footer(
      "The file keeps what sparkplan already manages there, and the existing addresses. init\n"
      "shows unknown host keys and asks once for all of them. If a machine accepts no key, it\n"
      "asks for one password, for the login and for sudo. On a machine it writes only the\n"
      "agent (a single static file) if it is missing, and your public key if you agree.");
  init->callback([&] { line.command = [&](Console& c) { return run_init(line.init, line.global, c); }; });
}

void add_trust(CLI::App& app, CommandLine& line) {
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

void add_validate(CLI::App& app, CommandLine& line) {
  auto* validate = app.add_subcommand("validate", "check cluster.yaml; contacts no node");
  add_file(*validate, line, line.validate.file);
  validate->add_flag("--json", line.validate.json, "findings as JSON");
  validate->callback([&] { line.command = [&](Console& c) { return run_validate(line.validate, line.global, c); }; });
}

void add_plan(CLI::App& app, CommandLine& line) {
  auto* plan = app.add_subcommand("plan", "show what would change on each node, and why; changes nothing there");
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
      "has no usable one. If the file has `models` or `images`, plan also installs\n"
      "sparkplan-copy, which lists them.");
  plan->callback([&] { line.command = [&](Console& c) { return run_plan(line.plan, line.global, c); }; });
}

void add_show(CLI::App& app, CommandLine& line) {
  auto* show = app.add_subcommand("show", "show a saved plan; contacts no node");
  show->add_option("PLAN", line.show.file, "the file that plan -o has written")->required()->type_name("");
  show->add_flag("--json", line.show.json, "the plan as JSON");
  add_signer(*show, line.show.signer);
  show->callback([&] { line.command = [&](Console& c) { return run_show(line.show, c); }; });
}

void add_apply(CLI::App& app, CommandLine& line) {
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
}

void add_sync(CLI::App& app, CommandLine& line) {
  auto* sync = app.add_subcommand("sync", "bring `models` and `images` to every node, over the fabric");
  line.files.push_back(&line.sync.file);
  sync->add_flag("--yes", line.sync.yes,
                 "do not ask before replacing other content, before sending files that only the source has, or "
                 "before removing with --prune");
  sync->add_flag("--dry-run", line.sync.dry_run, "show what would be sent; send nothing");
  sync->add_flag("--prune", line.sync.prune, "also remove what earlier syncs brought and the file no longer names");
  sync->add_flag("--verify", line.sync.verify, "read every file again, compare its digests, and send whole images");
  sync->add_flag("--encrypt", line.sync.encrypt, "encrypt what travels over the fabric");
  sync->add_option("--limit", line.sync.limit, "send and receive at most RATE per node: 0.4 Gb/s, 50 MB/s")
      ->type_name("RATE");
  sync->add_flag("--json", line.sync.json, "the outcome as JSON; progress as JSON objects on standard error");
  add_node_selection(*sync, line.sync.selection);
  sync->footer(
      "The data travels from node to node, and through this machine only with `from: here`.\n"
      "Each chunk is verified by SHA-256. A file gets its name only when it is whole. A sync\n"
      "that was interrupted continues where it ended. Files that only a receiver has are left\n"
      "alone. On a node it writes only sparkplan-copy, the content, records of what it read or\n"
      "brought, and archives of images until the nodes have them.");
  sync->callback([&] { line.command = [&](Console& c) { return run_sync(line.sync, line.global, c); }; });
}

void add_rollback(CLI::App& app, CommandLine& line) {
  auto* rollback = app.add_subcommand("rollback", "undo the last run of most nodes, or of NODE; later edits stay");
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
      "A second rollback undoes the run before that one, never the rollback.");
  rollback->callback([&] { line.command = [&](Console& c) { return run_rollback(line.rollback, line.global, c); }; });
}

void add_release(CLI::App& app, CommandLine& line) {
  auto* release =
      app.add_subcommand("release", "restore a node as it was before sparkplan, and remove it from the others");
  release->add_option("NODE", line.release.node, "its name")->required()->type_name("");
  line.files.push_back(&line.release.file);
  release->add_flag("--yes", line.release.yes, "do not ask");
  release->add_flag("--forget", line.release.forget, "do not contact the node, which keeps its configuration");
  add_safety(*release, line.release.safety);
  add_duration(*release, "--lock-timeout", line.release.lock_timeout, "how long to wait for another run's locks [0s]");
  release->footer(
      "Removes everything of sparkplan from the node, including the agent. Values edited\n"
      "since the last apply stay. The other nodes lose what they have of this node, such as\n"
      "its names and keys. Their other pending changes are counted and not made. To release it\n"
      "permanently, remove it from the file as well. --forget drops a node that left the file\n"
      "and no longer answers. Nothing is undone on it.");
  release->callback([&] { line.command = [&](Console& c) { return run_release(line.release, line.global, c); }; });
}

void add_unlock(CLI::App& app, CommandLine& line) {
  auto* unlock = app.add_subcommand("unlock", "show who holds a node's lock, and break it");
  unlock->add_option("NODE", line.unlock.node, "its name")->required()->type_name("");
  line.files.push_back(&line.unlock.file);
  unlock->add_flag("--yes", line.unlock.yes, "do not ask");
  unlock->footer(
      "Ends the agent that holds the lock, and so the other run on that node. You rarely\n"
      "need it: a lock ends with its run, or two minutes after its controller disappeared.");
  unlock->callback([&] { line.command = [&](Console& c) { return run_unlock(line.unlock, line.global, c); }; });
}

}  // namespace sparkplan
