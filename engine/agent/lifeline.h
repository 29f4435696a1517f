#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/agent/local_node.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"

namespace sparkplan {

/// A route of the main table that leaves through one interface. Source: rtnetlink(7), RTM_NEWROUTE.
struct Route {
  std::string interface;
  std::string destination;  ///< "default", "10.0.0.0/8"
  std::string gateway;      ///< Empty: on the link.
  int metric = 0;
  int protocol = 0;

  bool operator==(const Route&) const = default;
};

/// What a node is reached by: the interfaces that carry our connection, what they are made of, their routes and
/// those of the interfaces that change, and the filter for packets. Kept while a change is on trial, so that it can be
/// put back whatever the change has done to it by means that no file tells of.
struct Lifeline {
  std::vector<LinkState> links;
  std::vector<Route> routes;
  /// `nft list ruleset`; empty where there is no nft, or no rule. Nothing where it could not be read: what nobody
  /// knows is not put back.
  std::optional<std::string> filter = "";
};

/// Lifeline::filter, of what listing the rules has come to: a listing that failed is not one of no rules.
std::optional<std::string> filter_of(const Result<CommandOutput>& listed);

/// As it is now, with the routes through the interfaces that `steps` are about as well: a renderer that configures
/// one anew drops what somebody has added by hand. Errors: kFailed.
Result<Lifeline> read_lifeline(std::span<const Step> steps, LocalNode& node);

/// Puts back what of it has changed and does not come back by itself within a few seconds.
/// Errors: kFailed with what could not be put back.
Result<void> restore_lifeline(const Lifeline& lifeline, LocalNode& node);

Value encode(const Lifeline& lifeline);
Result<Lifeline> decode_lifeline(const Value& value);

}  // namespace sparkplan
