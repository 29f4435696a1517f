#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The most nodes of a cluster, as in the schema.
inline constexpr std::size_t kMostNodes = 1000;

/// The most findings of one file. One more names the number of all others: a file of 1 MiB can have tens of thousands.
inline constexpr std::size_t kMostFindings = 1000;

/// The texts of files beside cluster.yaml, by the name that cluster.yaml gives them.
using TextsByName = std::map<std::string, std::string>;

/// Reads a file by the name that cluster.yaml gives it. Errors: any; they become findings at the name.
using ReadBeside = std::function<Result<std::string>(const std::string& name)>;

/// A cluster.yaml after reading, checking and resolving. `diagnostics` has the findings, sorted by position: the first
/// kMostFindings, with the errors before all others.
struct LoadedCluster {
  std::optional<Cluster> cluster;  ///< Empty exactly when `diagnostics` has an error.
  std::vector<Diagnostic> diagnostics;
  std::string source;  ///< The text, for carets.
  TextsByName beside;  ///< The files that it names, as read; part of the cluster's digest.
};

/// Pure: YAML text -> positions -> schema -> semantic checks -> profile, defaults, overrides and fabric addresses
/// resolved -> every type's validate() on every node's sections (equal findings once). No node is contacted. Other
/// files are read only through `read_beside`, each once.
LoadedCluster load_cluster(std::string_view text, std::string file_name, const Registry& registry,
                           const ReadBeside& read_beside = {});

/// As load_cluster(), from a file of at most 1 MiB. The files that it names are read from its directory, at most 256
/// KiB each. Errors: kNotFound, kPermissionDenied, kUnsupported (no regular file), kFailed. A file that is too long is
/// a diagnostic.
Result<LoadedCluster> load_cluster_file(const std::string& path, const Registry& registry);

/// The JSON Schema (draft 7) of cluster.yaml, pretty-printed: the frame beside this header, completed with the section
/// schemas of the registry's types. With all types it is schemas/cluster.schema.json. Empty if a type's schema is
/// invalid JSON.
std::string cluster_schema(const Registry& registry);

}  // namespace sparkplan
