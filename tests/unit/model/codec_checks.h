#pragma once

#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/json.h"
#include "tests/support/catch.h"

namespace sparkplan {

/// Through text, as between agent and controller.
inline Value over_the_wire(const Value& value) {
  const auto back = decode_json(encode_json(value));
  REQUIRE(back);
  return *back;
}

/// Structs that hold Values have no equality; their encodings have it.
template <class T>
std::string canonical(const T& object) {
  return canonical_json(encode(object));
}

/// Refused as invalid input; the description contains the path to the wrong field.
template <class T>
void check_refused(const Result<T>& result, std::string_view description) {
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kInvalidInput);
  CHECK(result.error().describe() == description);
}

/// An item of the list in a field.
inline Value& item(Value& value, std::string_view key, std::size_t index) {
  Value* field = value.find(key);
  Value::List* items = field == nullptr ? nullptr : field->list_items();
  if (items == nullptr) throw std::out_of_range(std::string(key));
  return items->at(index);
}

/// Replaces one value somewhere in the tree by a value of another kind.
inline void corrupt(Value& value, std::mt19937& engine) {
  Value* at = &value;
  for (;;) {
    if (auto* map = at->entries(); map != nullptr && !map->empty()) {
      at = &(*map)[engine() % map->size()].value;
    } else if (auto* items = at->list_items(); items != nullptr && !items->empty()) {
      at = &(*items)[engine() % items->size()];
    } else {
      break;
    }
    if (engine() % 4 == 0) break;
  }
  const std::vector<Value> strange{
      Value(), true, -1, 1.5, "", "x", Value::list({1}), Value::map({{"a", 1}}), Value::Unknown{"r", "p"}};
  *at = strange[engine() % strange.size()];
}

}  // namespace sparkplan
