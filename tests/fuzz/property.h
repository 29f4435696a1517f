#pragma once

#include <string_view>

#include "engine/core/value.h"

namespace sparkplan::fuzz {

/// Ends the program with `what` and the beginning of `seen` unless `holds`: to libFuzzer that is a crash, and
/// it keeps the input.
void require(bool holds, std::string_view what, std::string_view seen = {});

/// Nothing in it but newlines may move a terminal's cursor, change its colours or turn its text around, and it
/// is no longer than `most` bytes.
void require_printable(std::string_view text, std::string_view what, std::size_t most = std::size_t{8} << 20U);

/// decode(encode(value)) is `value` again, if its tree is no deeper than JSON may be.
void require_lossless_json(const Value& value);

}  // namespace sparkplan::fuzz
