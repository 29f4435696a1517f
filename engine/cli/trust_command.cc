#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/core/text.h"
#include "engine/remote/host_keys.h"

namespace sparkplan {

Result<ExitCode> run_trust(const TrustOptions& options, const GlobalOptions& global, Console& console) {
  auto input = load_for("trust", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto name = NodeName::parse(options.node);
  const auto* node = name ? input.loaded->cluster->find(*name) : nullptr;
  if (node == nullptr || node->transport != TransportKind::kSsh) {
    return failure(ErrorCode::kInvalidInput,
                   "there is no node " + options.node + " to be reached over SSH in " + input.loaded->cluster->file);
  }
  const auto key = offered_host_key(*node, global.timeout);
  if (!key) {
    console.error(Error(key.error()).within(options.node));
    return ExitCode::kNodeFailed;
  }
  console.result(
      printable(options.node + " (" + node->address + ") shows the " + key->type + " host key " + key->fingerprint) +
      "\n");
  switch (key->standing) {
    case OfferedHostKey::Standing::kKnown:
      console.result("It is in known_hosts already.\n");
      return ExitCode::kDone;
    case OfferedHostKey::Standing::kPinned:
      console.result("It is the one pinned in " + printable(input.loaded->cluster->file) + ".\n");
      return ExitCode::kDone;
    case OfferedHostKey::Standing::kUnknown:
      break;
    default:
      console.error(
          Error{ErrorCode::kUntrusted,
                "known_hosts or the file names another key for it",
                {},
                std::nullopt,
                "if the machine was installed anew, remove the old key first: ssh-keygen -R " + node->address});
      return ExitCode::kNodeFailed;
  }
  if (console.interactive() && !options.yes &&
      !console.confirm("Is this what `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` says on the machine itself?")) {
    console.remark("Nothing was recorded.");
    return ExitCode::kUsage;
  }
  SPARK_TRY(const auto known_hosts, remember_host_key(*key));
  console.result("Recorded in " + known_hosts + ".\n");
  return ExitCode::kDone;
}

}  // namespace sparkplan
