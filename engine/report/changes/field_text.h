#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/changes/change_text.h"

namespace sparkplan {

/// Follows what a removal becomes: "8000 -> 4096, as before sparkplan".
inline constexpr const char* kRestored = "as before sparkplan";

/// The fields of one change as text. All functions are pure; the arguments must outlive the object.
/// A field as people read it: "owner's id" for "uid". A field that is also a key of cluster.yaml keeps its name.
std::string field_words(const std::string& path);

class FieldTexts {
 public:
  /// `fields` are those of the change, or with a removal what becomes of them.
  FieldTexts(const Change& change, const std::vector<FieldChange>& fields, const NodePlan& plan,
             const TextStyle& style);

  /// The fields that fit into a line. One text without a label if all fields have one value. Fields that belong
  /// together, such as one for each node, are counted.
  std::vector<FieldText> short_ones() const;
  /// The changes of long texts, as diffs.
  std::vector<Part> diffs(std::size_t width) const;

 private:
  std::optional<std::vector<FieldText>> trust_parts() const;
  std::optional<std::string> one_value() const;
  std::optional<std::string> counts() const;
  bool is_shadow(const FieldChange& field) const;
  bool is_diff(const FieldChange& field) const;
  std::string text_of(const FieldChange& field, Action action) const;
  bool is_whole_file() const;
  std::string label_of_diff(const FieldChange& field) const;
  std::string file_name() const;

  const Change& change_;
  const std::vector<FieldChange>& fields_;
  const NodePlan& plan_;
  const TextStyle& style_;
  mutable std::map<std::string_view, const FieldChange*> by_path_;  ///< Made by the first is_shadow().
};

}  // namespace sparkplan
