#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/core/text.h"
#include "engine/export/export.h"
#include "engine/fleet/session/selection.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/config/ssh_way.h"

namespace sparkplan {
namespace {

SshTarget target_of(const SshStation& station, const LocalUser& me) {
  SshTarget target;
  target.address = station.address;
  target.port = station.port;
  target.only_identities = station.only_identities;
  target.host_key_alias = station.host_key_alias;
  // Other users of the exported file have other login names. A jump host can have the node's user.
  if (station.user_is_given || (station.is_jump_host && station.user != me.name)) target.user = station.user;
  for (const std::string& file : station.known_hosts) {
    if (!file.starts_with(me.home + "/.ssh/known_hosts")) target.known_hosts.push_back(file);
  }
  for (const IdentityFile& one : station.identities) {
    target.identities.push_back(one.shown.starts_with("~/") ? one.shown : one.path);
  }
  if (station.is_jump_host) target.name = station.name;
  return target;
}

SshTarget target_of(const SshWay& way, const LocalUser& me) {
  SshTarget target = target_of(way.node(), me);
  for (std::size_t i = 0; i + 1 < way.stations.size(); ++i) target.jumps.push_back(target_of(way.stations[i], me));
  return target;
}

/// The settings that ~/.ssh/config adds to cluster.yaml, for the nodes whose address it knows. An exported file does
/// not depend on it, because other users and other tools do not read it.
SshTargets targets_of(const Cluster& cluster, const Console& console) {
  const LocalUser me = local_user();
  const auto config = read_ssh_config({me.home});
  if (!config) {
    console.remark("the ssh configuration is not used: " + config.error().describe());
    return {};
  }
  SshTargets targets;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.transport != TransportKind::kSsh) continue;
    if (const auto way = way_to(node, *config, me)) {
      targets.emplace(node.name.str(), target_of(*way, me));
    } else {
      console.remark(node.name.str() + ": the ssh configuration is not used: " + way.error().describe());
    }
  }
  return targets;
}

}  // namespace

Result<ExitCode> run_export(const ExportOptions& options, Console& console) {
  if (options.format.empty()) {
    return failure(ErrorCode::kInvalidInput, "no format given", "name one: --format " + join(export_formats(), ", "));
  }
  const auto input = load_for("export", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const Cluster& cluster = *input.loaded->cluster;
  const Selection selection(options.selection.only, options.selection.exclude);
  SPARK_CHECK(selection.check(cluster, builtin_registry()));
  SPARK_TRY(const ExportedText exported,
            export_cluster(
                cluster, options.format, builtin_registry(),
                [&](const NodeSpec& node) { return selection.includes_node(node.name.str()); },
                targets_of(cluster, console)));
  for (const std::string& remark : exported.remarks) console.remark(remark);
  console.result(exported.text);
  return ExitCode::kDone;
}

}  // namespace sparkplan
