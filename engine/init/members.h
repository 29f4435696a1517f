#pragma once

#include <cstddef>
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
  bool cluster_known = false;  ///< Enough manifests of the nodes name it: decides_for_all().
  std::vector<Member> nodes;
  /// A machine that could not be read and is in no manifest, or that belongs to another cluster than most machines.
  struct LeftOut {
    const InitMachine* machine = nullptr;
    std::string why;
  };
  std::vector<LeftOut> left_out;
  std::vector<Diagnostic> remarks;

  /// The number of members that were read.
  std::size_t read() const;
  /// True if `manifests` say something that the file may ask of all machines: more than half of `all_manifests` and at
  /// least two. One machine could say anything. If only one machine was read, its manifest concerns no other.
  bool decides_for_all(std::size_t manifests, std::size_t all_manifests) const {
    return read() == 1 || (manifests > 1 && manifests * 2 > all_manifests);
  }
};

/// Pure. Names and ids as in most of the manifests, else from host names. What they list and no file may have is left
/// out, with a remark. Errors: those of draft_cluster().
Result<Members> members_of(const std::vector<InitMachine>& machines, const Registry& registry);

/// Removes machines that the user did not name and that have the machine-id and a host key of an earlier machine. A
/// discovered machine announces other addresses than the one that the user named. A machine-id alone is a claim, which
/// must not remove another machine. The first `named` machines always stay. Returns a remark for each removed machine,
/// because it may be a clone.
std::vector<Diagnostic> drop_second_contacts(std::vector<InitMachine>& machines, std::size_t named);

}  // namespace sparkplan
