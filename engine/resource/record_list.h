#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

namespace sparkplan {

/// A list of records in a section: limits, units, files. A record of a node goes over the record of the cluster with
/// the same identity, and no layer may name a record twice.
struct RecordList {
  std::vector<std::string> identity;     ///< The fields, all texts, that identify a record: {"domain", "item"}.
  std::string below = {};                ///< The key of the list in its section. Empty: the section is the list.
  bool by_path = false;                  ///< The first field of the identity is a path on the node.
  std::vector<std::string> bodies = {};  ///< Fields with several lines of text: {"content"}.
  /// Whether one layer may have both records, which have one identity: a soft and a hard limit. Merging by field would
  /// mix such records, so a layer replaces all inherited records of an identity together. Null: records merge by field.
  bool (*may_have_both)(const Value& one, const Value& other) = nullptr;

  /// For comparing; nothing if a field of the identity is missing or no text.
  std::optional<std::string> identity_of(const Value& record) const;
};

/// For a merged record: the error at the field `name_field`, which names the record, if it has no `key`.
std::optional<Diagnostic> missing_key(const Value& record, std::string_view name_field, std::string_view key);

}  // namespace sparkplan
