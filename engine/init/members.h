#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/cluster_draft.h"

namespace sparkplan {

/// A node of the file in the making.
struct Member {
  const InitMachine* machine = nullptr;  ///< Null: known from the roster alone, or not read.
  std::string name;
  int id = 0;
  std::string address;
  SshSettings ssh;
  std::string remark;   ///< Why it is called or numbered like this; empty where that needs no word.
  bool cloned = false;  ///< The manifest there is the one of another member: this one was made from its disk.

  bool managed() const { return machine != nullptr && machine->manifest.has_value() && !cloned; }
};

/// Who is to be in the file, in the order given; members of the cluster that were not read come last.
struct Members {
  std::string cluster;         ///< The cluster's name.
  bool cluster_known = false;  ///< The nodes' own manifests name it.
  std::vector<Member> nodes;
  /// Could not be read and is in no manifest, or belongs to another cluster than most.
  struct LeftOut {
    const InitMachine* machine = nullptr;
    std::string why;
  };
  std::vector<LeftOut> left_out;
  std::vector<Diagnostic> remarks;
};

/// Pure. Names and ids as most of the manifests have them, else by host names. Errors: see draft_cluster().
Result<Members> members_of(const std::vector<InitMachine>& machines);

}  // namespace sparkplan
