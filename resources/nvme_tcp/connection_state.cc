#include "resources/nvme_tcp/connection_state.h"

#include <algorithm>
#include <set>

#include "engine/core/text.h"
#include "engine/domain/storage/block_device.h"
#include "engine/domain/storage/nvme_address.h"
#include "engine/domain/storage/storage.h"
#include "engine/model/address.h"
#include "engine/node/mount_table.h"
#include "resources/nvme_tcp/connection_unit.h"

namespace sparkplan::nvme_tcp {
namespace {

constexpr const char* kControllers = "/sys/class/nvme";

/// Empty for a missing attribute: the kernel may be deleting the controller.
Result<std::string> attribute(const std::string& controller, const char* name, const NodeReader& node) {
  SPARK_TRY(const std::string text,
            or_empty(node.read_file(std::string(kControllers) + "/" + controller + "/" + name)));
  return std::string(trim(text));
}

/// The addresses that /etc/hosts has for a name. Other names can resolve to any address, so they have none here.
Result<std::set<std::string>> addresses_of(const std::string& server, const NodeReader& node) {
  if (is_ip_address(server)) return std::set<std::string>{server};
  std::set<std::string> addresses;
  SPARK_TRY(const std::string hosts, or_empty(node.read_file("/etc/hosts")));
  for (const std::string_view line : split_lines(hosts)) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), server) != words.end())
      addresses.insert(words.front());
  }
  return addresses;
}

/// `addresses` of the server; any address is right if they are not known.
std::string state_of(const Controller& controller, const std::optional<Server>& server,
                     const std::set<std::string>& addresses) {
  if (controller.transport != "tcp") return std::string(state::kElsewhere) + controller.transport;
  const std::string address = controller.address_part("traddr");
  const std::string port = controller.address_part("trsvcid");
  const bool elsewhere =
      server && ((!addresses.empty() && !addresses.contains(address)) || std::to_string(server->port) != port);
  if (elsewhere) return std::string(state::kElsewhere) + address + " port " + port;
  return controller.state == "live" ? state::kConnected : state::kReconnecting;
}

/// Checks whole disks only: a partition is held together with its disk. One path of several has a name, but no device
/// node.
Result<bool> is_disk_held(const std::string& device, const NodeReader& node) {
  SPARK_TRY(const std::string whole, whole_disk_of(device, node));
  return whole == device ? is_held("/dev/" + device, node) : Result<bool>(false);
}

}  // namespace

std::string Controller::address_part(std::string_view key) const { return part_of_nvme_address(address, key); }

Result<std::vector<Controller>> controllers(const NodeReader& node) {
  std::vector<Controller> all;
  SPARK_TRY(const auto names, or_empty(node.list_directory(kControllers)));
  for (const std::string& name : names) {
    Controller one{name, {}, {}, {}, {}};
    SPARK_TRY(one.subsystem, attribute(name, "subsysnqn", node));
    SPARK_TRY(one.transport, attribute(name, "transport", node));
    SPARK_TRY(one.address, attribute(name, "address", node));
    SPARK_TRY(one.state, attribute(name, "state", node));
    const bool goes = one.state.starts_with("deleting") || one.state == "dead" || one.subsystem.empty();
    if (!goes) all.push_back(std::move(one));
  }
  return all;
}

Result<ConnectionState> look_at_connection(const std::string& subsystem, const NodeReader& node) {
  ConnectionState connection;
  SPARK_TRY(connection.unit, read_unit(nvme_unit_name(subsystem), kWantingTarget, node));
  if (!node.live()) return connection;
  connection.state = state::kNotConnected;
  const auto server = connection.unit.content ? server_in(*connection.unit.content) : std::nullopt;
  std::set<std::string> addresses;
  if (server) {
    SPARK_TRY(addresses, addresses_of(server->address, node));
  }
  SPARK_TRY(const auto all, controllers(node));
  for (const Controller& one : all) {
    if (one.subsystem != subsystem) continue;
    const std::string state = state_of(one, server, addresses);
    // One path elsewhere decides, because the volume may come from there. Otherwise one connected path is enough.
    if (state.starts_with(state::kElsewhere)) {
      connection.state = state;
      break;
    }
    if (connection.state != state::kConnected) connection.state = state;
  }
  return connection;
}

Observation observation_of(const ConnectionState& connection, bool live) {
  return unit_observation(connection.unit, connection.state, connection.connected(), live);
}

Result<std::vector<std::string>> users_of(const std::string& subsystem, bool besides_ours, const NodeReader& node) {
  std::vector<std::string> users;
  bool mounted_by_us = false;
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  for (const MountedFileSystem& mount : mounts) {
    // A server of NFS, or a user, words the source of its mounts: "server:/x/nvme1n1".
    if (!mount.source.starts_with("/dev/") || mount.made_by_a_user()) continue;
    SPARK_TRY(const std::string behind, subsystem_behind(mount.source, node));
    if (behind != subsystem) continue;
    SPARK_TRY(const UnitFile unit, read_unit(escaped_unit_path(mount.target) + ".mount", kWantingTarget, node));
    mounted_by_us = mounted_by_us || unit.ours();
    if (!besides_ours || !unit.ours()) users.push_back("the mount at " + mount.target);
  }
  SPARK_TRY(const auto devices, or_empty(node.list_directory("/sys/class/block")));
  for (const std::string& device : devices) {
    if (!device.starts_with("nvme")) continue;
    SPARK_TRY(const std::string behind, subsystem_behind(device, node));
    if (behind != subsystem) continue;
    SPARK_TRY(const auto holders, or_empty(node.list_directory("/sys/class/block/" + device + "/holders")));
    for (const std::string& holder : holders) users.push_back("the device " + holder);
    // A known user or one of our mounts holds the device itself, so other holders cannot be detected.
    if (!users.empty() || mounted_by_us) continue;
    SPARK_TRY(const bool held, is_disk_held(device, node));
    if (held) users.push_back("an unknown holder of " + device + ", perhaps in a container");
  }
  return users;
}

}  // namespace sparkplan::nvme_tcp
