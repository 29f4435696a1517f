#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/diagnostic.h"

namespace sparkplan {

struct MapEntry;

/// The one tree that YAML, JSON, desired and observed state are made of. Maps keep the order in which they were
/// written, but equality ignores order. Strings may hold any bytes.
///
/// Unknown marks a value that an earlier step on some node will produce, such as a public key that is not generated
/// yet. It is equal to nothing, not even to itself. Code that compares it must decide what that means.
class Value {
 public:
  struct Unknown {
    std::string reason;    ///< For the reader of a plan: "known after spark-02 creates its key".
    std::string producer;  ///< The step that will produce it: "spark-02/ssh_trust/nvidia".
  };
  using List = std::vector<Value>;
  using Map = std::vector<MapEntry>;

  Value();
  Value(bool boolean);           // NOLINT(google-explicit-constructor)
  Value(int number);             // NOLINT(google-explicit-constructor)
  Value(std::int64_t number);    // NOLINT(google-explicit-constructor)
  Value(double number);          // NOLINT(google-explicit-constructor)
  Value(std::string text);       // NOLINT(google-explicit-constructor)
  Value(std::string_view text);  // NOLINT(google-explicit-constructor)
  Value(const char* text);       // NOLINT(google-explicit-constructor)
  Value(List items);             // NOLINT(google-explicit-constructor)
  Value(Map entries);            // NOLINT(google-explicit-constructor)
  Value(Unknown unknown);        // NOLINT(google-explicit-constructor)
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  /// A map from pairs: Value::map({{"mtu", 9000}}). A later duplicate key replaces the earlier.
  static Value map(std::initializer_list<MapEntry> entries = {});
  static Value list(std::initializer_list<Value> items = {});

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_unknown() const { return std::holds_alternative<Unknown>(data_); }

  /// Null when the value is of another kind. No conversions.
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Unknown* unknown() const { return std::get_if<Unknown>(&data_); }
  const List* list_items() const { return std::get_if<List>(&data_); }
  List* list_items() { return std::get_if<List>(&data_); }
  const Map* entries() const { return std::get_if<Map>(&data_); }
  Map* entries() { return std::get_if<Map>(&data_); }

  /// The entry's value; null for a value that is not a map, or without such a key.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const MapEntry* find_entry(std::string_view key) const;

  /// The string, integer or boolean below `key`, or the fallback when absent or of another kind.
  std::string text_or(std::string_view key, std::string_view fallback) const;
  std::int64_t integer_or(std::string_view key, std::int64_t fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;

  /// Adds or replaces an entry. A value of any other kind first becomes an empty map and loses its content. So no kind
  /// that a node sends can end the program. Returns this value, for chaining.
  Value& set(std::string_view key, Value value);
  /// Appends to a list. A value of any other kind first becomes an empty list and loses its content.
  void push_back(Value value);
  /// True if the key existed.
  bool erase(std::string_view key);

  /// True when this or anything below it is Unknown.
  bool contains_unknown() const;

  /// "map", "list", "text", "integer", "number", "true/false", "null", "unknown": for messages.
  std::string_view kind_name() const;

  /// Its place in the user's file. Ignored by equality and by every encoding.
  SourceRange where;

  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map, Unknown> data_;
};

struct MapEntry {
  std::string key;
  Value value;
  SourceRange key_where = {};  ///< The place of the key; ignored by equality, as Value::where is.
};

// Defined here, because they need the complete type MapEntry.
inline Value::Value() = default;
inline Value::Value(bool boolean) : data_(boolean) {}
inline Value::Value(int number) : data_(static_cast<std::int64_t>(number)) {}
inline Value::Value(std::int64_t number) : data_(number) {}
inline Value::Value(double number) : data_(number) {}
inline Value::Value(std::string text) : data_(std::move(text)) {}
inline Value::Value(std::string_view text) : data_(std::string(text)) {}
inline Value::Value(const char* text) : data_(std::string(text)) {}
inline Value::Value(List items) : data_(std::move(items)) {}
inline Value::Value(Unknown unknown) : data_(std::move(unknown)) {}
inline Value::Value(const Value& other) = default;
inline Value::Value(Value&& other) noexcept = default;
inline Value& Value::operator=(const Value& other) = default;
inline Value& Value::operator=(Value&& other) noexcept = default;
inline Value::~Value() = default;

/// For people: strings without quotes, lists in brackets, Unknown as "(known after ...)". One line.
std::string display(const Value& value);

}  // namespace sparkplan
