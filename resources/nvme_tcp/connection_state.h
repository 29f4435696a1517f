#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan::nvme_tcp {

/// Fields of a connection's value.
namespace field = unit_field;

namespace state {
inline constexpr const char* kConnected = "connected";
/// It was connected; the server does not answer now, and the kernel retries.
inline constexpr const char* kReconnecting = "reconnecting";
inline constexpr const char* kNotConnected = "not connected";
/// Prefix: the address of another server follows, or another transport.
inline constexpr std::string_view kElsewhere = "connected to ";
}  // namespace state

/// A controller of the kernel. Source: drivers/nvme/host/sysfs.c.
struct Controller {
  std::string name;  ///< "nvme1"
  std::string subsystem;
  std::string transport;  ///< "tcp"
  std::string address;    ///< "traddr=10.0.0.9,trsvcid=4420,src_addr=10.0.0.1"
  std::string state;      ///< "live", "connecting", "resetting" ...

  /// The value of `key` in `address`; empty if it is missing.
  std::string address_part(std::string_view key) const;
};
/// I/O, read-only. Controllers that the kernel deletes, and dead ones, are left out.
Result<std::vector<Controller>> controllers(const NodeReader& node);

struct ConnectionState {
  UnitFile unit;
  std::string state;  ///< See namespace state. Empty in an image.

  bool connected() const { return !state.empty() && state != state::kNotConnected; }
};

/// I/O, read-only, no program. Errors: those of reading the unit and the controllers.
Result<ConnectionState> look_at_connection(const std::string& subsystem, const NodeReader& node);

/// The observation of the resource, and of its artifact. `live` is false for an image.
Observation observation_of(const ConnectionState& connection, bool live);

/// I/O, read-only. The users of the subsystem's volumes and partitions: mounts, devices built on them, and other
/// holders such as a container with its own mounts. With `besides_ours`, mounts with one of our units are left out.
/// Other holders cannot be detected while another user, or one of our mounts, holds the device.
/// Errors: also kFailed if that detection fails.
Result<std::vector<std::string>> users_of(const std::string& subsystem, bool besides_ours, const NodeReader& node);

/// The error that refuses to disconnect a subsystem, because `users` still use it.
Error in_use(const std::string& subsystem, const std::vector<std::string>& users);

/// I/O. Brings the connection to the state `after` from any state. A connection in use is never closed.
/// Errors: kRefused for a connection in use; otherwise the reason from systemd, nvme or the kernel.
Result<void> make_connection(const std::string& subsystem, const Observation& after, Node& node);

}  // namespace sparkplan::nvme_tcp
