#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace sparkplan {

template <std::size_t kSize>
using EnumNames = std::array<std::string_view, kSize>;

/// An enumeration from 0. `names_of(value)` beside it returns its EnumNames, in the order of the enumerators.
template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  std::span<const std::string_view>(names_of(value));
};

template <NamedEnum Enum>
std::string_view to_string(Enum value) {
  const auto names = names_of(value);
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : names.back();
}

template <NamedEnum Enum>
std::optional<Enum> value_named(std::string_view name) {
  const auto names = names_of(Enum{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace sparkplan
