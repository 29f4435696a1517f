#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/members.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// All sections except the fabric.
struct Sections {
  Value::Map of_cluster;                       ///< In the order of the file.
  std::map<std::string, Value::Map> of_nodes;  ///< By node name: entries that not all managed nodes share.
  std::vector<Diagnostic> remarks;             ///< Managed resources that a file cannot declare.
};

/// Pure. The sections that declare for each managed node what was last applied there. `cluster` is the cluster of the
/// file, with its fabric. Entries that all managed nodes share belong to the cluster, if their manifests may decide for
/// all machines: Members::decides_for_all().
Sections sections_of(const Members& members, const Cluster& cluster, const Registry& registry);

/// Pure. Removes the longest section of the cluster or of one node, and adds a remark. One node's sections go before
/// those that the nodes share. False if there is no section.
bool leave_out_longest(Sections& sections);

/// Pure. Removes the sections with which `file` cannot be loaded, and adds a remark for each. A machine's manifest may
/// have what no file may, and must not keep the others from theirs. `file` can be loaded.
void leave_out_invalid(Sections& sections, const Value& file, const Registry& registry);

/// Splits the entries of several nodes into the entries that all share and the rest of each node. Maps are split by
/// key, lists of records by the record's identity; other values are taken as a whole. Null means nothing.
struct Split {
  Value common;
  std::vector<Value> rests;
};
Split split_common(const std::vector<Value>& each, const RecordList* records);

/// Appends the items of the list `records`.
void append_records(Value& list, const Value& records);

/// The profile of the drafted file; an empty name: none.
struct ProfileChoice {
  std::string name;
  std::string why;  ///< For the reader of the file; one paragraph per line.
};

/// Pure. Chooses dgx-spark if all machines are DGX Sparks and it would change nothing that sparkplan manages on them.
/// The settings of the profile are then removed from `sections`. Also chooses it if the manifests may not decide for
/// all machines: Members::decides_for_all(). Without a profile, `why` names the machines that alone prevent it.
ProfileChoice choose_profile(const Members& members, const Cluster& cluster, const Registry& registry,
                             Sections& sections);

}  // namespace sparkplan
