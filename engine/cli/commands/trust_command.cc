#include "engine/cli/commands/trust_command.h"

#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/input/ssh_options.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/core/text.h"
#include "engine/fleet/session/selection.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan {
namespace {

/// "spark-01 (10.0.0.11)", "jump host bastion (10.0.0.1) of spark-01"
std::string subject(const SshStation& station) {
  if (station.is_jump_host) return station.context() + " of " + station.node;
  return printable(station.node + " (" + station.address + ")");
}

void show(const OfferedHostKey& key, const SshStation& station, const Console& console) {
  console.result(subject(station) + printable(" shows the " + key.type + " host key " + key.fingerprint) + "\n");
}

/// The keys that known_hosts has instead.
void compare(const OfferedHostKey& key, const Console& console) {
  std::string text;
  for (const KnownHostKey& known : key.known) {
    text += printable("  before: " + known.type + " " + known.fingerprint + "  (" + known.file + ":" +
                      std::to_string(known.line) + ")") +
            "\n";
  }
  console.result(text + printable("  now:    " + key.type + " " + key.fingerprint) + "\n");
}

struct Asking {
  bool yes = false;  ///< The user has answered already.
  std::stop_token stop = {};
};

/// True to go on with the next station of the way.
Result<bool> settle(const OfferedHostKey& key, const SshStation& station, const std::string& file, const Asking& asking,
                    const Console& console) {
  using Standing = OfferedHostKey::Standing;
  // A jump host that is trusted is not what the user asked about.
  if (key.standing == Standing::kKnown && station.is_jump_host) return true;
  show(key, station, console);
  switch (key.standing) {
    case Standing::kKnown:
      console.result("It is in known_hosts already.\n");
      return true;
    case Standing::kPinned:
      console.result("It is the one pinned in " + printable(file) + ".\n");
      return true;
    case Standing::kUnknown:
      break;
    case Standing::kChanged:
      compare(key, console);
      return failure(why_not_recorded(key, station, file));
    case Standing::kPinMismatch:
    case Standing::kRevoked:
      return failure(why_not_recorded(key, station, file));
  }
  if (!asking.yes && !console.interactive()) {
    return failure(ErrorCode::kInvalidInput, "nothing was recorded: there is no terminal to ask on",
                   "compare the fingerprint on the machine itself, then pass --yes");
  }
  constexpr std::string_view kQuestion =
      "Does `cat /etc/ssh/ssh_host_*_key.pub | ssh-keygen -lf -` print this key on the machine itself?";
  if (!asking.yes && !console.confirm(kQuestion, asking.stop)) {
    console.remark("Nothing was recorded.");
    return false;
  }
  SPARK_TRY(const auto known_hosts, remember_host_key(key));
  console.result("Recorded in " + printable(known_hosts) + ".\n");
  return true;
}

}  // namespace

Error why_not_recorded(const OfferedHostKey& key, const SshStation& station, const std::string& file) {
  using Standing = OfferedHostKey::Standing;
  if (key.standing == Standing::kRevoked) {
    return make_error(ErrorCode::kUntrusted, "known_hosts marks this key as @revoked",
                      "give the machine new host keys; remove the line with @revoked only if it is a mistake");
  }
  if (key.standing == Standing::kPinMismatch) {
    return make_error(ErrorCode::kUntrusted, printable(file) + " pins another key for " + subject(station),
                      "if the machine was reinstalled, compare the fingerprint on the machine itself, and write it as "
                      "`host_key` in " +
                          printable(file));
  }
  return make_error(ErrorCode::kUntrusted, "known_hosts has another key for " + subject(station),
                    "if the machine was reinstalled, remove the old key first: " + command_to_forget(key, station));
}

Result<ExitCode> run_trust(const TrustOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("trust", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const Cluster& cluster = *input.loaded->cluster;
  const auto name = NodeName::parse(options.node);
  const auto* node = name ? cluster.find(*name) : nullptr;
  if (node == nullptr) return failure(no_such_node(options.node, cluster));
  if (node->transport != TransportKind::kSsh) {
    return failure(ErrorCode::kInvalidInput, options.node + " is a directory tree: it has no host key",
                   "name a node that is reached over SSH");
  }
  ConnectOptions connect{global.timeout, interrupts.token()};
  SPARK_CHECK(add_ssh_of_user(connect, {*node}, Passphrases::kAreAsked, console));
  SPARK_TRY(const SshWay way, way_to(*node, *connect.config, local_user()));
  // The node's key is seen only through jump hosts that are trusted.
  for (std::size_t at = 0; at < way.stations.size(); ++at) {
    const auto key = offered_host_key(way, at, connect);
    if (!key) {
      console.error(Error(key.error()).within(options.node));
      return ExitCode::kNodeFailed;
    }
    const auto settled =
        settle(*key, way.stations[at], input.loaded->cluster->file, {options.yes, interrupts.token()}, console);
    if (!settled && settled.error().code == ErrorCode::kUntrusted) {
      console.error(settled.error());
      return ExitCode::kNodeFailed;
    }
    if (!settled) return failure(settled.error());
    if (!*settled) return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace sparkplan
