#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan::nvme_tcp {

/// Fields of a connection's value.
namespace field {
inline constexpr const char* kContent = "unit";  ///< The unit file.
inline constexpr const char* kEnabled = "enabled";
inline constexpr const char* kState = "state";
}  // namespace field

namespace state {
inline constexpr const char* kConnected = "connected";
/// Connected before; the server does not answer now, and the kernel keeps trying.
inline constexpr const char* kReconnecting = "reconnecting";
inline constexpr const char* kNotConnected = "not connected";
/// In front of another server's address.
inline constexpr std::string_view kElsewhere = "connected to ";
}  // namespace state

/// One controller of the kernel. Source: drivers/nvme/host/sysfs.c.
struct Controller {
  std::string name;  ///< "nvme1"
  std::string subsystem;
  std::string transport;  ///< "tcp"
  std::string address;    ///< "traddr=10.0.0.9,trsvcid=4420,src_addr=10.0.0.1"
  std::string state;      ///< "live", "connecting", "resetting" ...

  /// The value of KEY in `address`.
  std::string address_part(std::string_view key) const;
};
/// I/O, read-only. Controllers that are being taken away are left out.
Result<std::vector<Controller>> controllers(const NodeReader& node);

struct ConnectionState {
  UnitFile unit;
  std::string state;  ///< See namespace state. Empty in an image.

  bool connected() const { return !state.empty() && state != state::kNotConnected; }
};

/// I/O, read-only, no program. Errors: what could not be looked at.
Result<ConnectionState> look_at_connection(const std::string& subsystem, const NodeReader& node);

/// As the value of the resource, and of the artifact that carries it out.
Observation observation_of(const ConnectionState& connection, bool live);

/// I/O, read-only. What holds on to the volumes of the subsystem and their partitions: mounts, other devices on top
/// of it, and whoever else holds a device, such as a container with mounts of its own. With `besides_ours` mounts that
/// have a unit of ours are left out, and while there are any nobody can tell who else holds the device.
/// Errors: also kFailed where that could not be looked at.
Result<std::vector<std::string>> users_of(const std::string& subsystem, bool besides_ours, const NodeReader& node);

}  // namespace sparkplan::nvme_tcp
