// Splits the sections of several machines into common entries and the rest of each machine.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/tree.h"
#include "engine/init/sections.h"
#include "engine/resource/record_list.h"

namespace sparkplan {
namespace {

/// The records of each identity, in their order. A machine may have thousands of them.
std::map<std::string, Value> records_by_identity(const RecordList& records, const Value& list) {
  std::map<std::string, Value> found;
  for (const Value& record : items_of(list)) found[records.identity_of(record).value_or("")].push_back(record);
  return found;
}

bool all_equal(const std::vector<Value>& each) {
  return std::all_of(each.begin(), each.end(), [&](const Value& one) { return one == each.front(); });
}

Split split_records(const RecordList& list_of_records, const std::vector<Value>& each) {
  Split split{Value(), std::vector<Value>(each.size())};
  std::vector<std::map<std::string, Value>> found;
  std::vector<std::string> identities;
  std::set<std::string> known;
  for (const Value& list : each) {
    found.push_back(records_by_identity(list_of_records, list));
    for (const Value& record : items_of(list)) {
      std::string identity = list_of_records.identity_of(record).value_or("");
      if (known.insert(identity).second) identities.push_back(std::move(identity));
    }
  }
  for (const std::string& identity : identities) {
    std::vector<Value> records;
    for (const auto& list : found) {
      const auto there = list.find(identity);
      records.push_back(there == list.end() ? Value::list() : there->second);
    }
    if (all_equal(records)) {
      append_records(split.common, records.front());
      continue;
    }
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (!records[i].list_items()->empty()) append_records(split.rests[i], records[i]);
    }
  }
  return split;
}

/// For a key that the map lacks. Value::set() would first search for it among thousands.
void append_new(Value& map, std::string_view key, Value value) {
  if (map.is_null()) map = Value::map();
  map.entries()->push_back(MapEntry{std::string(key), std::move(value)});
}

/// The values of each key, in the order of the keys; null pointers for the maps that lack it.
std::vector<std::pair<std::string_view, std::vector<const Value*>>> values_by_key(const std::vector<Value>& each) {
  std::vector<std::pair<std::string_view, std::vector<const Value*>>> values;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < each.size(); ++i) {
    for (const MapEntry& entry : *each[i].entries()) {
      const auto [place, is_new] = places.emplace(entry.key, values.size());
      if (is_new) values.emplace_back(entry.key, std::vector<const Value*>(each.size()));
      values[place->second].second[i] = &entry.value;
    }
  }
  return values;
}

Split split_maps(const std::vector<Value>& each) {
  Split split{Value(), std::vector<Value>(each.size())};
  // Null is a value here, different from a missing key: it removes a setting of a mode.
  for (const auto& [key, values] : values_by_key(each)) {
    const auto is_there = [](const Value* value) { return value != nullptr; };
    const auto is_map = [](const Value* value) { return value != nullptr && value->is_map(); };
    const bool everywhere = std::all_of(values.begin(), values.end(), is_there);
    const Value* first = values.front();
    if (everywhere && std::all_of(values.begin(), values.end(), [&](const auto* one) { return *one == *first; })) {
      append_new(split.common, key, *first);
      continue;
    }
    if (std::all_of(values.begin(), values.end(), is_map)) {
      std::vector<Value> maps;
      for (const Value* value : values) maps.push_back(*value);
      Split below = split_maps(maps);
      if (!below.common.is_null()) append_new(split.common, key, std::move(below.common));
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (!below.rests[i].is_null()) append_new(split.rests[i], key, std::move(below.rests[i]));
      }
      continue;
    }
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (values[i] != nullptr) append_new(split.rests[i], key, *values[i]);
    }
  }
  return split;
}

}  // namespace

void append_records(Value& list, const Value& records) {
  for (const Value& record : *records.list_items()) list.push_back(record);
}

Split split_common(const std::vector<Value>& each, const RecordList* records) {
  if (all_equal(each)) return {each.front(), std::vector<Value>(each.size())};
  const bool maps = std::all_of(each.begin(), each.end(), [](const Value& one) { return one.is_map(); });
  if (maps) return split_maps(each);
  if (records != nullptr) return split_records(*records, each);
  return {Value(), each};
}

}  // namespace sparkplan
