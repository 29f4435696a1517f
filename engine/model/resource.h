#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/ids.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/fields.h"

namespace sparkplan {

/// What carrying out a change disturbs, from least to most.
enum class Impact : std::uint8_t {
  kLive,               ///< Nothing but the changed thing itself.
  kNeedsRelogin,       ///< Seen by sessions that start afterwards.
  kRestartsService,    ///< A unit is restarted.
  kInterruptsNetwork,  ///< An interface goes away for a moment.
  kNeedsReboot,        ///< Reported until the boot id changes.
};

enum class Reversible : std::uint8_t { kExact, kBestEffort, kNo };

/// "live", "needs-relogin", "restarts-service", "interrupts-network", "needs-reboot".
std::span<const std::string_view> names_of(Impact impact);
/// "exact", "best_effort", "no".
std::span<const std::string_view> names_of(Reversible reversible);

/// One managed thing as the file wants it, in its type's canonical form.
struct Resource {
  ResourceId id;
  Value desired;                  ///< May contain Unknown.
  SourceRange where;              ///< The value in cluster.yaml that asked for it.
  std::vector<ResourceId> after;  ///< Must be in sync first; same node. Most need none: phases order them.
  Impact impact = Impact::kLive;
  Reversible reversible = Reversible::kExact;
  /// While some fields are Unknown, the others may be carried out already: the target then holds what
  /// the node shows in their place, or nothing.
  bool known_part_first = false;
};

struct Absent {
  bool operator==(const Absent&) const = default;
};

/// The thing is there. Fields that cannot exist on this node (the running value of a kernel
/// parameter in an image root) are missing from `value` and named with the reason instead.
struct Present {
  Value value;
  std::map<std::string, std::string> not_applicable;  ///< field -> reason
};

/// The thing cannot exist on this node: an image root has no links. Shown, and no change.
struct NotApplicable {
  std::string reason;
  bool operator==(const NotApplicable&) const = default;
};

/// The four answers of a look at a node; an Error means "could not look" and blocks the resource.
using Observation = std::variant<Absent, Present, NotApplicable, Error>;

/// Somebody else's setting of what is ours: "/etc/sysctl.d/99-tuning.conf:3 wins at boot".
struct ForeignClaim {
  ResourceId id;
  std::string field;    ///< The field it defeats, "persistent"; empty: the resource as a whole.
  Value value;          ///< What it says; null where that is no value of that kind.
  std::string source;   ///< "/etc/sysctl.d/99-tuning.conf:3"
  std::string message;  ///< One clause: "sets it to 128 and wins at boot".
  /// It defeats nothing, now or later: it is shown, and is no difference.
  bool harmless = false;
};

/// A resource that is as planned, and yet does not do what it is there for.
struct Ineffective {
  std::string name;  ///< Of the resource.
  std::string code;  ///< Of the warning: "limits.not_effective"
  std::string message;
  std::string hint;
};

/// Everything one type found on one node in one look.
struct ObservedType {
  std::map<std::string, Observation> resources;  ///< by resource name
  std::map<ArtifactId, Observation> artifacts;   ///< files: see engine/resource/file_artifact.h
  std::vector<ForeignClaim> foreign;
};

/// type name -> what it found.
struct ObservedState {
  std::map<std::string, ObservedType> types;
};

/// Texts from another machine are cut to the lengths of engine/core/bounded_text.h; those of an error also before they
/// are sent.
void list_fields(FieldVisitor& field, Error& error);
void list_fields(FieldVisitor& field, Observation& observation);
void list_fields(FieldVisitor& field, ForeignClaim& claim);
void list_fields(FieldVisitor& field, Ineffective& ineffective);
void list_fields(FieldVisitor& field, ObservedType& type);
void list_fields(FieldVisitor& field, ObservedState& observed);

}  // namespace sparkplan
