#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/node/node.h"

/// Two implementations of NodeReader::units(). Over the socket that systemctl uses, systemd answers within a fraction
/// of a millisecond. The program systemctl takes five milliseconds to start, but also handles cases that this bus code
/// cannot.
namespace sparkplan {

inline constexpr std::string_view kSystemdSocket = "/run/systemd/private";

/// I/O. Errors: kNotFound (no systemd, no such unit, or systemd refuses us), kUnreachable (deadline), kInvalidInput (a
/// property that systemctl prints in a special form), kUnsupported (too many units).
/// Source: D-Bus specification (SASL EXTERNAL); org.freedesktop.systemd1(5).
Result<std::vector<UnitProperties>> units_by_bus(std::span<const std::string> names,
                                                 std::span<const std::string_view> properties,
                                                 std::chrono::milliseconds deadline,
                                                 std::string_view socket_path = kSystemdSocket);

/// I/O, through node.query(). Errors: those of NodeReader::units(). Source: systemctl(1), show.
Result<std::vector<UnitProperties>> units_by_systemctl(std::span<const std::string> names,
                                                       std::span<const std::string_view> properties,
                                                       const NodeReader& node, std::chrono::milliseconds deadline);

/// Pure. Parses the output of `systemctl show`: a block of KEY=value lines per unit.
std::vector<UnitProperties> parse_units(std::string_view printed);

}  // namespace sparkplan
