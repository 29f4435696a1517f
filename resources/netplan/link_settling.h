#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

/// The wait until the kernel shows the wanted state of an interface.
namespace sparkplan::netplan {

/// I/O, read-only. Nothing if there is no such interface. Errors: as NodeReader::links().
Result<std::optional<LinkFacts>> find_link(const std::string& interface, const NodeReader& node);

/// Whether networkd has reported, since it got these files, that the interface is configured. Its state file is meant
/// for libsystemd, so nothing depends on it: without a report, the kernel is watched for longer.
/// Source: systemd, src/network/networkd-link.c, link_save(); src/libsystemd/sd-network/sd-network.c.
bool networkd_is_done(const std::string& interface, const NodeReader& node);

/// The proof that the kernel's state is final: networkd removes addresses and restores them while it configures an
/// interface.
enum class SettledBy : std::uint8_t {
  kTime,      ///< The kernel has shown it for 100 ms without a break.
  kNetworkd,  ///< As kTime, or networkd reports that it is done.
};

/// True once the kernel shows `wanted` and keeps it; false after `patience`. Fields that are missing in `wanted` are
/// not compared.
Result<bool> settles_as(const std::string& interface, const Value& wanted, std::chrono::milliseconds patience,
                        const NodeReader& node, SettledBy by = SettledBy::kTime);

}  // namespace sparkplan::netplan
