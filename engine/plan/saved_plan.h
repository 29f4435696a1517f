#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/fields.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// The machine that a plan was made for: another machine of the same name is not changed.
struct PlannedMachine {
  std::string machine_id;
  std::string host_key;  ///< "SHA256:..."; empty for a local node.

  bool operator==(const PlannedMachine&) const = default;
};

/// A plan as a file: the planned changes and all data needed to carry out exactly these, including cluster.yaml.
struct SavedPlan {
  std::string id;
  std::string created;                        ///< RFC 3339, UTC.
  std::string sparkplan_version;              ///< Of the program that made it.
  std::string source;                         ///< The whole text of cluster.yaml.
  std::map<std::string, std::string> beside;  ///< The texts of the files that cluster.yaml names, by name.
  std::vector<std::string> only;              ///< The selection of the plan.
  std::vector<std::string> exclude;
  std::map<std::string, PlannedMachine> machines;  ///< By node; only the nodes that answered.
  Report report;                                   ///< Names, statuses, changes and steps.
};

/// The format that this build writes; a newer minor version only adds.
inline constexpr std::string_view kSavedPlanFormat = "1.0";

/// A plan that is longer, or that has more values, is refused and never written.
inline constexpr std::size_t kMostPlanBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostPlanValues = std::size_t{4} << 20;

/// Counts a text that comes in pieces, without parsing it.
class PlanSize {
 public:
  void add(std::string_view piece);
  /// True above either limit.
  bool is_too_large() const { return bytes_ > kMostPlanBytes || values_ > kMostPlanValues; }

 private:
  std::size_t bytes_ = 0;
  std::size_t values_ = 1;  ///< Each is the first item of a container or follows a comma.
  bool in_string_ = false;
  bool is_escaped_ = false;
};

/// True above either limit.
bool is_too_large(std::string_view text);

/// True for a text that is, or was meant to be, a saved plan instead of a cluster.yaml.
bool is_saved_plan(std::string_view text);

/// The plan under the single key "sparkplan_plan", with a digest over all of it. Its text is encode_short_json()
/// of this Value with the indent kPlanIndent, and a newline at the end. Schema: schemas/plan.schema.json.
Value sealed(SavedPlan plan);
inline constexpr int kPlanIndent = 1;

/// The digest detects damage, but not intent: a user who edits a plan can compute a new one. A plan's displayed changes
/// are compared with its cluster.yaml by check_belongs(), and with the nodes by hold_to(). `text` is freed before the
/// plan is made of its values: a text can take twice as much memory.
/// Errors: kInvalidInput for a file that is damaged, was edited, contradicts itself or is too large; kUnsupported for
/// another major version.
Result<SavedPlan> decode_saved_plan(std::string text);

/// The rules of its lists and texts, which only the limits above bound: they are the program's own.
inline constexpr FieldRule kPlanText = kOptional.no_longer_than(kMostPlanBytes);
inline constexpr ListRule kPlanList = kPlanText.at_most(kMostPlanValues);
inline constexpr ListRule kRequiredPlanList = kRequired.at_most(kMostPlanValues);

/// The parts of a saved plan. The report's fields are encoded without loss.
void list_fields(FieldVisitor& field, SourceRange& where);
void list_fields(FieldVisitor& field, FieldChange& change);
void list_fields(FieldVisitor& field, Change& change);
void list_fields(FieldVisitor& field, BlockedResource& blocked);
void list_fields(FieldVisitor& field, SkippedResource& skipped);
void list_fields(FieldVisitor& field, NodePlan& plan);
void list_fields(FieldVisitor& field, NodeReport& node);
void list_fields(FieldVisitor& field, DiagnosticNote& note);
void list_fields(FieldVisitor& field, Diagnostic& diagnostic);
void list_fields(FieldVisitor& field, Report& report);
void list_fields(FieldVisitor& field, PlannedMachine& machine);
void list_fields(FieldVisitor& field, SavedPlan& plan);

}  // namespace sparkplan
