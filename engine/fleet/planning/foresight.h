#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/fleet/planning/planning.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Pure. The question about the changes of a node's plan; without entries if no type can answer it. Removals and
/// waiting resources are left out.
ForesightRequest foresight_request(const PlannedNode& planned, const Registry& registry);

/// Pure. A node's checked findings as warnings, at the places of their resources in `file`. The number of those that
/// were left out comes first.
std::vector<Diagnostic> warnings_of(CheckedFindings&& reply, const PlannedNode& planned, const std::string& file);

/// The code of that number.
inline constexpr std::string_view kMoreFindings = "node.more-findings";

/// The words about a question to a node.
struct QuestionWords {
  std::string_view asking;   ///< The display of the node until its reply.
  std::string_view asked;    ///< The display afterwards.
  std::string_view code;     ///< Of the warning about a node that does not answer.
  std::string_view unknown;  ///< The beginning of that warning: "could not check ...".
};

/// Asks the node, and returns warnings_of() its reply. Without a valid reply that is one warning: no answer excludes
/// the node, because whatever is wrong with it shows at the next request.
template <class Request>
std::vector<Diagnostic> ask_for_warnings(const FleetSession& session, PlannedNode& planned, const Request& request,
                                         const QuestionWords& words) {
  FleetNode& node = planned.node;
  session.show(node, words.asking);
  auto answer = node.client->call(request);
  auto reply = answer ? checked(std::move(*answer), request) : tl::unexpected<Error>(std::move(answer).error());
  session.show(node, words.asked, Activity::kWaiting);
  planned.unnamed_findings.clear();
  for (const auto& [type, names] : reply ? reply->without_finding : std::map<std::string, std::set<std::string>>()) {
    for (const std::string& name : names) planned.unnamed_findings.insert({type, name});
  }
  if (reply) return warnings_of(std::move(*reply), planned, session.cluster().file);
  auto unknown = finding(Severity::kWarning, std::string(words.code),
                         std::string(words.unknown) + ": " + reply.error().describe());
  unknown.node = node.name();
  return {std::move(unknown)};
}

}  // namespace sparkplan
