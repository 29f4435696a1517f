#pragma once

#include <string>
#include <vector>

#include "engine/domain/storage/storage.h"
#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

/// The mounts of a file with this `storage`, whose entries are lines of a block list.
inline std::vector<StorageMount> mounts_of(const std::string& storage) {
  const LoadedCluster loaded = load_cluster(
      "version: 1\nname: lab\nstorage:\n" + storage + "nodes: [{name: a, address: b}]\n", "f", builtin_registry());
  for (const Diagnostic& one : loaded.diagnostics) UNSCOPED_INFO(render(one, loaded.source));
  REQUIRE(loaded.cluster);
  return storage_mounts(loaded.cluster->nodes.front().sections.at("storage"));
}

/// A section with one volume of NVMe over TCP.
inline std::string volume(const std::string& type, const std::string& options) {
  return "[{target: /mnt/a, type: " + type + ", options: [" + options +
         "], source: {nvme_tcp: {address: 10.0.0.9, subsystem: vol}}}]";
}

}  // namespace sparkplan::test
