#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"

/// Reading a Value whose kind is not certain: a section with errors, or what a node has sent. A null pointer, or a
/// value of another kind, counts as empty. So each reader is written as if the value were valid.
namespace sparkplan {

inline const Value::List& items_of(const Value* value) {
  static const Value::List none;
  const auto* items = value != nullptr ? value->list_items() : nullptr;
  return items != nullptr ? *items : none;
}
inline const Value::List& items_of(const Value& value) { return items_of(&value); }

inline const Value::Map& entries_of(const Value* value) {
  static const Value::Map none;
  const auto* entries = value != nullptr ? value->entries() : nullptr;
  return entries != nullptr ? *entries : none;
}
inline const Value::Map& entries_of(const Value& value) { return entries_of(&value); }

inline const std::string& text_of(const Value* value) {
  static const std::string none;
  const auto* text = value != nullptr ? value->string() : nullptr;
  return text != nullptr ? *text : none;
}

/// The text below `key`; nothing if it is missing or no text.
inline std::optional<std::string> text_below(const Value& map, std::string_view key) {
  const Value* found = map.find(key);
  if (found == nullptr || found->string() == nullptr) return std::nullopt;
  return *found->string();
}

inline SourceRange place_of(const Value* value) { return value != nullptr ? value->where : SourceRange{}; }

/// The place of the value below `key`; without one, the place of the record.
inline SourceRange place_of(const Value& record, std::string_view key) {
  const Value* value = record.find(key);
  return value != nullptr ? value->where : record.where;
}

/// The place of the key itself; an unknown one without it.
inline SourceRange key_place_of(const Value& map, std::string_view key) {
  const auto* entry = map.find_entry(key);
  return entry != nullptr ? entry->key_where : SourceRange{};
}

/// The value below two keys; null if either is missing.
inline const Value* find_below(const Value& map, std::string_view outer, std::string_view inner) {
  const Value* found = map.find(outer);
  return found != nullptr ? found->find(inner) : nullptr;
}

/// The texts in a list, in their order. Items of other kinds are skipped.
inline std::vector<std::string> texts_in(const Value* list) {
  std::vector<std::string> texts;
  for (const Value& item : items_of(list)) {
    if (item.string() != nullptr) texts.push_back(*item.string());
  }
  return texts;
}

/// The inverse of texts_in().
inline Value list_of_texts(const std::vector<std::string>& texts) {
  Value list(Value::List{});
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

/// Bytes that a copy of the value takes, without what the allocator adds. At most 64 levels deep.
inline std::size_t memory_of(const Value& value) {
  std::size_t bytes = sizeof(Value) + text_of(&value).size();
  for (const Value& item : items_of(value)) bytes += memory_of(item);
  for (const MapEntry& entry : entries_of(value)) {
    bytes += sizeof(MapEntry) - sizeof(Value) + entry.key.size() + memory_of(entry.value);
  }
  return bytes;
}

}  // namespace sparkplan
