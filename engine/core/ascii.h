#pragma once

namespace sparkplan {

/// 0 to 9 in every locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A letter or digit of ASCII, in every locale.
constexpr bool is_alphanumeric(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace sparkplan
