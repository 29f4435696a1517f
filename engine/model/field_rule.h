#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "engine/core/bounded_text.h"

namespace sparkplan {

struct ListRule;

/// Properties of a field that its kind does not imply. Bounds also apply to the items of a list or map.
struct FieldRule {
  /// The bound of the keys of a map, and of each text that has no other bound. A text is copied and printed, so a
  /// message must not be one text.
  static constexpr std::size_t kLongestText = 8192;

  bool required = false;       ///< Decoding fails without it. Other absent fields keep their default.
  bool left_out = false;       ///< Not encoded: the reader's default is the same value.
  bool null_for_none = false;  ///< An optional without a value is encoded as null. Null is always decoded as no value.
  bool is_cut = false;         ///< A longer text is cut when it is decoded. Otherwise it is refused.
  bool is_printable = false;   ///< A text with control characters is refused.
  bool is_shortened = false;   ///< A longer list or map is shortened when it is encoded. Otherwise it is sent whole.
  std::size_t longest = kLongestText;
  std::size_t most_items = std::numeric_limits<std::size_t>::max();
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  constexpr FieldRule within(std::int64_t from, std::int64_t to) const {
    FieldRule rule = *this;
    rule.least = from;
    rule.most = to;
    return rule;
  }
  constexpr FieldRule no_longer_than(std::size_t bytes) const {
    FieldRule rule = *this;
    rule.longest = bytes;
    return rule;
  }
  constexpr FieldRule cut_at(std::size_t bytes) const {
    FieldRule rule = no_longer_than(bytes);
    rule.is_cut = true;
    return rule;
  }
  /// The last rule of a list or map: each has such a bound, so that no message is one list. It also applies to the
  /// lists and maps in it.
  constexpr ListRule at_most(std::size_t items) const;
  /// As at_most(), but encoding sends only the first ones of a list or map that is longer, and no key that is too long.
  constexpr ListRule first(std::size_t items) const;
  constexpr FieldRule unless(bool is_default) const {
    FieldRule rule = *this;
    rule.left_out = is_default;
    return rule;
  }
};

/// The rule of a list or map, which FieldRule::at_most() makes.
struct ListRule : FieldRule {};

constexpr ListRule FieldRule::at_most(std::size_t items) const {
  ListRule rule{*this};
  rule.most_items = items;
  return rule;
}

constexpr ListRule FieldRule::first(std::size_t items) const {
  ListRule rule = at_most(items);
  rule.is_shortened = true;
  return rule;
}

inline constexpr FieldRule kOptional{};
inline constexpr FieldRule kRequired{.required = true};
inline constexpr FieldRule kNullForNone{.null_for_none = true};
inline constexpr FieldRule kShortText = kOptional.cut_at(kLongestShortText);
inline constexpr FieldRule kMessageText = kOptional.cut_at(kLongestErrorMessage);

}  // namespace sparkplan
