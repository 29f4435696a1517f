#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Takes a struct out of a map field by field, for the codecs of this folder. An absent field keeps its fallback, an
/// unknown one is ignored; the first of a wrong kind is remembered and fails check(), which must be called last.
class FieldReader {
 public:
  /// Of text(), in bytes: it is copied and printed, so a message is not to be one text.
  static constexpr std::size_t kLongestText = std::size_t{4} << 20;

  explicit FieldReader(const Value& value) : value_(value) {
    if (!value.is_map()) error_ = wrong_kind("map", value);
  }

  std::string text(std::string_view key, std::string fallback = {}) {
    const Value* field = present(key);
    if (field == nullptr) return fallback;
    const auto* text = field->string();
    if (text == nullptr) {
      remember(key, wrong_kind("text", *field));
    } else if (text->size() > kLongestText) {
      remember(key, invalid("longer than " + std::to_string(kLongestText) + " bytes"));
    } else {
      return *text;
    }
    return fallback;
  }

  bool boolean(std::string_view key, bool fallback) {
    const Value* field = present(key);
    if (field == nullptr) return fallback;
    if (const auto* boolean = field->boolean()) return *boolean;
    remember(key, wrong_kind("true/false", *field));
    return fallback;
  }

  /// Refuses what the type cannot hold.
  template <std::integral T>
  T integer(std::string_view key, T fallback) {
    const Value* field = present(key);
    if (field == nullptr) return fallback;
    const auto* number = field->integer();
    if (number == nullptr) {
      remember(key, wrong_kind("integer", *field));
    } else if (!std::in_range<T>(*number)) {
      remember(key, invalid("out of range: " + std::to_string(*number)));
    } else {
      return static_cast<T>(*number);
    }
    return fallback;
  }

  /// The field by a decoder of the form Result<T>(const Value&).
  template <class T, class Decode>
  T object(std::string_view key, T fallback, Decode decode) {
    const Value* field = present(key);
    if (field == nullptr) return fallback;
    Result<T> decoded = decode(*field);
    if (decoded) return std::move(*decoded);
    remember(key, std::move(decoded).error());
    return fallback;
  }

  /// A list, each of its items by the decoder; an error names the item: "links: 0: mtu: ...".
  template <class T, class Decode>
  std::vector<T> list(std::string_view key, Decode decode) {
    std::vector<T> result;
    const Value* field = present(key);
    if (field == nullptr) return result;
    const auto* items = field->list_items();
    if (items == nullptr) {
      remember(key, wrong_kind("list", *field));
      return result;
    }
    for (const auto& item : *items) {
      Result<T> decoded = decode(item);
      if (!decoded) {
        remember(key, std::move(decoded).error().within(std::to_string(result.size())));
        return result;
      }
      result.push_back(std::move(*decoded));
    }
    return result;
  }

  /// A map, its keys and values by their decoders.
  template <class K, class T, class DecodeKey, class Decode>
  std::map<K, T> map(std::string_view key, DecodeKey decode_key, Decode decode) {
    std::map<K, T> result;
    const Value* field = present(key);
    if (field == nullptr) return result;
    const auto* entries = field->entries();
    if (entries == nullptr) {
      remember(key, wrong_kind("map", *field));
      return result;
    }
    for (const auto& entry : *entries) {
      Result<K> name = decode_key(entry.key);
      if (!name) {
        remember(key, std::move(name).error());
        return result;
      }
      Result<T> decoded = decode(entry.value);
      if (!decoded) {
        remember(key, std::move(decoded).error().within(entry.key));
        return result;
      }
      result.insert_or_assign(std::move(*name), std::move(*decoded));
    }
    return result;
  }

  /// Any kind; null when absent.
  Value any(std::string_view key) const {
    const Value* field = value_.find(key);
    return field == nullptr ? Value() : *field;
  }

  /// Fails check() when the field is absent: what it stands for has no sensible default.
  FieldReader& require(std::string_view key) {
    if (value_.is_map() && value_.find(key) == nullptr) remember(key, invalid("missing"));
    return *this;
  }

  /// For what a kind alone does not say: "no such phase".
  void reject(std::string_view key, std::string why) { remember(key, invalid(std::move(why))); }

  Result<void> check() && {
    if (error_) return failure(std::move(*error_));
    return {};
  }

  static Error wrong_kind(std::string_view expected, const Value& found) {
    return invalid("expected " + std::string(expected) + ", found " + std::string(found.kind_name()));
  }

  static Error invalid(std::string why) {
    return Error{ErrorCode::kInvalidInput, std::move(why), {}, std::nullopt, {}};
  }

 private:
  const Value* present(std::string_view key) const { return value_.find(key); }

  void remember(std::string_view key, Error error) {
    if (!error_) error_ = std::move(error).within(std::string(key));
  }

  const Value& value_;
  std::optional<Error> error_;
};

/// Decoders for plain items and keys.
inline Result<std::string> decode_text(const Value& value) {
  const auto* text = value.string();
  if (text == nullptr) return failure(FieldReader::wrong_kind("text", value));
  if (text->size() > FieldReader::kLongestText) {
    return failure(FieldReader::invalid("longer than " + std::to_string(FieldReader::kLongestText) + " bytes"));
  }
  return *text;
}
template <class Id>
Result<Id> decode_id(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  return Id::parse(text);
}
inline Result<std::string> same_key(const std::string& key) { return key; }
inline Result<Value> same_value(const Value& value) { return value; }

/// ResourceId or ArtifactId in the spelling that decode_id() reads.
inline constexpr auto encode_id = [](const auto& id) { return Value(id.str()); };

/// A list from a range, each item by `encode`.
template <class Range, class Encode>
Value encode_list(const Range& range, Encode encode) {
  Value::List items;
  for (const auto& item : range) items.push_back(encode(item));
  return Value(std::move(items));
}

}  // namespace sparkplan
