#pragma once

#include <string>
#include <vector>

#include "engine/plan/report.h"
#include "engine/report/text/text_style.h"

// The text of one node's changes, before the nodes are compared and the width of the columns is known.

namespace sparkplan {

/// One changed field of a resource: "mtu", "1500 -> 9000".
struct FieldText {
  std::string label;  ///< Empty: the value of the resource as a whole.
  std::string text;

  bool operator==(const FieldText&) const = default;
};

/// A line below a change.
struct BodyLine {
  Part part;
  bool verbatim = false;  ///< A line of a diff, which is not wrapped.

  bool operator==(const BodyLine&) const = default;
};

/// One change, foreign setting or blocked resource of one node.
struct ChangeText {
  char symbol = ' ';
  std::string type;
  std::string name;
  std::vector<FieldText> fields;
  std::vector<Part> marks;     ///< Impact, origin and outcome, or the reason of a blocked resource.
  std::vector<BodyLine> body;  ///< Diffs, notes, failures, hints.
  bool blocked = false;        ///< The resource cannot be planned; a mark has the reason.

  bool operator==(const ChangeText&) const = default;
};

/// All changes and blocked resources of a node, in the order of its plan. `file` is cluster.yaml's name.
/// With `outcome`, changes have no diffs: the report says what became of a plan.
std::vector<ChangeText> changes_of(const NodeReport& node, const std::string& file, bool outcome,
                                   const TextStyle& style);

/// Other lines about a node: resources that were kept or cannot exist there, and the lock.
std::vector<std::string> notes_of(const NodeReport& node, const std::string& file);

/// True if a blocked resource is a change of the node that failed or was not made. The change is what counts.
bool is_shown_as_change(const BlockedResource& blocked, const NodeReport& node);

}  // namespace sparkplan
