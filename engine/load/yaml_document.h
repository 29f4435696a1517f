#pragma once

#include <string_view>

#include "engine/core/value.h"
#include "engine/load/findings.h"

namespace sparkplan {

/// One YAML text as a tree with the position of every value and key.
struct YamlDocument {
  Value root;           ///< If a value was refused, the best guess in its place, or nothing.
  bool usable = false;  ///< False if the first document could not be read to its end; `root` is then void.
};

/// Reads one document. Plain scalars get types as in YAML 1.2's core schema (see type_plain_scalar()), quoted scalars
/// are text, and aliases are resolved. A value's position is its beginning, or its key's position if it was left empty.
///
/// Refused, with all findings at once as far as the text can be read:
/// - duplicate keys, keys that are no text, merge keys; integers with a leading zero; unfit characters
/// - tags other than !!str, !!int, !!float, !!bool and !!null on scalars
/// - a second document, more than 64 levels, more than 1 MiB
/// - more than 100 000 values; an alias counts as its whole target, and every 32 bytes of text as one more value
/// - more than 300 000 commas and opening brackets, in text as well: this bounds the memory that the parser takes
/// After 500 findings reading ends.
YamlDocument read_yaml(std::string_view text, Findings& findings);

}  // namespace sparkplan
