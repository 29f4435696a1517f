#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain/storage/storage.h"

/// The unit that keeps one subsystem connected, and the udev rule for its device. All functions are pure.
namespace sparkplan::nvme_tcp {

inline constexpr std::string_view kRulesFile = "/etc/udev/rules.d/60-sparkplan-nvme.rules";
/// The target that the [Install] section of the unit names.
inline constexpr std::string_view kWantingTarget = "remote-fs.target";

/// A subsystem, and the units of the mounts that need it: mounts of its volumes, mounts inside those, and bind mounts
/// from them.
struct Connection {
  NvmeTcpVolume server;
  std::vector<std::string> mount_units;  ///< Sorted.
  SourceRange where;
};
/// One per subsystem of the section, in file order.
std::vector<Connection> connections(const Value& section);

/// The unit writes this to its log, with the NQN behind it, when a server names another subsystem than it was asked
/// for.
inline constexpr std::string_view kNamesAnother = "the server names another subsystem than ";

/// The unit keeps an existing connection to the declared server, removes a new one whose server names another
/// subsystem, retries a missing server without end, and then starts the mounts. Its only shell code is one constant
/// line; values from cluster.yaml are its arguments.
std::string render_unit(const Connection& connection);

/// The server in one of our units; nothing for any other text.
struct Server {
  std::string address;
  int port = 0;
};
std::optional<Server> server_in(std::string_view unit);

/// By NQN: the server that the node's unit names.
using ServersBySubsystem = std::map<std::string, Server>;

/// The udev rules: one links a namespace by its subsystem and number. For each server with an IP address, one keeps
/// other rules from connecting to whatever the server lists, and one removes its controllers that name the subsystem of
/// another server, also if another program has connected them. Source: udev(7); 70-nvmf-autoconnect.rules of nvme-cli.
std::string render_rules(const ServersBySubsystem& servers);

}  // namespace sparkplan::nvme_tcp
