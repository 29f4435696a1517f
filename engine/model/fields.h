#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/named_enum.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/field_rule.h"

/// A struct that is stored or sent has one description, `list_fields(FieldVisitor&, T&)`, declared beside it. encode(),
/// decode() and the tables of docs/protocol.md all follow from that description.
namespace sparkplan {

/// The most types of resources in a message.
inline constexpr std::size_t kMostTypes = 256;
/// The most resources, steps or artifacts of a node in a message, also of one type.
inline constexpr std::size_t kMostResources = 32'768;

/// True for a list, a map, or an optional of one.
template <class T>
inline constexpr bool kHasItems = false;
template <class T>
inline constexpr bool kHasItems<std::vector<T>> = true;
template <class Key, class T>
inline constexpr bool kHasItems<std::map<Key, T>> = true;
template <class T>
inline constexpr bool kHasItems<std::optional<T>> = kHasItems<T>;

class FieldVisitor;

/// A message without fields needs no description of its own.
template <class T>
requires(std::is_empty_v<T>&& requires { T::kName; }) void list_fields(FieldVisitor& /*field*/, T& /*message*/) {}

template <class T>
concept ListsFields = requires(FieldVisitor& field, T& object) {
  list_fields(field, object);
};

/// Visits each field of a struct, in the order of encoding. A description changes the struct only while reading() is
/// true.
class FieldVisitor {
 public:
  FieldVisitor(const FieldVisitor&) = delete;
  FieldVisitor& operator=(const FieldVisitor&) = delete;
  virtual ~FieldVisitor() = default;

  /// Texts, true/false, numbers, enumerations, ids, Values, structs that list their fields, and optionals of all these.
  template <class T>
  requires(!kHasItems<T>) void operator()(std::string_view key, T& value, const FieldRule& rule = kOptional) {
    visit_field(key, value, rule);
  }
  /// Vectors and maps of all these. Without at_most() they do not compile.
  template <class T>
  requires kHasItems<T>
  void operator()(std::string_view key, T& value, const ListRule& rule) { visit_field(key, value, rule); }
  /// An enumeration, by the index of its name in `names`.
  void choice(std::string_view key, std::size_t& index, std::span<const std::string_view> names,
              const FieldRule& rule = kOptional);
  /// Bytes, as a text in base64.
  void base64(std::string_view key, std::string& bytes, const FieldRule& rule = kOptional);
  /// The alternative of a variant by its name in `key`. Its fields are visited by `visit_alternative` in the same map.
  template <class... Alternatives, class Visit>
  void tagged(std::string_view key, std::variant<Alternatives...>& variant, std::span<const std::string_view> names,
              Visit visit_alternative);
  /// As above, for alternatives with a `kName` and a description.
  template <class... Alternatives>
  void tagged(std::string_view key, std::variant<Alternatives...>& variant);

  /// True while the object is filled from a message: only then are checks and conversions of the read values needed.
  bool reading() const { return mode_ == Mode::kRead && !failed_; }
  /// Refuses the message unless `holds`.
  virtual void check(std::string_view key, bool holds, std::string_view requirement);
  virtual void fail(const Error& /*error*/) {}
  /// Refuses the message if the fields from here on, absent ones too, take more memory than that in a Value. An absent
  /// field takes none in the message, but the object has it, and so has a report on it.
  virtual void limit_memory(std::size_t /*most*/) {}

  template <class T>
  void visit(T& value, const FieldRule& rule);

 protected:
  enum class Mode : std::uint8_t { kWrite, kRead, kDescribe };
  explicit FieldVisitor(Mode mode) : mode_(mode) {}

  /// False: the field has no content to visit.
  virtual bool enter(std::string_view key, const FieldRule& rule, bool none) = 0;
  virtual void leave() = 0;
  virtual bool begin_struct(const std::type_info& type) = 0;
  virtual void end_struct() {}
  virtual void begin_alternative(std::string_view /*name*/) {}
  /// The number of items or entries to visit.
  virtual std::size_t begin_list(std::size_t size, const FieldRule& rule) = 0;
  virtual std::size_t begin_map(std::size_t size, const FieldRule& rule) = 0;
  virtual void enter_item(std::size_t index) = 0;
  virtual void enter_entry(std::size_t index, const std::string& key) = 0;
  virtual const std::string& entry_key(std::size_t index) const;
  /// True when null was written or found.
  virtual bool null(bool none) = 0;

  virtual void text(std::string& text, const FieldRule& rule) = 0;
  virtual void boolean(bool& boolean) = 0;
  virtual void integer(std::int64_t& number, const FieldRule& rule) = 0;
  virtual void real(double& number) = 0;
  virtual void any(Value& value) = 0;
  virtual void one_of(std::size_t& index, std::span<const std::string_view> names) = 0;

  const Mode mode_;
  bool failed_ = false;

 private:
  template <class T>
  void visit_field(std::string_view key, T& value, const FieldRule& rule) {
    if (!enter(key, rule, is_none(value) && !rule.null_for_none)) return;
    visit(value, rule);
    leave();
  }

  template <class T>
  static bool is_none(const T& /*value*/) {
    return false;
  }
  template <class T>
  static bool is_none(const std::optional<T>& value) {
    return !value.has_value();
  }

  static const std::string& key_text(const std::string& key) { return key; }
  template <class Id>
  static std::string key_text(const Id& id) {
    return id.str();
  }
  bool parse(const std::string& text, std::string& key) {
    key = text;
    return true;
  }
  template <class Id>
  bool parse(const std::string& text, Id& id) {
    auto parsed = Id::parse(text);
    if (parsed) {
      id = std::move(*parsed);
    } else {
      fail(std::move(parsed).error());
    }
    return !failed_;
  }

  template <class T>
  void visit_items(std::vector<T>& items, const FieldRule& rule) {
    if (mode_ == Mode::kRead) items.clear();
    const std::size_t count = begin_list(items.size(), rule);
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      if (i == items.size()) items.emplace_back();
      enter_item(i);
      if constexpr (std::same_as<T, bool>) {
        bool item = items[i];
        visit(item, rule);
        if (mode_ == Mode::kRead) items[i] = item;
      } else {
        visit(items[i], rule);
      }
      leave();
    }
  }

  template <class Key, class T>
  void visit_entries(std::map<Key, T>& map, const FieldRule& rule) {
    if (mode_ == Mode::kRead) return read_entries(map, rule);
    if (mode_ == Mode::kDescribe) map.try_emplace(Key());
    const std::size_t count = begin_map(map.size(), rule);
    std::size_t index = 0;
    for (auto& [key, value] : map) {
      if (rule.is_shortened && key_text(key).size() > FieldRule::kLongestText) continue;
      if (index == count) break;
      enter_entry(index++, key_text(key));
      visit(value, rule);
      leave();
    }
  }

  template <class Key, class T>
  void read_entries(std::map<Key, T>& map, const FieldRule& rule) {
    map.clear();
    const std::size_t count = begin_map(0, rule);
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      Key key;
      if (!parse(entry_key(i), key)) return;
      T value{};
      enter_entry(i, entry_key(i));
      visit(value, rule);
      leave();
      map.insert_or_assign(std::move(key), std::move(value));
    }
  }

  template <class T>
  void visit_optional(std::optional<T>& value, const FieldRule& rule) {
    if (null(!value.has_value())) {
      if (mode_ == Mode::kRead) value.reset();
      return;
    }
    if (!value) value.emplace();
    visit(*value, rule);
  }
};

template <class T>
void FieldVisitor::visit(T& value, const FieldRule& rule) {
  if constexpr (std::same_as<T, std::string>) {
    text(value, rule);
  } else if constexpr (std::same_as<T, bool>) {
    boolean(value);
  } else if constexpr (std::integral<T>) {
    auto wide = static_cast<std::int64_t>(value);
    constexpr auto kLeast = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    constexpr auto kMost = static_cast<std::int64_t>(std::numeric_limits<T>::max());
    integer(wide, rule.within(std::max(rule.least, kLeast), std::min(rule.most, kMost)));
    if (mode_ == Mode::kRead) value = static_cast<T>(wide);
  } else if constexpr (std::same_as<T, double>) {
    real(value);
  } else if constexpr (std::same_as<T, Value>) {
    any(value);
  } else if constexpr (NamedEnum<T>) {
    auto index = static_cast<std::size_t>(value);
    one_of(index, names_of(value));
    if (mode_ == Mode::kRead) value = static_cast<T>(index);
  } else if constexpr (ListsFields<T>) {
    if (!begin_struct(typeid(T))) return;
    list_fields(*this, value);
    end_struct();
  } else if constexpr (requires { value.str(); }) {
    std::string id = mode_ == Mode::kWrite ? value.str() : std::string();
    text(id, rule);
    if (reading()) parse(id, value);
  } else if constexpr (requires { value.has_value(); }) {
    visit_optional(value, rule);
  } else if constexpr (requires { typename T::mapped_type; }) {
    visit_entries(value, rule);
  } else {
    visit_items(value, rule);
  }
}

template <class... Alternatives, class Visit>
void FieldVisitor::tagged(std::string_view key, std::variant<Alternatives...>& variant,
                          std::span<const std::string_view> names, Visit visit_alternative) {
  constexpr auto kIndices = std::index_sequence_for<Alternatives...>();
  const auto make = [&]<std::size_t... kIndex>(std::size_t wanted, std::index_sequence<kIndex...> /*indices*/) {
    ((kIndex == wanted ? static_cast<void>(variant.template emplace<kIndex>()) : void()), ...);
  };
  std::size_t index = variant.index();
  choice(key, index, names, kRequired);
  const bool all = mode_ == Mode::kDescribe;
  const std::size_t end = all ? names.size() : index + 1;
  for (std::size_t i = all ? 0 : index; i < end; ++i) {
    begin_alternative(names[i]);
    if (i != variant.index()) make(i, kIndices);
    std::visit(visit_alternative, variant);
  }
}

template <class Variant>
inline constexpr std::array<std::string_view, 0> kNamesOf{};
/// The names of a variant's alternatives, by their `kName`.
template <class... Alternatives>
inline constexpr std::array<std::string_view, sizeof...(Alternatives)> kNamesOf<std::variant<Alternatives...>>{
    Alternatives::kName...};

template <class... Alternatives>
void FieldVisitor::tagged(std::string_view key, std::variant<Alternatives...>& variant) {
  tagged(key, variant, kNamesOf<std::variant<Alternatives...>>, [this](auto& one) { list_fields(*this, one); });
}

class FieldWriter final : public FieldVisitor {
 public:
  FieldWriter() : FieldVisitor(Mode::kWrite) { open_.push_back(&written_); }
  Value take() && { return std::move(written_); }

 private:
  bool enter(std::string_view key, const FieldRule& rule, bool none) override;
  void leave() override { open_.pop_back(); }
  bool begin_struct(const std::type_info& type) override;
  void end_struct() override { open_.back()->entries()->shrink_to_fit(); }
  std::size_t begin_list(std::size_t size, const FieldRule& rule) override;
  std::size_t begin_map(std::size_t size, const FieldRule& rule) override;
  void enter_item(std::size_t index) override;
  void enter_entry(std::size_t index, const std::string& key) override;
  bool null(bool none) override { return none; }
  void text(std::string& text, const FieldRule& rule) override;
  void boolean(bool& boolean) override;
  void integer(std::int64_t& number, const FieldRule& rule) override;
  void real(double& number) override;
  void any(Value& value) override;
  void one_of(std::size_t& index, std::span<const std::string_view> names) override;

  Value written_;
  std::vector<Value*> open_;  ///< From the root to the value that is being written.
};

/// Never ends the program: any Value gives an object or an error.
class FieldReader final : public FieldVisitor {
 public:
  explicit FieldReader(const Value& value) : FieldVisitor(Mode::kRead), at_(&value), root_(value) {}

  /// The first error, with the path to its place: "links: 0: mtu: expected integer, found text".
  Result<void> result() const;
  /// Fails when the outermost map has a field that no description has visited. `what` names the map.
  Result<void> refuse_unknown(std::string_view what) const;
  void check(std::string_view key, bool holds, std::string_view requirement) override;
  void fail(const Error& error) override;
  void limit_memory(std::size_t most) override { left_ = most; }

 private:
  struct Level {
    const Value* outer;
    std::string_view key;  ///< Its data is null in a list.
    std::size_t index;
  };
  bool enter(std::string_view key, const FieldRule& rule, bool none) override;
  void leave() override;
  bool begin_struct(const std::type_info& type) override;
  std::size_t begin_list(std::size_t size, const FieldRule& rule) override;
  std::size_t begin_map(std::size_t size, const FieldRule& rule) override;
  void enter_item(std::size_t index) override;
  void enter_entry(std::size_t index, const std::string& key) override;
  const std::string& entry_key(std::size_t index) const override;
  bool null(bool none) override;
  void text(std::string& text, const FieldRule& rule) override;
  void boolean(bool& boolean) override;
  void integer(std::int64_t& number, const FieldRule& rule) override;
  void real(double& number) override;
  void any(Value& value) override;
  void one_of(std::size_t& index, std::span<const std::string_view> names) override;

  void enter(const Value& inner, std::string_view key, std::size_t index);
  void invalid(std::string why);
  void wrong_kind(std::string_view expected);
  /// False, and failed, if the memory of limit_memory() is used up.
  bool use_memory(std::size_t bytes);
  bool is_too_many(std::size_t size, const FieldRule& rule);

  const Value* at_;
  const Value& root_;
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
  std::vector<Level> path_;
  std::vector<std::string_view> known_;  ///< Fields of the outermost map.
  std::optional<Error> error_;
};

template <ListsFields T>
Value encode(const T& object) {
  FieldWriter writer;
  // Encoding only reads the object, so several threads may encode it. One description serves both directions.
  writer.visit(const_cast<T&>(object), kOptional);
  return std::move(writer).take();
}

/// Any type that FieldVisitor visits. Errors: kInvalidInput, with the path to the field. Unknown fields are ignored.
template <class T>
Result<T> decode(const Value& value) {
  FieldReader reader(value);
  T object{};
  reader.visit(object, kOptional);
  SPARK_CHECK(reader.result());
  return object;
}

}  // namespace sparkplan
