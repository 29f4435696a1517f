#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// The facts of a node. Absent facts are empty; an error means that the kernel does not answer. `everything`: also
/// reads Facts::extended. Errors: kFailed.
Result<Facts> read_facts(const NodeReader& node, bool everything = false);

/// Installed software: the operating system, the product, NCCL. Part of read_facts().
void read_installed_software(const NodeReader& node, Facts& facts);

/// Part of read_facts(): DMI, memory, kernel and GPU driver, names of NVMe, host keys of sshd. For a node that is not
/// live only the last two are read. HostFacts::unreadable lists the files that cannot be read.
void read_machine(const NodeReader& node, HostFacts& facts);

/// Pure. Turns DMI's "04/02/2026" into "2026-04-02"; returns any other text unchanged.
std::string iso_date(const std::string& dmi_date);

/// Pure. The key in a line of a .pub file; its fingerprint is empty if the line has no key.
HostKeyFacts host_key_in(std::string_view public_key_line);

/// Part of read_facts(), for each interface: its manager, its NetworkManager profile, the number of carrier changes,
/// its PCIe link. Absent files leave a field empty.
/// Source: /sys/class/net, /run/systemd/netif/links, /run/NetworkManager/devices.
void read_link_details(const NodeReader& node, std::vector<LinkFacts>& links);

/// Part of read_facts(): running renderers, profiles of NetworkManager, files that netplan merges.
/// HostFacts::unreadable lists the files that cannot be read.
void read_network_configuration(const NodeReader& node, HostFacts& facts);

/// Pure. Source: nm-settings-keyfile(5).
NetworkProfile network_profile_in(const std::string& file, std::string_view text);

/// Reads at most 256 MiB: from a large file there, else from the block device itself. The directory of the mount, or
/// the device, decides about a complaint: users can cause every error below. It takes at most kLongestStorageRead. An
/// Error means that it tried nothing.
Result<ReadStorageReply> read_storage(const ReadStorageRequest& request, const NodeReader& node);

}  // namespace sparkplan
