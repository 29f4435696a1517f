#pragma once

#include <optional>
#include <vector>

#include "engine/cli/discovery/host_key_rounds.h"
#include "engine/cli/input/options.h"
#include "engine/cli/terminal/console.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/init/cluster_draft.h"
#include "engine/model/cluster.h"
#include "engine/remote/keys/secret.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// Reads machines that no cluster.yaml names yet. It shows all unknown host keys and asks once for all of them, then
/// once for those behind jump hosts. If no key of the user is accepted, it asks for one password, and whether to
/// install the user's public key on the machine. Without a terminal it asks nothing; such a machine counts as one that
/// could not be read.
class FirstContact {
 public:
  FirstContact(const GlobalOptions& global, const Interrupts& interrupts, Console& console)
      : global_(global), interrupts_(interrupts), console_(console) {}

  /// One machine for each of `given`, in their order, with its error if reading failed. Nothing if the user did not
  /// trust the shown keys, or if the user's ssh configuration is invalid.
  std::optional<std::vector<InitMachine>> read(const std::vector<NodeSpec>& given);

  /// The user asked for their public key on a machine, and it could not be installed. The failure has been printed.
  bool key_is_missing() const { return key_is_missing_; }

 private:
  /// The nodes with the users that the ssh configuration gives them, if the command line gives none.
  Result<std::vector<NodeSpec>> with_users(std::vector<NodeSpec> nodes);
  bool confirm_keys(const std::vector<UnknownHostKey>& keys);
  bool settle_host_keys(const std::vector<NodeSpec>& nodes);
  InitMachine& machine_of(const NodeSpec& node);
  void open(const std::vector<NodeSpec>& nodes, const Secret& password);
  void open_by_password(const std::vector<NodeSpec>& nodes);
  void offer_our_key(const std::vector<NodeSpec>& nodes, const Secret& password);
  /// Reads the machines behind jump hosts that accept our key only since open_by_password().
  void read_behind(std::vector<NodeSpec> nodes);

  const GlobalOptions& global_;
  const Interrupts& interrupts_;
  Console& console_;
  ConnectOptions connect_;
  Secret become_password_;
  std::vector<InitMachine> machines_;
  bool keys_were_asked_ = false;
  bool key_was_added_ = false;
  bool key_is_missing_ = false;
};

}  // namespace sparkplan
