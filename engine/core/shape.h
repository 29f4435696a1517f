#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

struct ShapeField;

/// The values that another machine may send: their kind, their size, and the shapes of their parts. Immutable; copies
/// share their content. No shape accepts an Unknown: only the controller may mark a value as not yet known.
class Shape {
 public:
  static constexpr std::size_t kMostTextBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMostLineBytes = 4096;
  static constexpr std::size_t kMostItems = 10'000;

  /// Any bytes, up to `most` of them.
  static Shape text(std::size_t most = kMostTextBytes);
  /// Text without NUL, newlines and other ASCII control characters, up to `most` bytes.
  static Shape line(std::size_t most = kMostLineBytes);
  /// From `least` to `greatest`, both included.
  static Shape integer(std::int64_t least, std::int64_t greatest);
  static Shape boolean();
  /// Up to `most` items, each of the shape `item`.
  static Shape list(Shape item, std::size_t most = kMostItems);
  /// A map with these fields. It may have up to kMostOtherFields other fields, which readers ignore. Those are checked
  /// against anything().
  static Shape map(std::vector<ShapeField> fields);
  /// A map of up to `most` entries, each value of the shape `value`, each key of up to `longest_key` bytes.
  static Shape map_of(Shape value, std::size_t most = kMostItems, std::size_t longest_key = kMostLineBytes);
  /// list(text(kMostLineBytes)): names, addresses, paths.
  static Shape texts(std::size_t most = kMostItems);
  /// Any kind but Unknown, with all values in it: up to 16 levels, 10'000 values and 4 MiB.
  static Shape anything();

  /// True for a shape made by anything(): its type has not declared the content of the value.
  bool is_anything() const { return kind_ == Kind::kAnything; }

  static constexpr std::size_t kMostOtherFields = 64;

 private:
  friend Result<void> check_shape(const Value& value, const Shape& shape);
  enum class Kind : std::uint8_t { kText, kLine, kInteger, kBoolean, kList, kMap, kMapOf, kAnything };

  explicit Shape(Kind kind, std::size_t most = 0) : kind_(kind), most_(most) {}
  Result<void> check_list(const Value& value) const;
  Result<void> check_map(const Value& value) const;
  Result<void> check_map_of(const Value& value) const;

  Kind kind_;
  std::size_t most_;
  std::size_t longest_key_ = kMostLineBytes;
  std::int64_t least_ = 0;
  std::int64_t greatest_ = 0;
  std::shared_ptr<const Shape> inner_;
  std::shared_ptr<const std::vector<ShapeField>> fields_;
};

/// A field of a map.
struct ShapeField {
  /// Not from a std::string: its text may end before the shape.
  template <class Text>
  requires(std::is_convertible_v<Text, std::string_view> && !std::is_same_v<std::remove_cv_t<Text>, std::string>)
      ShapeField(const Text& named, Shape of, bool is_required = false)
      : name(named), shape(std::move(of)), required(is_required) {}

  std::string_view name;  ///< Of static storage. A "*" at its end stands for all fields with this beginning.
  Shape shape;
  bool required = false;  ///< The value is of no use without it.
};

/// Errors: kInvalidInput, with the path to the first part that has another shape: "running: expected text, found list".
/// Of the value, the error contains only keys, printable and shortened.
Result<void> check_shape(const Value& value, const Shape& shape);

}  // namespace sparkplan
