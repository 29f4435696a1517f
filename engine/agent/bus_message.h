#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"

/// As much of D-Bus as asking systemd for the properties of units takes; its library has no static twin that an agent
/// could carry. Source: D-Bus specification, "Message Protocol".
namespace sparkplan {

/// Pure. The name of a unit as the last part of its object's path: "tune_2eservice".
std::string object_name(std::string_view unit);

/// One value out of a message of systemd's.
struct BusReply {
  std::uint32_t serial = 0;         ///< Of the call that is answered; 0 for what answers none.
  bool is_error = false;            ///< No such property, no such unit.
  std::optional<std::string> text;  ///< As systemctl prints it: "yes", a list joined by blanks.
};

/// Pure. The first whole message in `bytes`, which is cut off them; nothing while there is none.
/// Errors: kInvalidInput for what is no message, or holds another type of value than those asked for.
Result<std::optional<BusReply>> take_reply(std::string& bytes);

/// Pure. A call of org.freedesktop.DBus.Properties.Get on a unit's object.
std::string property_call(std::uint32_t serial, std::string_view unit, std::string_view interface,
                          std::string_view property);

/// Pure. "30" for "0".
std::string hexadecimal(std::string_view bytes);

}  // namespace sparkplan
