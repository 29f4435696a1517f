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

/// What a node is reached by: the interfaces that carry our connection, what they are made of, their routes and
/// those of the interfaces that change, and the filter for packets. Kept while a change is on trial, so that it can be
/// put back after changes that no file shows.
struct ConnectivitySnapshot {
  std::vector<LinkState> links;
  std::vector<Route> routes;
  /// `nft list ruleset`; empty where there is no nft, or no rule. Nothing where it could not be read: then
  /// it is not put back.
  std::optional<std::string> filter = "";
};

/// ConnectivitySnapshot::filter, of what listing the rules has come to: a listing that failed is not one of no rules.
std::optional<std::string> filter_of(const Result<CommandOutput>& listed);

/// As it is now, with the routes through the interfaces that `steps` are about as well: a renderer that configures
/// one again drops what was added by hand. Errors: kFailed.
Result<ConnectivitySnapshot> read_snapshot(std::span<const Step> steps, LocalNode& node);

/// Puts back what of it has changed and does not come back by itself within a few seconds.
/// Errors: kFailed with what could not be put back.
Result<void> restore_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node);

void list_fields(FieldVisitor& field, LinkState& link);
void list_fields(FieldVisitor& field, Route& route);
void list_fields(FieldVisitor& field, ConnectivitySnapshot& snapshot);

}  // namespace sparkplan
