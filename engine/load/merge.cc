#include "engine/load/merge.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "engine/load/tree.h"

namespace sparkplan {
namespace {

Value merge_maps(const Value& base, const Value& over) {
  std::unordered_map<std::string, std::size_t> places;
  Value::Map entries = entries_of(&base);
  for (std::size_t i = 0; i < entries.size(); ++i) places.emplace(entries[i].key, i);
  for (const auto& entry : entries_of(&over)) {
    const auto [place, is_new] = places.try_emplace(entry.key, entries.size());
    if (is_new) {
      entries.push_back(entry);
      continue;
    }
    MapEntry& inherited = entries[place->second];
    inherited.value = merge(entry.key, inherited.value, entry.value);
    inherited.key_where = entry.key_where;
  }
  Value merged(std::move(entries));
  merged.where = over.where;
  return merged;
}

// A soft and a hard limit of one item are two records of one identity, so merging field by field
// would mix them: the identity's records are replaced together.
Value merge_limits(const Value& base, const Value& over, const std::vector<std::string>& keys) {
  std::set<std::string> replaced;
  for (const auto& record : items_of(&over)) {
    if (const auto identity = identity_of(record, keys)) replaced.insert(*identity);
  }
  Value merged(Value::List{});
  for (const auto& record : items_of(&base)) {
    const auto identity = identity_of(record, keys);
    if (!identity || !replaced.contains(*identity)) merged.push_back(record);
  }
  for (const auto& record : items_of(&over)) merged.push_back(record);
  merged.where = over.where;
  return merged;
}

Value merge_records(const Value& base, const Value& over, const std::vector<std::string>& keys) {
  std::unordered_map<std::string, std::size_t> places;
  Value::List records = items_of(&base);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const auto identity = identity_of(records[i], keys)) places.emplace(*identity, i);
  }
  for (const auto& record : items_of(&over)) {
    const auto identity = identity_of(record, keys);
    const auto place = identity ? places.find(*identity) : places.end();
    if (place == places.end()) {
      records.push_back(record);
    } else {
      records[place->second] = merge("", records[place->second], record);
    }
  }
  Value merged(std::move(records));
  merged.where = over.where;
  return merged;
}

}  // namespace

std::vector<std::string> identity_keys(std::string_view key) {
  if (key == "limits") return {"domain", "item"};
  if (key == "units" || key == "interfaces") return {"name"};
  if (key == "storage") return {"target"};
  if (key == "files") return {"path"};
  return {};
}

std::optional<std::string> identity_of(const Value& record, const std::vector<std::string>& keys) {
  std::string identity;
  for (const auto& key : keys) {
    const Value* part = record.find(key);
    if (part == nullptr || !part->is_string()) return std::nullopt;
    identity += text_of(part) + '\n';
  }
  return identity;
}

Value merge(std::string_view key, const Value& base, const Value& over) {
  if (base.is_map() && over.is_map()) return merge_maps(base, over);
  if (base.is_list() && over.is_list()) {
    const auto keys = identity_keys(key);
    if (key == "limits") return merge_limits(base, over, keys);
    if (!keys.empty()) return merge_records(base, over, keys);
  }
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
