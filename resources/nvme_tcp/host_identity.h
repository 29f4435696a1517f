#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

/// The identity of a node for NVMe servers: /etc/nvme/hostnqn and /etc/nvme/hostid. Source: nvme-connect(1).
namespace sparkplan::nvme_tcp {

inline constexpr const char* kHostNqnFile = "/etc/nvme/hostnqn";
inline constexpr const char* kHostIdFile = "/etc/nvme/hostid";

/// One of the two files. sparkplan manages its existence, not its content.
ArtifactId identity_artifact(const char* file);

/// I/O, read-only. Present if the file has content, else Absent.
Observation observe_identity(const std::string& file, const NodeReader& node);

/// I/O. Creates the file with a random UUID, or removes it. If the other file exists, both get the same UUID: the
/// kernel refuses two hostids for one host. A hostnqn without a UUID gets a random hostid. Errors: kRefused beside a
/// hostid that is not a UUID.
Result<void> make_identity(const std::string& file, const Observation& after, Node& node);

/// I/O, read-only. What the node exports: {hostid, hostnqn}, each empty without its file; null without both files.
Result<Value> identity_of(const NodeReader& node);

/// Pure. One finding per node with the same identity as this one: one of them was made from the other's image.
std::vector<Diagnostic> shared_identities(const ClusterView& view, SourceRange where);

}  // namespace sparkplan::nvme_tcp
