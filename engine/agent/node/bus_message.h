#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/result.h"

/// As much of D-Bus as asking systemd for the properties of units takes; its library has no static twin that an agent
/// could carry. Source: D-Bus specification, "Message Protocol".
namespace sparkplan {

/// Pure. The name of a unit as the last part of its object's path: "tune_2eservice".
std::string object_name(std::string_view unit);

/// What a message of systemd's says.
struct BusReply {
  std::uint32_t serial = 0;  ///< Of the call that is answered; 0 for what answers none.
  bool is_error = false;     ///< No such unit.
  /// The wanted properties that the unit has, as `systemctl show` prints them.
  std::map<std::string, std::string> values;
};

/// Pure. The first whole message in `bytes`, which is cut off them; nothing while there is none.
/// Errors: kInvalidInput for what is no message, or for a wanted property that systemctl prints in a form of its own.
Result<std::optional<BusReply>> take_reply(std::string& bytes, std::span<const std::string_view> wanted);

/// Pure. A call of org.freedesktop.DBus.Properties.GetAll on a unit's object, of all its interfaces: the answer
/// describes one moment.
std::string properties_call(std::uint32_t serial, std::string_view unit);

/// Pure. "30" for "0".
std::string hexadecimal(std::string_view bytes);

}  // namespace sparkplan
