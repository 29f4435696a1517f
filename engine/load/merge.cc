#include "engine/load/merge.h"

#include <set>
#include <string>
#include <unordered_map>

#include "engine/core/tree.h"

namespace sparkplan {
namespace {

Value merge_maps(const Value& base, const Value& over, const RecordList* records) {
  std::unordered_map<std::string, std::size_t> places;
  Value::Map entries;
  // Exactly as long as needed: a growing list takes up to twice the memory, and each node has one.
  entries.reserve(entries_of(base).size() + entries_of(over).size());
  entries = entries_of(base);
  for (std::size_t i = 0; i < entries.size(); ++i) places.emplace(entries[i].key, i);
  for (const auto& entry : entries_of(over)) {
    const auto [place, is_new] = places.try_emplace(entry.key, entries.size());
    if (is_new) {
      entries.push_back(entry);
      continue;
    }
    MapEntry& inherited = entries[place->second];
    const bool holds_records = records != nullptr && records->below == entry.key;
    // A reference to a secret has one source, so a mixture of two layers would be none.
    inherited.value =
        entry.key == "secret" ? entry.value : merge(inherited.value, entry.value, holds_records ? records : nullptr);
    inherited.key_where = entry.key_where;
  }
  Value merged(std::move(entries));
  merged.where = over.where;
  return merged;
}

Value merge_records(const Value& base, const Value& over, const RecordList& records) {
  std::unordered_map<std::string, std::size_t> places;
  std::set<std::string> replaced;
  if (records.may_have_both != nullptr) {
    for (const auto& record : items_of(over)) {
      if (const auto identity = records.identity_of(record)) replaced.insert(*identity);
    }
  }
  Value::List merged;
  merged.reserve(items_of(base).size() + items_of(over).size());
  for (const auto& record : items_of(base)) {
    const auto identity = records.identity_of(record);
    if (identity && replaced.contains(*identity)) continue;
    if (identity) places.emplace(*identity, merged.size());
    merged.push_back(record);
  }
  for (const auto& record : items_of(over)) {
    const auto identity = records.identity_of(record);
    const auto place = identity ? places.find(*identity) : places.end();
    if (place == places.end()) {
      merged.push_back(record);
    } else {
      merged[place->second] = merge(merged[place->second], record);
    }
  }
  Value list(std::move(merged));
  list.where = over.where;
  return list;
}

}  // namespace

Value merge(const Value& base, const Value& over, const RecordList* records) {
  if (base.is_map() && over.is_map()) return merge_maps(base, over, records);
  if (base.is_list() && over.is_list() && records != nullptr) return merge_records(base, over, *records);
  return over;
}

Value without_nulls(Value value) {
  if (auto* entries = value.entries()) {
    std::erase_if(*entries, [](const MapEntry& entry) { return entry.value.is_null(); });
    for (auto& entry : *entries) entry.value = without_nulls(std::move(entry.value));
  } else if (auto* items = value.list_items()) {
    for (auto& item : *items) item = without_nulls(std::move(item));
  }
  return value;
}

}  // namespace sparkplan
