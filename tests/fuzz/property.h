#pragma once

#include <string_view>

#include "engine/core/value.h"

namespace sparkplan::fuzz {

/// Ends the program with `what` and the beginning of `seen` unless `holds`. libFuzzer treats that as a crash and keeps
/// the input.
void require(bool holds, std::string_view what, std::string_view seen = {});

/// Requires a text of at most `most` bytes without terminal controls other than newlines: no cursor movement, no
/// colours, no change of text direction.
void require_printable(std::string_view text, std::string_view what, std::size_t most = std::size_t{8} << 20U);

/// Requires that decode(encode(value)) equals `value`, unless the tree is deeper than JSON may be.
void require_lossless_json(const Value& value);

}  // namespace sparkplan::fuzz
