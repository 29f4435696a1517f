#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain/storage/storage.h"

/// The unit that keeps one subsystem connected, and the udev rule for its device. Everything here is pure.
namespace sparkplan::nvme_tcp {

inline constexpr std::string_view kRulesFile = "/etc/udev/rules.d/60-sparkplan-nvme.rules";
/// What the [Install] section of the unit names.
inline constexpr std::string_view kWantingTarget = "remote-fs.target";

/// A subsystem, and the units of the mounts that need it: of its volumes, and of what lies in those or is bound from
/// them.
struct Connection {
  NvmeTcpVolume server;
  std::vector<std::string> mount_units;  ///< Sorted.
  SourceRange where;
};
/// One for each subsystem of the section, in the order of the file.
std::vector<Connection> connections(const Value& section);

/// Connects unless that is so already, tries again for ever while the server is not there, and then starts the
/// mounts. The only shell in it is one fixed line; what comes from cluster.yaml are arguments of it.
std::string render_unit(const Connection& connection);

/// The server that a unit of ours connects to; nothing for any other text.
struct Server {
  std::string address;
  int port = 0;
};
std::optional<Server> server_in(std::string_view unit);

/// Links that lead to a namespace by its subsystem and number. Source: udev(7).
std::string render_rules();

}  // namespace sparkplan::nvme_tcp
