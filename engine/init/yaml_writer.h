#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// A scalar as YAML 1.2 reads it back, on one line: plain where that is safe, else in double quotes, with what a
/// terminal obeys or hides escaped. Bytes that are no UTF-8 become U+FFFD.
std::string yaml_scalar(const Value& value);

/// On one line: "{name: spark-01, id: 3}", "[a, b]".
std::string yaml_flow(const Value& value);

/// A file of comments and top-level keys that is put together from top to bottom.
class YamlWriter {
 public:
  /// "# text" for each line of it, wrapped at the width of the file; of empty text nothing.
  void comment(std::string_view text, int indent = 0);
  /// "key: value" on one line where that is short enough, else a block. Text of several lines is a literal block.
  void entry(std::string_view key, const Value& value, int indent = 0);
  /// One item of a block list, likewise.
  void item(const Value& value, int indent);
  void line(std::string_view text) { text_ += std::string(text) + "\n"; }

  std::string take() { return std::move(text_); }

 private:
  void block(const Value& value, int indent);
  bool fits(const std::string& flow, int indent) const;

  std::string text_;
};

}  // namespace sparkplan
