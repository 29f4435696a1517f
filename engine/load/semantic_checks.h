#pragma once

#include "engine/load/findings.h"
#include "engine/load/schema.h"
#include "engine/load/unresolved_node.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Checks the nodes: names, ids, addresses, transports and their number; also SSH settings of the nodes and of the
/// cluster. Reports no consequences of what the schema has reported.
void check_nodes(const UnresolvedCluster& draft, const SchemaOutcome& schema, Findings& findings);

/// Checks that the schema cannot express, on the other sections as written: duplicate records, ".." in paths, NCCL
/// variables, rates, line breaks in one-line text, settings without effect.
void check_sections(const UnresolvedCluster& draft, Findings& findings);

/// Checks the names and values of the variables that one layer, the file or a node, sets for NCCL or for logins.
void check_nccl_variables(const Value& holder, Findings& findings);

/// Checks the nodes' merged volumes: invalid addresses, file systems with more than one writing node, and `files` below
/// a mount.
void check_storage(const UnresolvedCluster& draft, Findings& findings);

/// Checks `models`: entries without content or with two kinds of it, paths with "..", and a directory twice or within
/// another one. Also a cache whose place is not known, and a `from` that names no node. Checks `images`: an image
/// twice, and `from`.
void check_content(const UnresolvedCluster& draft, Findings& findings);

/// Reports paths of `files` that a resource type writes (TypeInfo::files). Two owners of one file would overwrite each
/// other in every run.
void check_owned_paths(const UnresolvedCluster& draft, Findings& findings);

}  // namespace sparkplan
