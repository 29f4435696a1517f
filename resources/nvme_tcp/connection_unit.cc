#include "resources/nvme_tcp/connection_unit.h"

#include <algorithm>
#include <set>

#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/model/address.h"
#include "engine/resource/artifact.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan::nvme_tcp {
namespace {

/// Seconds per attempt if the server does not answer. No login waits: nothing that a boot needs comes after the unit.
constexpr const char* kPatience = "15";
constexpr const char* kPatienceAtStop = "5";
constexpr const char* kPauseBetweenTries = "10";

/// Ends the unit's tries: each of them lets the server in as a path to the other subsystem for a moment.
constexpr const char* kIsAnotherSubsystem = "65";

/// $1 is the NQN, $2 the address, $3 the port. The kernel names a controller as its server does, not as we asked. So a
/// server could name the subsystem of another server, and would become one more path to that one's volume. Only a
/// controller at the declared address is kept, and a new one with another NQN is removed at once. Our udev rules may
/// have removed it already. A kept one is set to retry without end, because `nvme connect` would report it as a
/// failure. The lock keeps the unit of another subsystem of the server from connecting meanwhile. "$" and "%" are
/// doubled for systemd. Source: nvme_init_subsystem() in drivers/nvme/host/core.c, nvmf_get_address() in
/// drivers/nvme/host/fabrics.c.
constexpr std::string_view kConnect =
    "/bin/sh -c 'nqn=\"$$1\"; server=\"$$2\"; port=\"$$3\"; known=\" \"; ours=; another=; "
    "resolve() { ips=\"$$server $$(getent ahosts \"$$server\" | cut -d\" \" -f1)\"; }; "
    "at_server() { [ \"$$(cat $$1/transport 2>/dev/null)\" = tcp ] || return; for ip in $$ips; do "
    "case \"$$(cat $$1/address 2>/dev/null),\" in \"traddr=$$ip,trsvcid=$$port,\"*) return 0;; esac; done; false; }; "
    "exec 9>\"/run/sparkplan-nvme-$$server-$$port.lock\"; flock 9; resolve; "
    "for c in /sys/class/nvme/nvme*; do at_server $$c || continue; "
    "if [ \"$$(cat $$c/subsysnqn)\" = \"$$nqn\" ]; then echo -1 >$$c/ctrl_loss_tmo; exit 0; fi; "
    "known=\"$$known$$(stat -Lc %%i $$c) \"; done; "
    "nvme connect --transport=tcp --nqn=\"$$nqn\" --traddr=\"$$server\" --trsvcid=\"$$port\" "
    "--ctrl-loss-tmo=-1 --reconnect-delay=10 || exit; resolve; "
    "for c in /sys/class/nvme/nvme*; do at_server $$c || continue; "
    "case \"$$(cat $$c/subsysnqn)\" in \"$$nqn\") ours=1; continue;; nqn.2014-08.org.nvmexpress.discovery) continue;; "
    "esac; "
    "case \"$$known\" in *\" $$(stat -Lc %%i $$c) \"*) continue;; esac; another=1; "
    "echo \"the server names another subsystem than $$nqn\" >&2; echo 1 >$$c/delete_controller; done; "
    "[ \"$$ours\" ] && exit 0; [ \"$$another\" ] && exit 65; "
    "case \"$$server\" in *[!0-9.]*) case \"$$server\" in *:*) ;; *) exit 1;; esac;; esac; "
    "echo \"the server names another subsystem than $$nqn\" >&2; exit 65' "
    "sparkplan-nvme ";
static_assert(kConnect.find(kNamesAnother) != std::string_view::npos);

/// The targets of the subsystem's volumes, of mounts inside them and of bind mounts from them. While the server is
/// missing at boot, systemd gives up all of these.
std::set<std::string> targets_behind(const std::string& subsystem, const std::vector<StorageMount>& mounts) {
  std::set<std::string> targets;
  const auto waits = [&](const StorageMount& mount) {
    if (mount.nvme && mount.nvme->subsystem == subsystem) return true;
    return std::ranges::any_of(targets, [&](const std::string& target) {
      return is_within(mount.target, target) || (mount.kind == StorageKind::kBind && is_within(mount.what, target));
    });
  };
  for (bool more = true; more;) {
    more = false;
    for (const StorageMount& mount : mounts) more = (waits(mount) && targets.insert(mount.target).second) || more;
  }
  return targets;
}

/// Declared for servers with another IP address. A host name may be one of this server.
std::vector<std::string> subsystems_elsewhere(const Server& server, const ServersBySubsystem& servers) {
  std::vector<std::string> elsewhere;
  for (const auto& [subsystem, other] : servers) {
    if (is_ip_address(other.address) && other.address != server.address) elsewhere.push_back(subsystem);
  }
  return elsewhere;
}

}  // namespace

std::vector<Connection> connections(const Value& section) {
  std::vector<Connection> all;
  const std::vector<StorageMount> mounts = storage_mounts(section);
  for (const StorageMount& mount : mounts) {
    const bool is_new = mount.nvme && std::ranges::none_of(all, [&](const Connection& one) {
                          return one.server.subsystem == mount.nvme->subsystem;
                        });
    if (is_new) all.push_back({*mount.nvme, {}, mount.source_where});
  }
  for (Connection& one : all) {
    for (const std::string& target : targets_behind(one.server.subsystem, mounts)) {
      one.mount_units.push_back(escaped_unit_path(target) + ".mount");
    }
    std::ranges::sort(one.mount_units);
  }
  return all;
}

std::string render_unit(const Connection& connection) {
  const NvmeTcpVolume& server = connection.server;
  const std::string port = std::to_string(server.port);
  std::string text = ownership_header();
  text += "[Unit]\nDescription=NVMe over TCP: " + server.subsystem + " at " + server.address + " port " + port +
          "\nWants=network-online.target\nAfter=network-online.target\nStartLimitIntervalSec=0\n\n";
  text += "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStartPre=modprobe nvme-tcp\nExecStart=" +
          std::string(kConnect) + unit_command_word(server.subsystem) + " " + unit_command_word(server.address) + " " +
          port + "\n";
  // The volumes exist only after the connection, however long the server was missing.
  text += "ExecStartPost=-systemctl --no-block start --";
  for (const std::string& unit : connection.mount_units) text += " " + unit_command_word(unit);
  // Stopping the unit, as a shutdown does, does not disconnect: a volume that could not be unmounted would lose
  // unwritten data. ConnectionChange checks for users before it disconnects.
  text += "\nTimeoutStartSec=" + std::string(kPatience) + "\nTimeoutStopSec=" + kPatienceAtStop +
          "\nRestart=on-failure\nRestartSec=" + kPauseBetweenTries +
          "\nRestartPreventExitStatus=" + kIsAnotherSubsystem +
          "\n\n[Install]\nWantedBy=" + std::string(kWantingTarget) + "\n";
  return text;
}

std::optional<Server> server_in(std::string_view unit) {
  const auto line = unit_setting(unit, "Service", "ExecStart");
  if (!line || !line->starts_with(kConnect)) return std::nullopt;
  const auto words = words_of(std::string_view(*line).substr(kConnect.size()));
  if (words.size() != 3) return std::nullopt;
  const auto port = parse_number<int>(words[2]);
  return port ? std::optional(Server{words[1], *port}) : std::nullopt;
}

std::string render_rules(const ServersBySubsystem& servers) {
  std::string text = ownership_header() +
                     "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"nvme*n*\", ATTR{nsid}==\"?*\", "
                     "ATTRS{subsysnqn}==\"?*\", ATTRS{subsysnqn}!=\"*/*\", "
                     "SYMLINK+=\"disk/by-id/sparkplan-nvme-$attr{subsysnqn}-$attr{nsid}\"\n";
  std::set<std::string> known;
  for (const auto& [subsystem, server] : servers) {
    const std::string address = "traddr=" + server.address + ",trsvcid=" + std::to_string(server.port);
    if (!is_ip_address(server.address) || !known.insert(address).second) continue;
    const std::string at_server =
        "ACTION==\"change\", SUBSYSTEM==\"nvme\", ATTR{address}==\"" + address + "|" + address + ",*\", ";
    // nvme-cli's rules, which come later, would connect to all that the server then lists.
    text += at_server + "ENV{NVME_AEN}=\"\", ENV{NVME_EVENT}=\"\"\n";
    const auto of_others = subsystems_elsewhere(server, servers);
    if (!of_others.empty())
      text += at_server + "ATTR{subsysnqn}==\"" + join(of_others, "|") + "\", ATTR{delete_controller}=\"1\"\n";
  }
  return text;
}

}  // namespace sparkplan::nvme_tcp
