#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace sparkplan {

/// An enumeration from 0. `names_of(value)` beside it returns its names, in the order of the enumerators.
template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  std::span<const std::string_view>(names_of(value));
};

template <NamedEnum Enum>
std::string_view to_string(Enum value) {
  const std::span<const std::string_view> names = names_of(value);
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : names.back();
}

template <NamedEnum Enum>
std::optional<Enum> value_named(std::string_view name) {
  const std::span<const std::string_view> names = names_of(Enum{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace sparkplan
