#include "engine/core/shape.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr int kMostLevels = 16;
constexpr std::size_t kMostValues = 10'000;
constexpr std::size_t kMostShownKeyBytes = 80;

Error invalid(std::string why) { return make_error(ErrorCode::kInvalidInput, std::move(why)); }

Result<void> wrong_kind(std::string_view expected, const Value& found) {
  return failure(invalid("expected " + std::string(expected) + ", found " + std::string(found.kind_name())));
}

Result<void> too_large(std::string_view what, std::size_t found, std::size_t most) {
  return failure(
      invalid(std::to_string(found) + " " + std::string(what) + ", more than the limit of " + std::to_string(most)));
}

/// A UTF-8 character that the cut splits is printed as visible bytes.
std::string shown_key(std::string_view key) {
  return key.size() <= kMostShownKeyBytes ? printable(key) : printable(key.substr(0, kMostShownKeyBytes)) + "...";
}

Result<void> within(std::string level, Result<void> checked) {
  if (checked) return checked;
  return failure(std::move(checked).error().within(std::move(level)));
}

Result<void> check_key(std::string_view key, std::size_t longest) {
  if (key.size() > longest) return too_large("bytes of a key", key.size(), longest);
  return {};
}

/// The remaining part of the bounds of anything().
struct Budget {
  std::size_t values = kMostValues;
  std::size_t bytes = Shape::kMostTextBytes;
};

Result<void> take(const Value& value, int levels, Budget& budget) {
  if (value.is_unknown()) return wrong_kind("a known value", value);
  if (levels == 0) return failure(invalid("more than " + std::to_string(kMostLevels) + " levels"));
  if (budget.values == 0) return failure(invalid("more than " + std::to_string(kMostValues) + " values"));
  --budget.values;
  const auto take_bytes = [&](const std::string& text) -> Result<void> {
    if (text.size() > budget.bytes) return failure(invalid("too much text"));
    budget.bytes -= text.size();
    return {};
  };
  if (const auto* text = value.string()) return take_bytes(*text);
  if (const auto* items = value.list_items()) {
    for (const Value& item : *items) SPARK_CHECK(take(item, levels - 1, budget));
  }
  if (const auto* entries = value.entries()) {
    for (const MapEntry& entry : *entries) {
      SPARK_CHECK(check_key(entry.key, Shape::kMostLineBytes));
      SPARK_CHECK(take_bytes(entry.key));
      SPARK_CHECK(take(entry.value, levels - 1, budget));
    }
  }
  return {};
}

bool is_named(const ShapeField& field, std::string_view key) {
  if (!field.name.ends_with('*')) return field.name == key;
  return key.starts_with(field.name.substr(0, field.name.size() - 1));
}

}  // namespace

Shape Shape::text(std::size_t most) { return Shape(Kind::kText, most); }

Shape Shape::line(std::size_t most) { return Shape(Kind::kLine, most); }

Shape Shape::boolean() { return Shape(Kind::kBoolean); }

Shape Shape::anything() { return Shape(Kind::kAnything); }

Shape Shape::integer(std::int64_t least, std::int64_t greatest) {
  Shape shape(Kind::kInteger);
  shape.least_ = least;
  shape.greatest_ = greatest;
  return shape;
}

Shape Shape::list(Shape item, std::size_t most) {
  Shape shape(Kind::kList, most);
  shape.inner_ = std::make_shared<const Shape>(std::move(item));
  return shape;
}

Shape Shape::texts(std::size_t most) { return list(text(kMostLineBytes), most); }

Shape Shape::map_of(Shape value, std::size_t most, std::size_t longest_key) {
  Shape shape(Kind::kMapOf, most);
  shape.longest_key_ = longest_key;
  shape.inner_ = std::make_shared<const Shape>(std::move(value));
  return shape;
}

Shape Shape::map(std::vector<ShapeField> fields) {
  Shape shape(Kind::kMap, kMostItems);
  shape.fields_ = std::make_shared<const std::vector<ShapeField>>(std::move(fields));
  return shape;
}

Result<void> Shape::check_list(const Value& value) const {
  const auto* items = value.list_items();
  if (items == nullptr) return wrong_kind("list", value);
  if (items->size() > most_) return too_large("items", items->size(), most_);
  for (std::size_t i = 0; i < items->size(); ++i)
    SPARK_CHECK(within(std::to_string(i), check_shape((*items)[i], *inner_)));
  return {};
}

Result<void> Shape::check_map_of(const Value& value) const {
  const auto* entries = value.entries();
  if (entries == nullptr) return wrong_kind("map", value);
  if (entries->size() > most_) return too_large("entries", entries->size(), most_);
  for (const MapEntry& entry : *entries) {
    SPARK_CHECK(within(shown_key(entry.key), check_key(entry.key, longest_key_)));
    SPARK_CHECK(within(shown_key(entry.key), check_shape(entry.value, *inner_)));
  }
  return {};
}

Result<void> Shape::check_map(const Value& value) const {
  const auto* entries = value.entries();
  if (entries == nullptr) return wrong_kind("map", value);
  if (entries->size() > most_) return too_large("entries", entries->size(), most_);
  std::size_t others = 0;
  for (const MapEntry& entry : *entries) {
    SPARK_CHECK(within(shown_key(entry.key), check_key(entry.key, longest_key_)));
    const auto field =
        std::find_if(fields_->begin(), fields_->end(), [&](const ShapeField& one) { return is_named(one, entry.key); });
    if (field == fields_->end() && ++others > kMostOtherFields)
      return too_large("unknown fields", others, kMostOtherFields);
    const Shape& shape = field == fields_->end() ? anything() : field->shape;
    SPARK_CHECK(within(shown_key(entry.key), check_shape(entry.value, shape)));
  }
  for (const ShapeField& field : *fields_) {
    if (field.required && value.find(field.name) == nullptr)
      return within(std::string(field.name), failure(invalid("missing")));
  }
  return {};
}

Result<void> check_shape(const Value& value, const Shape& shape) {
  switch (shape.kind_) {
    case Shape::Kind::kText:
    case Shape::Kind::kLine: {
      const auto* text = value.string();
      if (text == nullptr) return wrong_kind("text", value);
      if (text->size() > shape.most_) return too_large("bytes", text->size(), shape.most_);
      if (shape.kind_ == Shape::Kind::kLine && has_control_character(*text))
        return failure(invalid("expected one line, found a control character"));
      return {};
    }
    case Shape::Kind::kInteger: {
      const auto* number = value.integer();
      if (number == nullptr) return wrong_kind("integer", value);
      if (*number < shape.least_ || *number > shape.greatest_)
        return failure(invalid("out of range: " + std::to_string(*number)));
      return {};
    }
    case Shape::Kind::kBoolean:
      return value.boolean() == nullptr ? wrong_kind("true/false", value) : Result<void>();
    case Shape::Kind::kList:
      return shape.check_list(value);
    case Shape::Kind::kMap:
      return shape.check_map(value);
    case Shape::Kind::kMapOf:
      return shape.check_map_of(value);
    case Shape::Kind::kAnything:
      break;
  }
  Budget budget;
  return take(value, kMostLevels, budget);
}

}  // namespace sparkplan
