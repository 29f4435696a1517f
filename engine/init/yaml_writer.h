#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// A scalar on one line, as YAML 1.2 reads it back: plain where that is safe, else in double quotes. Control characters
/// and hidden characters are escaped. Bytes that are not UTF-8 become U+FFFD.
std::string yaml_scalar(const Value& value);

/// On one line: "{name: spark-01, id: 3}", "[a, b]".
std::string yaml_flow(const Value& value);

/// A file of comments and top-level keys, written from top to bottom.
class YamlWriter {
 public:
  /// Writes "# text" for each line, wrapped at the width of the file. Writes nothing for an empty text.
  void comment(std::string_view text, int indent = 0);
  /// Writes "key: value" on one line if that is short enough, else as a block. Text of several lines becomes a literal
  /// block.
  void entry(std::string_view key, const Value& value, int indent = 0);
  /// Writes one item of a block list, in the same way.
  void item(const Value& value, int indent);
  void line(std::string_view text) { text_ += std::string(text) + "\n"; }

  std::string take() { return std::move(text_); }

 private:
  void block(const Value& value, int indent);
  bool fits(const std::string& flow, int indent) const;

  std::string text_;
};

}  // namespace sparkplan
