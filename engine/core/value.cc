#include "engine/core/value.h"
#include "engine/core/keyed_digest.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::vector<const MapEntry*> sorted_by_key(const Value::Map& map) {
  std::vector<const MapEntry*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const MapEntry* a, const MapEntry* b) { return a->key < b->key; });
  return entries;
}

bool same_entries(const Value::Map& a, const Value::Map& b) {
  if (a.size() != b.size()) return false;
  const auto same_key = [](const MapEntry& x, const MapEntry& y) { return x.key == y.key; };
  const auto same_value = [](const MapEntry& x, const MapEntry& y) { return x.value == y.value; };
  // Usually the same code wrote both, in the same order.
  if (std::equal(a.begin(), a.end(), b.begin(), same_key)) return std::equal(a.begin(), a.end(), b.begin(), same_value);
  const auto left = sorted_by_key(a);
  const auto right = sorted_by_key(b);
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](const MapEntry* x, const MapEntry* y) { return x->key == y->key && x->value == y->value; });
}

std::string display_list(const Value::List& items) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ", ";
    text += display(item);
  }
  return text + "]";
}

std::string display_map(const Value::Map& entries) {
  std::string text = "{";
  for (const auto& entry : entries) {
    if (text.size() > 1) text += ", ";
    text += printable(entry.key) + ": " + display(entry.value);
  }
  return text + "}";
}

}  // namespace

Value::Value(Map entries) : data_(std::move(entries)) {}

Value Value::map(std::initializer_list<MapEntry> entries) {
  Value result{Map{}};
  for (const auto& entry : entries) {
    result.set(entry.key, entry.value);
    if (auto* map = result.entries(); entry.key_where.known() && map != nullptr) {
      for (auto& placed : *map) {
        if (placed.key == entry.key) placed.key_where = entry.key_where;
      }
    }
  }
  return result;
}

Value Value::list(std::initializer_list<Value> items) { return Value{List(items)}; }

const MapEntry* Value::find_entry(std::string_view key) const {
  const Map* map = entries();
  if (map == nullptr) return nullptr;
  for (const auto& entry : *map) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

const Value* Value::find(std::string_view key) const {
  const MapEntry* entry = find_entry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

std::string Value::text_or(std::string_view key, std::string_view fallback) const {
  const Value* value = find(key);
  const std::string* text = value == nullptr ? nullptr : value->string();
  return text == nullptr ? std::string(fallback) : *text;
}

std::int64_t Value::integer_or(std::string_view key, std::int64_t fallback) const {
  const Value* value = find(key);
  const std::int64_t* number = value == nullptr ? nullptr : value->integer();
  return number == nullptr ? fallback : *number;
}

bool Value::boolean_or(std::string_view key, bool fallback) const {
  const Value* value = find(key);
  const bool* flag = value == nullptr ? nullptr : value->boolean();
  return flag == nullptr ? fallback : *flag;
}

Value& Value::set(std::string_view key, Value value) {
  Map* map = entries();
  if (map == nullptr) {
    // Built before the old content is destroyed: `key` may point into it.
    Map fresh;
    fresh.push_back(MapEntry{std::string(key), std::move(value)});
    data_ = std::move(fresh);
    return *this;
  }
  if (Value* found = find(key)) {
    *found = std::move(value);
  } else {
    map->push_back(MapEntry{std::string(key), std::move(value)});
  }
  return *this;
}

void Value::push_back(Value value) {
  List* items = list_items();
  if (items == nullptr) items = &data_.emplace<List>();
  items->push_back(std::move(value));
}

bool Value::erase(std::string_view key) {
  Map* map = entries();
  if (map == nullptr) return false;
  return std::erase_if(*map, [key](const MapEntry& entry) { return entry.key == key; }) > 0;
}

bool Value::contains_unknown() const {
  if (is_unknown()) return true;
  if (const List* items = list_items()) {
    return std::any_of(items->begin(), items->end(), [](const Value& item) { return item.contains_unknown(); });
  }
  if (const Map* map = entries()) {
    return std::any_of(map->begin(), map->end(), [](const MapEntry& entry) { return entry.value.contains_unknown(); });
  }
  return false;
}

std::string_view Value::kind_name() const {
  static constexpr std::array<std::string_view, 8> kNames{"null", "true/false", "integer", "number",
                                                          "text", "list",       "map",     "unknown"};
  return kNames.at(data_.index());
}

bool operator==(const Value& a, const Value& b) {
  if (a.data_.index() != b.data_.index()) return false;
  if (a.is_unknown()) return false;
  if (a.is_null()) return true;
  if (const auto* boolean = a.boolean()) return *boolean == std::get<bool>(b.data_);
  if (const auto* number = a.integer()) return *number == std::get<std::int64_t>(b.data_);
  if (const auto* number = a.real()) return *number == std::get<double>(b.data_);
  if (const auto* text = a.string()) return *text == std::get<std::string>(b.data_);
  if (const auto* items = a.list_items()) return *items == std::get<Value::List>(b.data_);
  return same_entries(std::get<Value::Map>(a.data_), std::get<Value::Map>(b.data_));
}

std::string display(const Value& value) {
  if (const auto* unknown = value.unknown()) {
    return "(" + (unknown->reason.empty() ? "known after apply" : printable(unknown->reason)) + ")";
  }
  if (const auto* boolean = value.boolean()) return *boolean ? "true" : "false";
  if (const auto* number = value.integer()) return std::to_string(*number);
  if (const auto* number = value.real()) return real_text(*number);
  // An empty text would be invisible.
  if (const auto* text = value.string()) {
    if (is_secret_token(*text)) return shown_secret();
    return text->empty() ? "\"\"" : printable(*text);
  }
  if (const auto* items = value.list_items()) return display_list(*items);
  if (const auto* map = value.entries()) return display_map(*map);
  return "null";
}

}  // namespace sparkplan
