#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/model/fields.h"
#include "engine/model/manifest.h"
#include "engine/model/resource.h"
#include "engine/wire/apply_messages.h"
#include "engine/wire/job_record.h"
#include "engine/wire/measure_messages.h"
#include "engine/wire/trial_messages.h"

namespace sparkplan {

/// The most rosters that a controller offers to a node.
inline constexpr std::size_t kMostOfferedRosters = 4;
/// The longest FactsRequest::patience_ms, and the patience of an agent without one.
inline constexpr std::int64_t kLongestAgentPatienceMs = 3'600'000;
/// The length of sha256().
inline constexpr std::size_t kDigestLength = 64;

/// SHA-256 of the roster's text in manifest.json, without the blanks between its tokens.
std::string digest_of(const Roster& roster);

struct FactsReply {
  Facts facts;
  std::optional<Manifest> manifest;  ///< Nothing: the node was never applied.
  std::optional<LockHolder> lock_holder;
  std::optional<TransactionReport> transaction;  ///< The latest, until a later run removes it.
  std::map<std::string, Value> exports;          ///< By type; null Values are left out.
  std::map<std::string, Error> export_errors;    ///< Types whose exports could not be read.
  std::optional<VerifySummary> last_verify;      ///< The latest run of `verify`. Nothing: none was stored.
  std::string known_roster;  ///< One of FactsRequest::known_rosters, in place of the roster in `manifest`; else empty.
  std::vector<RunningJob> jobs;  ///< Of `exec` and `run`, on this node.
  ObservedState observed;        ///< The resources of names_managed(); empty unless requested.
};

struct FactsRequest {
  static constexpr std::string_view kName = "facts";
  using Reply = FactsReply;
  std::map<std::string, Value> exports;  ///< Types whose exports are requested, each with the node's section.
  /// Moves an unreadable manifest or trial record away, so that it does not stop the next run. This run still fails,
  /// with an error that names it. Only for runs that write.
  bool set_damaged_aside = false;
  /// Observes the managed resources with the same request. A plan needs nothing else when all are in sync.
  bool observe_managed = false;
  bool everything = false;  ///< Also reads Facts::extended, which needs programs and about a second.
  /// digest_of() rosters that the controller has. A node with one of them replies with its digest, so that a thousand
  /// nodes do not send a thousand members each.
  std::vector<std::string> known_rosters = {};
  /// The agent ends after that time without a request, unless it holds the lock. 0: an hour. Only for runs that send
  /// pings while they wait.
  std::int64_t patience_ms = 0;
};

struct ObserveNodeRequest {
  static constexpr std::string_view kName = "observe";
  using Reply = ObservedState;
  std::map<std::string, std::vector<std::string>> names;  ///< By type.
  /// The `names` whose content is a secret, by type. The node reports a digest of it.
  std::map<std::string, std::vector<std::string>> secret = {};
};

struct EffectReply {
  std::map<std::string, std::vector<Ineffective>> ineffective;  ///< By type.
};

/// After an apply: finds the desired values that do not take effect, by ResourceType::check_effect().
struct EffectRequest {
  static constexpr std::string_view kName = "effect";
  using Reply = EffectReply;
  std::map<std::string, std::map<std::string, Value>> desired;  ///< type -> resource name -> value
};

/// For a plan with changes: finds those that will fail or take no effect, by ResourceType::foresee().
struct ForesightRequest {
  static constexpr std::string_view kName = "foresee";
  using Reply = EffectReply;
  std::map<std::string, std::map<std::string, Value>> ahead;  ///< ChangesAhead
};

void list_fields(FieldVisitor& field, FactsReply& reply);
void list_fields(FieldVisitor& field, FactsRequest& request);
void list_fields(FieldVisitor& field, ObserveNodeRequest& request);
void list_fields(FieldVisitor& field, EffectReply& reply);
void list_fields(FieldVisitor& field, EffectRequest& request);
void list_fields(FieldVisitor& field, ForesightRequest& request);

}  // namespace sparkplan
