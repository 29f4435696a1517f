#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/fields.h"

namespace sparkplan {

/// The disruption that a change causes, from least to most.
enum class Impact : std::uint8_t {
  kLive,               ///< No effect beyond the changed resource.
  kNeedsRelogin,       ///< Takes effect for sessions that start later.
  kRestartsService,    ///< A unit is restarted.
  kInterruptsNetwork,  ///< An interface is down for a moment.
  kNeedsReboot,        ///< Reported until the boot id changes.
};

enum class Reversible : std::uint8_t { kExact, kBestEffort, kNo };

constexpr EnumNames<5> names_of(Impact /*impact*/) {
  return {"live", "needs-relogin", "restarts-service", "interrupts-network", "needs-reboot"};
}
constexpr EnumNames<3> names_of(Reversible /*reversible*/) { return {"exact", "best_effort", "no"}; }

/// The name in reports of a text artifact that differs although all its resources are as desired: "sysctl/@file". No
/// type is asked for a resource of that name.
inline constexpr std::string_view kWholeFileName = "@file";

/// One managed resource as the file declares it, in its type's canonical form.
struct Resource {
  ResourceId id;
  Value desired;                  ///< May contain Unknown.
  SourceRange where;              ///< Its declaration in cluster.yaml.
  std::vector<ResourceId> after;  ///< Resources of the same node that must be in sync first. Most resources need none:
                                  ///< phases order them.
  Impact impact = Impact::kLive;
  Reversible reversible = Reversible::kExact;
  /// The known fields may be carried out while others are Unknown. In place of the Unknown fields, the target has the
  /// node's current values, or no value.
  bool known_part_first = false;
  /// The source of the secret in `desired`, for people: "sops -d secrets.yaml". Empty: it contains none.
  std::string secret_source = {};
};

struct Absent {
  bool operator==(const Absent&) const = default;
};

/// The resource exists. Fields that cannot exist on this node (the running value of a kernel parameter in an image
/// root) are missing from `value`. `not_applicable` lists them with the reason.
struct Present {
  Value value;
  std::map<std::string, std::string> not_applicable;  ///< field -> reason
};

/// The resource cannot exist on this node: an image root has no links. Printed, but not a change.
struct NotApplicable {
  std::string reason;
  bool operator==(const NotApplicable&) const = default;
};

/// The four results of observing a resource. An Error means that it could not be read, and blocks the resource.
using Observation = std::variant<Absent, Present, NotApplicable, Error>;

/// The value of a Present; null for the other results.
const Value& present_value(const Observation& observation);

/// A foreign setting of a resource that sparkplan manages: "/etc/sysctl.d/99-tuning.conf:3 wins at boot".
struct ForeignClaim {
  ResourceId id;
  std::string field;    ///< The field that it overrides, "persistent"; empty: the resource as a whole.
  Value value;          ///< The foreign value; null if it is not a value of that kind.
  std::string source;   ///< "/etc/sysctl.d/99-tuning.conf:3"
  std::string message;  ///< One clause: "sets it to 128 and overrides ours at boot".
  /// It overrides nothing, now or later: it is printed, and is not a difference.
  bool harmless = false;
};

/// A resource that does not have its intended effect although it is as planned, or that will not have it.
struct Ineffective {
  std::string name;  ///< Of the resource.
  std::string code;  ///< Of the warning: "limits.not_effective"
  std::string message;
  std::string hint;
};

/// All observations of one type on one node, made together.
struct ObservedType {
  std::map<std::string, Observation> resources;  ///< by resource name
  std::map<ArtifactId, Observation> artifacts;   ///< files: see engine/resource/file_artifact.h
  std::vector<ForeignClaim> foreign;
};

/// type name -> its observations.
struct ObservedState {
  std::map<std::string, ObservedType> types;
};

/// Texts from another machine are cut to the lengths of engine/core/bounded_text.h. Texts of an error are also cut
/// before they are sent.
void list_fields(FieldVisitor& field, Error& error);
void list_fields(FieldVisitor& field, Observation& observation);
void list_fields(FieldVisitor& field, ForeignClaim& claim);
void list_fields(FieldVisitor& field, Ineffective& ineffective);
void list_fields(FieldVisitor& field, ObservedType& type);
void list_fields(FieldVisitor& field, ObservedState& observed);

}  // namespace sparkplan
