#pragma once

#include <string_view>

#include "engine/core/value.h"
#include "engine/load/findings.h"

namespace sparkplan {

/// One YAML text as a tree with the position of every value and key.
struct YamlDocument {
  Value root;           ///< Where something was refused the best guess at what was meant, or nothing.
  bool usable = false;  ///< False when the text could not be read to its end: `root` is then void.
};

/// Reads one document: scalars typed as YAML 1.2's core schema does (see type_plain_scalar()), quoted
/// ones always text, aliases resolved. A value's position is where it begins; that of a value left
/// empty is its key's.
///
/// Refused, all findings at once as far as the text can be read: duplicate keys, keys that are no
/// text, merge keys, tags other than !!str, !!int, !!float, !!bool and !!null, integers with a leading
/// zero, unfit characters, more than one document, 64 levels, 100 000 values (aliases count with all
/// that they stand for) or 1 MiB.
YamlDocument read_yaml(std::string_view text, Findings& findings);

}  // namespace sparkplan
