#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/node/node.h"
#include "resources/ssh_trust/account.h"

// A home that several nodes share, over NFS for instance: one private key would serve them all, and
// each node would write the other's files.

namespace sparkplan::ssh_trust {

/// The network file system's own name of a directory, whatever it is mounted as: "nfs4
/// srv:/export/home/nvidia". Nothing for a local one. `mounts` is a /proc/PID/mountinfo.
/// Source: proc_pid_mountinfo(5).
std::optional<std::string> network_name(std::string_view mounts, const std::filesystem::path& directory);

/// What can be compared between nodes: {path, network, machine, local, remote, key}; `network` as above or
/// missing, `machine` the firmware's name of the machine or missing, `local` the directory's identity on
/// its kernel, `remote` the part of it that a file server decides, `key` a digest of the private key in it, or missing.
/// From the digest nobody can tell the key, and only who can read the key can tell the digest. Long texts are told by
/// their digest as well.
/// Errors: as NodeReader::user_status().
Result<Value> describe_home(const Account& account, const NodeReader& node);

/// Texts of a description, of which two of one directory have at least one in common.
std::vector<std::string_view> identities_of(const Value& home);

/// True when two nodes' descriptions are of one directory, and of one key in it, or of none. A node that has no way
/// into the other's home cannot bring that about, once there is a key.
bool is_same_home(const Value& a, const Value& b);

}  // namespace sparkplan::ssh_trust
