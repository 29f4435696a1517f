#include "engine/cli/discovery/first_contact.h"

#include <algorithm>
#include <utility>

#include "engine/cli/input/ssh_options.h"
#include "engine/cli/terminal/password.h"
#include "engine/cli/terminal/progress_display.h"
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

struct Asked {
  const NodeSpec* node = nullptr;
  Result<OfferedHostKey> key = failure(ErrorCode::kBug, "not asked");
};

bool is_unknown(const Asked& one) { return one.key && one.key->standing == OfferedHostKey::Standing::kUnknown; }

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

bool FirstContact::settle_host_keys(const std::vector<NodeSpec>& nodes) {
  if (!console_.interactive()) return true;  // The connections that follow refuse unknown keys.
  std::vector<Asked> asked;
  for (const NodeSpec& node : nodes) asked.push_back({&node});
  fan_out(
      asked, global_.workers, [&](Asked& one) { one.key = offered_host_key(*one.node, connect_); }, [](Asked&) {});
  std::string shown;
  for (const Asked& one : asked) {
    if (is_unknown(one)) shown += "  " + one.node->address + "  " + one.key->type + "  " + one.key->fingerprint + "\n";
  }
  if (shown.empty()) return true;
  console_.question("The host keys of these machines are not in known_hosts:\n" + printable(shown, true));
  if (!console_.confirm("Does `cat /etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -` print the same on each of them?",
                        interrupts_.token())) {
    console_.remark("Nothing was recorded, and nothing was read.");
    return false;
  }
  for (const Asked& one : asked) {
    if (!is_unknown(one)) continue;
    if (const auto remembered = remember_host_key(*one.key); !remembered) {
      console_.error(remembered.error());
      return false;
    }
  }
  return true;
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
    InitMachine& machine = *std::find_if(machines_.begin(), machines_.end(), [&](const InitMachine& one) {
      return one.address == node.spec->address && one.ssh.port == node.spec->ssh.port;
    });
    machine.error.reset();
    if (node.error) {
      machine.error = for_first_contact(*node.error, *node.spec);
      continue;
    }
    machine.facts = node.known.facts;
    machine.manifest = node.known.manifest;
    if (machine.manifest) machine.manifest->roster = *node.roster;
  }
}

void FirstContact::open_by_password(const std::vector<NodeSpec>& nodes) {
  std::vector<NodeSpec> locked;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& error = machines_[i].error;
    const bool no_key = error && error->message.find(kNoKeyAccepted) != std::string::npos;
    if (no_key) locked.push_back(nodes[i]);
  }
  if (locked.empty() || !console_.interactive() || interrupts_.token().stop_requested()) return;
  const auto password = ask_password("No SSH key was accepted. Password for " + printable(joined_logins(locked)) + ": ",
                                     console_.screen(), interrupts_.token());
  if (!password || password->empty()) return;
  open(locked, *password);
  std::vector<NodeSpec> entered;
  for (const NodeSpec& node : locked) {
    const auto was_read = [&](const InitMachine& one) {
      return one.address == node.address && one.ssh.port == node.ssh.port && one.facts.has_value();
    };
    if (std::any_of(machines_.begin(), machines_.end(), was_read)) entered.push_back(node);
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
    if (done) continue;
    console_.error(Error(done.error()).within(login_at(node)));
    key_is_missing_ = true;
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
  return std::move(machines_);
}

}  // namespace sparkplan
