#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/load/findings.h"

namespace sparkplan {

/// Converts byte offsets of a text to lines and columns, and finds the ends of scalars as written.
class YamlText {
 public:
  /// `text` must outlive this object and be valid UTF-8.
  explicit YamlText(std::string_view text);

  std::string_view text() const { return text_; }
  /// One character at `offset`. Past the text's end, its last position.
  SourceRange at(std::size_t offset) const;
  /// From `begin` to `end`, cut at the end of the first line.
  SourceRange range(std::size_t begin, std::size_t end) const;
  /// The beginning of a node's content after anchors and tags; `offset` is the node's mark.
  std::size_t content_start(std::size_t offset) const;
  /// The scalar that begins at `offset` (see content_start()) and was read as `value`.
  SourceRange scalar(std::size_t offset, std::string_view value) const;
  /// The offset of the first tab in the indentation of the line of `offset`; npos without a tab.
  std::size_t tab_in_indentation(std::size_t offset) const;
  /// The whole line of `offset`, without its line break.
  std::string_view line_of(std::size_t offset) const;

 private:
  std::size_t line_index(std::size_t offset) const;
  std::size_t characters_before(std::size_t offset) const;

  std::string_view text_;
  std::vector<std::size_t> line_starts_;
  // Characters before every kStride-th byte: a file of a megabyte may have all of its values in one line.
  std::vector<std::uint32_t> characters_;
};

/// True if the bytes are fit for a YAML parser: at most kLongestFile, UTF-8, no control characters. Otherwise the
/// reasons are in `findings`: at most twenty, up to the first byte that is not UTF-8.
bool check_bytes(std::string_view text, Findings& findings);

/// The first character that no setting may contain: a control character other than tab and newline, or one that
/// reorders text on a screen. npos if there is no such character.
std::size_t find_unfit_character(std::string_view text);

/// A plain (unquoted) scalar, typed as in YAML 1.2's core schema. But integers are decimal only, and only "true" and
/// "false" are booleans. Other text, and numbers that do not fit 64 bits, stay text. Source: yaml.org/spec/1.2.2,
/// section 10.3.2.
Value type_plain_scalar(std::string_view text);

/// True for "0644" and "007": decimal in YAML 1.2, octal in 1.1, and usually meant as text.
bool has_leading_zero(std::string_view text);

/// The limit on a file's length, in bytes.
inline constexpr std::size_t kLongestFile = 1 << 20;

}  // namespace sparkplan
