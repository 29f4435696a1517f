#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

// The loader looks at files that may be wrong in every way. These take a null pointer or a value of
// another kind for one with nothing in it, so that each check reads as if the file were right.

inline const Value::List& items_of(const Value* value) {
  static const Value::List none;
  const auto* items = value != nullptr ? value->list_items() : nullptr;
  return items != nullptr ? *items : none;
}

inline const Value::Map& entries_of(const Value* value) {
  static const Value::Map none;
  const auto* entries = value != nullptr ? value->entries() : nullptr;
  return entries != nullptr ? *entries : none;
}

inline const std::string& text_of(const Value* value) {
  static const std::string none;
  const auto* text = value != nullptr ? value->string() : nullptr;
  return text != nullptr ? *text : none;
}

inline SourceRange place_of(const Value* value) { return value != nullptr ? value->where : SourceRange{}; }

inline SourceRange key_place_of(const Value& map, std::string_view key) {
  const auto* entry = map.find_entry(key);
  return entry != nullptr ? entry->key_where : SourceRange{};
}

/// The value below two keys, if both are there.
inline const Value* find_below(const Value& map, std::string_view outer, std::string_view inner) {
  const Value* found = map.find(outer);
  return found != nullptr ? found->find(inner) : nullptr;
}

}  // namespace sparkplan
