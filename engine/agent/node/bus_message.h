#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/result.h"

/// The part of D-Bus that is needed to ask systemd for the properties of units. D-Bus's own library has no static
/// version that an agent could contain. Source: D-Bus specification, "Message Protocol".
namespace sparkplan {

/// Pure. The name of a unit as the last part of its object path: "tune_2eservice".
std::string object_name(std::string_view unit);

/// The content of a message from systemd.
struct BusReply {
  std::uint32_t serial = 0;  ///< The serial of the answered call; 0 if the message answers none.
  bool is_error = false;     ///< No such unit.
  /// The wanted properties that the unit has, as `systemctl show` prints them.
  std::map<std::string, std::string> values;
};

/// Pure. Removes the first whole message from `bytes` and returns it; nothing if no message is complete.
/// Errors: kInvalidInput for an invalid message, or for a wanted property that systemctl prints in a special form.
Result<std::optional<BusReply>> take_reply(std::string& bytes, std::span<const std::string_view> wanted);

/// Pure. A call of org.freedesktop.DBus.Properties.GetAll on a unit's object, for all its interfaces: the answer
/// describes one moment.
std::string properties_call(std::uint32_t serial, std::string_view unit);

}  // namespace sparkplan
