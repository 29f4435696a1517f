#include "engine/cli/discovery/first_contact.h"

#include <algorithm>
#include <utility>

#include "engine/cli/input/ssh_options.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/cli/terminal/typed_input.h"
#include "engine/core/text.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/remote/authorized_key.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan {
namespace {

std::string login_at(const NodeSpec& node) { return node.ssh.user + "@" + node.address; }

std::string joined_logins(const std::vector<NodeSpec>& nodes) {
  std::vector<std::string> logins;
  for (const NodeSpec& node : nodes) logins.push_back(login_at(node));
  return fold_names(logins);
}

/// `sparkplan trust` needs a cluster.yaml, which does not exist yet.
Error for_first_contact(Error error, const NodeSpec& node) {
  if (error.code == ErrorCode::kUntrusted && error.hint.find("sparkplan trust") != std::string::npos) {
    error.hint =
        "compare the fingerprint on the machine itself, then run init on a terminal and confirm it, or record the key "
        "with `ssh " +
        login_at(node) + "`; for nodes in a cluster.yaml, use `sparkplan trust`";
  }
  return error;
}

}  // namespace

bool FirstContact::confirm_keys(const std::vector<UnknownHostKey>& keys) {
  std::string shown;
  for (const auto& one : keys) shown += "  " + one.subject() + "  " + one.key.type + "  " + one.key.fingerprint + "\n";
  console_.question(
      "The host keys of these machines are not in known_hosts:\n" + printable(shown, true) +
      "Compare each fingerprint with the one that the machine itself prints, for example on its console:\n"
      "  ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub\n"
      "A key of another type is in another file there: /etc/ssh/ssh_host_*_key.pub.\n"
      "Yes adds these keys to known_hosts and reads the machines. No adds no key and reads none of them.\n");
  const bool is_first = !std::exchange(keys_were_asked_, true);
  if (console_.confirm("Are all fingerprints the same?", interrupts_.token())) return true;
  console_.remark(is_first ? "Nothing was recorded, and nothing was read." : "These keys were not recorded.");
  return false;
}

bool FirstContact::settle_host_keys(const std::vector<NodeSpec>& nodes) {
  if (!console_.interactive()) return true;  // The connections that follow refuse unknown keys.
  const LocalUser me = local_user();
  std::vector<SshWay> ways;
  for (const NodeSpec& node : nodes) {
    // The connection reports an invalid setting.
    if (auto way = way_to(node, *connect_.config, me)) ways.push_back(*std::move(way));
  }
  HostKeySteps steps;
  steps.offered = [&](const SshWay& way, std::size_t station) { return offered_host_key(way, station, connect_); };
  steps.confirm = [&](const std::vector<UnknownHostKey>& keys) { return confirm_keys(keys); };
  steps.record = [](const OfferedHostKey& key) -> Result<void> {
    SPARK_CHECK(remember_host_key(key));
    return {};
  };
  const auto settled = settle_in_rounds(ways, global_.workers, steps);
  if (!settled) console_.error(settled.error());
  return settled && *settled;
}

InitMachine& FirstContact::machine_of(const NodeSpec& node) {
  return *std::ranges::find_if(
      machines_, [&](const InitMachine& one) { return one.address == node.address && one.ssh.port == node.ssh.port; });
}

void FirstContact::open(const std::vector<NodeSpec>& nodes, const Secret& password) {
  Cluster cluster;
  cluster.nodes = nodes;
  RunOptions options;
  options.command = "init";
  options.workers = global_.workers;
  options.extended = true;
  options.stop = interrupts_.token();
  options.agent.connect = connect_;
  options.agent.connect.password = password;
  // On the first day, the user's login password is also the password that sudo asks for.
  options.agent.become_password = become_password_.empty() ? password : become_password_;
  ProgressDisplay progress(console_, cluster);
  options.progress = progress.listener();
  FleetSession session(cluster, builtin_registry(), std::move(options));
  session.open();
  for (const FleetNode& node : session.nodes()) {
    InitMachine& machine = machine_of(*node.spec);
    machine.error.reset();
    if (node.error) {
      machine.error = for_first_contact(*node.error, *node.spec);
      continue;
    }
    machine.facts = node.known.facts;
    machine.manifest = node.known.manifest;
    machine.host_key = sparkplan::machine_of(node).host_key;
    if (machine.manifest) machine.manifest->roster = *node.roster;
  }
}

void FirstContact::open_by_password(const std::vector<NodeSpec>& nodes) {
  std::vector<NodeSpec> locked;
  for (const NodeSpec& node : nodes) {
    const auto& error = machine_of(node).error;
    const bool no_key = error && error->message.find(kNoKeyAccepted) != std::string::npos;
    if (no_key) locked.push_back(node);
  }
  if (locked.empty() || !console_.interactive() || interrupts_.token().stop_requested()) return;
  const auto password = ask_password("No SSH key was accepted. Password for " + printable(joined_logins(locked)) + ": ",
                                     console_.screen(), interrupts_.token());
  if (!password || password->empty()) return;
  open(locked, *password);
  std::vector<NodeSpec> entered;
  for (const NodeSpec& node : locked) {
    if (machine_of(node).facts) entered.push_back(node);
  }
  if (!entered.empty()) offer_our_key(entered, *password);
}

void FirstContact::offer_our_key(const std::vector<NodeSpec>& nodes, const Secret& password) {
  const auto key = own_public_key();
  if (!key) {
    console_.error(Error(key.error()).within("without a key, plan and apply cannot log in"));
    return;
  }
  const auto comment = key->rfind(' ');
  if (!console_.confirm("plan and apply log in by key only. Add your key (" + printable(key->substr(comment + 1)) +
                            ") to ~/.ssh/authorized_keys of " + joined_logins(nodes) + "?",
                        interrupts_.token())) {
    console_.remark("No key was added. To add it later, use `ssh-copy-id`.");
    return;
  }
  for (const NodeSpec& node : nodes) {
    ConnectOptions options = connect_;
    options.password = password;
    auto connection = connect_ssh(node, options);
    const auto done = connection ? authorize_key(**connection, *key) : Result<void>(failure(connection.error()));
    if (done) {
      key_was_added_ = true;
      continue;
    }
    console_.error(Error(done.error()).within(login_at(node)));
    key_is_missing_ = true;
  }
}

void FirstContact::read_behind(std::vector<NodeSpec> nodes) {
  const LocalUser me = local_user();
  // A machine that accepted our key was read, so each round has fewer machines.
  while (std::exchange(key_was_added_, false)) {
    std::erase_if(nodes, [&](const NodeSpec& node) {
      const auto way = way_to(node, *connect_.config, me);
      return !machine_of(node).error || !way || way->stations.size() == 1;
    });
    if (nodes.empty() || interrupts_.token().stop_requested() || !settle_host_keys(nodes)) return;
    open(nodes, {});
    open_by_password(nodes);
  }
}

Result<std::vector<NodeSpec>> FirstContact::with_users(std::vector<NodeSpec> nodes) {
  connect_.timeout = global_.timeout;
  connect_.stop = interrupts_.token();
  if (!connect_.keys) SPARK_CHECK(add_ssh_of_user(connect_, nodes, Passphrases::kAreAsked, console_));
  const LocalUser me = local_user();
  for (NodeSpec& node : nodes) {
    if (!node.ssh.user.empty()) continue;
    const auto way = way_to(node, *connect_.config, me);
    node.ssh.user = way ? way->node().user : me.name;  // The connection reports an invalid setting.
  }
  return nodes;
}

std::optional<std::vector<InitMachine>> FirstContact::read(const std::vector<NodeSpec>& given) {
  const auto users = with_users(given);
  if (!users) {
    console_.error(users.error());
    return std::nullopt;
  }
  const std::vector<NodeSpec>& nodes = *users;
  machines_.clear();
  for (const NodeSpec& node : nodes) {
    InitMachine machine;
    machine.given = login_at(node) + (node.ssh.port == 22 ? "" : ":" + std::to_string(node.ssh.port));
    machine.address = node.address;
    machine.ssh = node.ssh;
    machines_.push_back(std::move(machine));
  }
  if (!settle_host_keys(nodes)) return std::nullopt;
  if (global_.ask_become_pass) {
    auto password = ask_password("Password for sudo on the machines: ", console_.screen(), interrupts_.token());
    if (!password) {
      console_.error(password.error());
      return std::nullopt;
    }
    become_password_ = *std::move(password);
  }
  open(nodes, {});
  open_by_password(nodes);
  read_behind(nodes);
  return std::move(machines_);
}

}  // namespace sparkplan
