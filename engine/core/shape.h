#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

struct ShapeField;

/// What a value that another machine sent may be: its kind, its size, and the same of what is in it. Immutable;
/// copies share what they hold. No shape has room for an Unknown: what is not known yet is the controller's to say.
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
  /// A map with these fields. A field that is not named may be there as well, with up to kMostOtherFields others:
  /// whoever reads the value ignores it. It is held to anything().
  static Shape map(std::vector<ShapeField> fields);
  /// A map of up to `most` entries, each value of the shape `value`.
  static Shape map_of(Shape value, std::size_t most = kMostItems);
  /// list(text(kMostLineBytes)): names, addresses, paths.
  static Shape texts(std::size_t most = kMostItems);
  /// Any kind but Unknown, with all that is in it: up to 16 levels, 10'000 values and 4 MiB.
  static Shape anything();

  /// True for what anything() gives: whoever has it has not said what is in the value.
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
  std::int64_t least_ = 0;
  std::int64_t greatest_ = 0;
  std::shared_ptr<const Shape> inner_;
  std::shared_ptr<const std::vector<ShapeField>> fields_;
};

/// A field of a map.
struct ShapeField {
  std::string_view name;  ///< Of static storage. With a "*" at its end: all fields that begin like this.
  Shape shape;
  bool required = false;  ///< Without it the value is of no use.
};

/// Errors: kInvalidInput, with the path to the first part that has another shape: "running: expected text, found
/// list". It holds nothing of the value but keys, printable and shortened.
Result<void> check_shape(const Value& value, const Shape& shape);

}  // namespace sparkplan
