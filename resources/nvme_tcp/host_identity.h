#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// Who a node is to NVMe servers: /etc/nvme/hostnqn and /etc/nvme/hostid. Source: nvme-connect(1).
namespace sparkplan::nvme_tcp {

inline constexpr const char* kHostNqnFile = "/etc/nvme/hostnqn";
inline constexpr const char* kHostIdFile = "/etc/nvme/hostid";

/// One of the two files. What is in it is the node's own affair; that it is there is ours.
ArtifactId identity_artifact(const char* file);

/// I/O, read-only. Present when the file says something. Absent otherwise.
Observation observe_identity(const std::string& file, const NodeReader& node);

/// I/O. Makes the file, with a number that nobody else has, or takes it away. A hostid is the one that the hostnqn
/// has in it, where it has one: the kernel takes no two for one host.
Result<void> make_identity(const std::string& file, const Observation& after, Node& node);

/// I/O, read-only. What the node tells the others: {hostnqn, hostid}, as far as they are there.
Result<Value> identity_of(const NodeReader& node);

/// Pure. Nodes that cannot be told apart, because one was made from the other's image.
std::vector<Diagnostic> shared_identities(const ClusterView& view, SourceRange where);

}  // namespace sparkplan::nvme_tcp
