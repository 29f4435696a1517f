#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/init/cluster_draft.h"
#include "engine/model/cluster.h"
#include "engine/remote/secret.h"

namespace sparkplan {

/// Reads machines that no cluster.yaml names yet. Host keys that nobody knows are shown and asked about once for all;
/// where no key of ours is accepted, one password is asked for, and whether our public key shall be put there. Without
/// a terminal nothing is asked: such a machine is one that could not be read.
class FirstContact {
 public:
  FirstContact(const GlobalOptions& global, const Interrupts& interrupts, Console& console)
      : global_(global), interrupts_(interrupts), console_(console) {}

  /// One for each of `nodes`, in their order, with what failed. Nothing when the user did not trust what was shown.
  std::optional<std::vector<InitMachine>> read(const std::vector<NodeSpec>& nodes);

  /// The user wanted his public key on a machine, and it could not be put there; that has been told.
  bool key_is_missing() const { return key_is_missing_; }

 private:
  bool settle_host_keys(const std::vector<NodeSpec>& nodes);
  void open(const std::vector<NodeSpec>& nodes, const Secret& password);
  void open_by_password(const std::vector<NodeSpec>& nodes);
  void offer_our_key(const std::vector<NodeSpec>& nodes, const Secret& password);

  const GlobalOptions& global_;
  const Interrupts& interrupts_;
  Console& console_;
  Secret become_password_;
  std::vector<InitMachine> machines_;
  bool key_is_missing_ = false;
};

}  // namespace sparkplan
