#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/node/mount_table.h"
#include "engine/node/node.h"
#include "resources/ssh_trust/account.h"

// A home that several nodes share, for example over NFS. One private key would serve them all, and each node would
// write the other's files.

namespace sparkplan::ssh_trust {

/// The network file system's name of a directory, independent of its mount point: "nfs4 srv:/export/home/nvidia".
/// Nothing for a local directory. `mounts` are in the order of /proc/PID/mountinfo.
std::optional<std::string> network_name(const std::vector<MountedFileSystem>& mounts,
                                        const std::filesystem::path& directory);

/// A description for comparing homes: {path, network, machine, local, remote, key}. `network` is network_name(), or
/// missing. `machine` is the firmware's UUID, or missing. `local` is the directory's identity on its kernel. `remote`
/// is the part of it that a file server decides. `key` is a digest of the private key in the home, or missing. It does
/// not reveal the key, and only a reader of the key can compute it. Texts over kLongestHomeText are replaced by a
/// digest. Errors: as NodeReader::user_status().
Result<Value> describe_home(const Account& account, const NodeReader& node);

/// Texts of a description. Two descriptions of one directory have at least one of them in common.
std::vector<std::string_view> identities_of(const Value& home);

/// True if two nodes describe one directory, with the same key in it or both without a key. Once there is a key, a node
/// without access to the other's home cannot fake this.
bool is_same_home(const Value& a, const Value& b);

}  // namespace sparkplan::ssh_trust
