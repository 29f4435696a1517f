#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// A node of the drafted file.
struct Member {
  const InitMachine* machine = nullptr;  ///< Null: known only from the roster, or not read.
  std::string name;
  int id = 0;
  std::string address;
  SshSettings ssh;
  std::string remark;   ///< The reason for its name or id; empty if none is needed.
  bool cloned = false;  ///< It has the manifest of another member: it was made from that member's disk.

  bool managed() const { return machine != nullptr && machine->manifest.has_value() && !cloned; }
};

/// The nodes of the file, in the given order; members of the cluster that were not read come last.
struct Members {
  std::string cluster;         ///< The cluster's name.
  bool cluster_known = false;  ///< The manifests of the nodes name it.
  std::vector<Member> nodes;
  /// A machine that could not be read and is in no manifest, or that belongs to another cluster than most machines.
  struct LeftOut {
    const InitMachine* machine = nullptr;
    std::string why;
  };
  std::vector<LeftOut> left_out;
  std::vector<Diagnostic> remarks;
};

/// Pure. Names and ids as in most of the manifests, else from host names. Errors: those of draft_cluster().
Result<Members> members_of(const std::vector<InitMachine>& machines);

}  // namespace sparkplan
