#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/agent/kernel/netlink.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/model/fields.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"

namespace sparkplan {

/// The node's connectivity: the interfaces that carry our connection and the interfaces below them, their routes and
/// those of the changing interfaces, and the packet filter. It is stored during a trial, to restore what a rollback of
/// files does not restore.
struct ConnectivitySnapshot {
  std::vector<LinkState> links;
  std::vector<KernelRoute> routes;
  /// `nft list ruleset`; empty without nft or without rules. Nothing if the rules could not be read: they are then not
  /// restored.
  std::optional<std::string> filter = "";
};

/// ConnectivitySnapshot::filter from the listed rules. A failed listing is different from an empty one.
std::optional<std::string> filter_of(const Result<CommandOutput>& listed);

/// The current state, also with the routes through the interfaces that `steps` change: a renderer that reconfigures an
/// interface drops routes added by hand. Errors: kFailed.
Result<ConnectivitySnapshot> read_snapshot(std::span<const Step> steps, LocalNode& node);

/// Restores the changed parts that do not recover by themselves within a few seconds.
/// Errors: kFailed with the parts that could not be restored.
Result<void> restore_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node);

void list_fields(FieldVisitor& field, LinkState& link);
void list_fields(FieldVisitor& field, KernelRoute& route);
void list_fields(FieldVisitor& field, ConnectivitySnapshot& snapshot);

}  // namespace sparkplan
