#pragma once

#include "engine/load/findings.h"
#include "engine/load/unresolved_node.h"

namespace sparkplan {

/// Names, ids, addresses, transports and SSH settings of the nodes, and the cluster's own.
void check_nodes(const UnresolvedCluster& draft, Findings& findings);

/// What the schema cannot say of the other sections as they are written: records given twice, text
/// with line breaks where none fits, settings without effect.
void check_sections(const UnresolvedCluster& draft, Findings& findings);

/// The variables that one layer, the file or a node in it, sets for NCCL or for logins: names and values.
void check_nccl_variables(const Value& holder, Findings& findings);

/// Volumes as the nodes have them in the end: what an entry lacks, addresses that are none, and file systems
/// that more than one node would write to.
void check_storage(const UnresolvedCluster& draft, Findings& findings);

/// What merged records lack, or have too much of, although each layer may be right on its own.
void check_merged_sections(const UnresolvedCluster& draft, Findings& findings);

}  // namespace sparkplan
