#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/json_census.h"
#include "engine/core/json_text.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

using namespace json_text;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "\"" + printable(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") + "\"";
}

Error no_json(std::string message) { return make_error(ErrorCode::kInvalidInput, std::move(message)); }

// The text in a marker of one entry, or null when the marker holds a value of another kind.
Result<Value> from_marker(const MapEntry& entry) {
  const std::string* text = entry.value.string();
  if (entry.key == kBase64 && text != nullptr) {
    if (auto bytes = base64_decode(*text)) return Value(std::move(*bytes));
  }
  if (entry.key == kReal && text != nullptr) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (*text == "inf") return Value(kInfinity);
    if (*text == "-inf") return Value(-kInfinity);
    if (*text == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  }
  if (entry.key == kUnknown && entry.value.is_map()) {
    return Value(Value::Unknown{entry.value.text_or("reason", ""), entry.value.text_or("producer", "")});
  }
  return failure(no_json("the marker \"" + printable(entry.key) + "\" has an unexpected value"));
}

Result<std::string> unescape_key(std::string key) {
  if (!key.starts_with('$')) return key;
  if (key.starts_with("$$")) return key.substr(1);
  if (key.starts_with(kBase64Key)) {
    auto bytes = base64_decode(std::string_view(key).substr(kBase64Key.size()));
    // A key that needs no escape would be a second spelling of a key that the map may also have.
    if (bytes && !is_valid_utf8(*bytes)) return std::move(*bytes);
  }
  return failure(no_json("the key " + quoted(key) + " is reserved"));
}

Result<Value> unescape_map(Value::Map map) {
  if (map.size() == 1 && (map[0].key == kBase64 || map[0].key == kReal || map[0].key == kUnknown)) {
    return from_marker(map[0]);
  }
  for (auto& entry : map) {
    SPARK_TRY(entry.key, unescape_key(std::move(entry.key)));
  }
  return Value(std::move(map));
}

/// Parses one text into one Value. It has its own stack, so that deep nesting does not use up the program's.
/// Source: RFC 8259.
class Parser {
 public:
  Parser(std::string_view text, bool unescape, Census census)
      : text_(text), unescape_(unescape), census_(std::move(census)) {}

  Result<Value> parse() {
    Value root;
    bool more = true;  // A value is expected.
    while (more) {
      if (!begin_value()) return failure(std::move(error_));
      while (complete_) {
        complete_ = false;
        if (open_.empty()) {
          root = std::move(value_);
          more = false;
        } else if (!go_on()) {
          return failure(std::move(error_));
        }
      }
    }
    skip_blanks();
    if (at_ != text_.size()) return unexpected();
    return root;
  }

 private:
  struct Open {
    Value container;
    std::string key;  ///< Of the entry whose value is read next.
  };

  /// Reads a scalar or an empty container (then it is complete), or opens a container.
  bool begin_value() {
    skip_blanks();
    switch (peek()) {
      case '{':
        return open(Value(Value::Map{}), '}') && (complete_ || read_key());
      case '[':
        return open(Value(Value::List{}), ']');
      case '"': {
        std::string text;
        if (!read_string(text)) return false;
        return complete(Value(std::move(text)));
      }
      case 't':
        return read_word("true", Value(true));
      case 'f':
        return read_word("false", Value(false));
      case 'n':
        return read_word("null", Value());
      default:
        return read_number();
    }
  }

  bool open(Value container, char end) {
    if (open_.size() == kDeepest) return refuse("nested deeper than 64 levels");
    ++at_;
    const auto size = census_.next_size();
    if (auto* entries = container.entries()) entries->reserve(size);
    if (auto* items = container.list_items()) items->reserve(size);
    skip_blanks();
    open_.push_back(Open{std::move(container), {}});
    return peek() == end ? close() : true;
  }

  /// Puts the complete value into its container and reads the separator or end after it.
  bool go_on() {
    Open& parent = open_.back();
    const bool is_map = parent.container.is_map();
    if (auto* entries = parent.container.entries()) {
      entries->push_back(MapEntry{std::move(parent.key), std::move(value_)});
    } else {
      parent.container.push_back(std::move(value_));
    }
    skip_blanks();
    if (peek() == (is_map ? '}' : ']')) return close();
    if (peek() != ',') return unexpected_here();
    ++at_;
    return !is_map || read_key();
  }

  bool close() {
    ++at_;
    Value container = std::move(open_.back().container);
    open_.pop_back();
    Value::Map* map = container.entries();
    if (map == nullptr) return complete(std::move(container));
    if (const auto* twice = repeated_key(*map)) return refuse("the key " + quoted(*twice) + " appears twice");
    if (!unescape_) return complete(std::move(container));
    auto unescaped = unescape_map(std::move(*map));
    if (unescaped) return complete(std::move(*unescaped));
    error_ = std::move(unescaped).error();
    return false;
  }

  static const std::string* repeated_key(const Value::Map& map) {
    constexpr std::size_t kFew = 8;
    if (map.size() <= kFew) {
      for (std::size_t i = 1; i < map.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (map[i].key == map[j].key) return &map[i].key;
        }
      }
      return nullptr;
    }
    std::vector<const std::string*> keys;
    keys.reserve(map.size());
    for (const auto& entry : map) keys.push_back(&entry.key);
    std::sort(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a < *b; });
    const auto twice =
        std::adjacent_find(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a == *b; });
    return twice == keys.end() ? nullptr : *twice;
  }

  bool read_key() {
    skip_blanks();
    if (peek() != '"') return unexpected_here();
    if (!read_string(open_.back().key)) return false;
    skip_blanks();
    if (peek() != ':') return unexpected_here();
    ++at_;
    return true;
  }

  bool read_word(std::string_view word, Value value) {
    if (text_.substr(at_, word.size()) != word) return unexpected_here();
    at_ += word.size();
    return complete(std::move(value));
  }

  bool read_number() {
    constexpr std::size_t kLongest = 1000;
    const auto begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else if (!read_digits()) {
      return unexpected_here();
    }
    bool is_integer = true;
    if (peek() == '.') {
      is_integer = false;
      ++at_;
      if (!read_digits()) return unexpected_here();
    }
    if (peek() == 'e' || peek() == 'E') {
      is_integer = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!read_digits()) return unexpected_here();
    }
    if (at_ - begin > kLongest) return refuse("the number is too long");
    return convert_number(std::string(text_.substr(begin, at_ - begin)), is_integer);
  }

  bool read_digits() {
    const auto begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }

  // An integer outside int64 is not rounded to a double: that would change it silently.
  bool convert_number(const std::string& text, bool is_integer) {
    errno = 0;
    if (is_integer) {
      const auto number = std::strtoll(text.c_str(), nullptr, 10);
      return errno == ERANGE ? refuse("the number is too large") : complete(Value(static_cast<std::int64_t>(number)));
    }
    const double number = std::strtod(text.c_str(), nullptr);
    return std::isfinite(number) ? complete(Value(number)) : refuse("the number is too large");
  }

  bool read_string(std::string& into) {
    const auto begin = ++at_;
    std::size_t end = begin;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
    if (end >= text_.size()) return refuse("a text is not closed");
    into.clear();
    into.reserve(end - begin);
    while (at_ < end) {
      const auto plain = plain_end(text_.substr(0, end), at_);
      into.append(text_, at_, plain - at_);
      at_ = plain;
      if (at_ == end) break;
      if (text_[at_] == '\\') {
        if (!read_escape(into)) return false;
        continue;
      }
      const CodePoint point = code_point_at(text_, at_);
      if (!point.valid || point.value < 0x20) return unexpected_here();
      into.append(text_, at_, point.length);
      at_ += point.length;
    }
    ++at_;
    return true;
  }

  /// Called at a backslash that at least one byte follows.
  bool read_escape(std::string& into) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char name = text_[++at_];
    if (const auto known = kNames.find(name); known != std::string_view::npos) {
      into += kMeanings[known];
      ++at_;
      return true;
    }
    if (name != 'u') return unexpected_here();
    ++at_;
    auto unit = read_hex();
    if (!unit) return unexpected_here();
    constexpr char32_t kHighest = 0xD800;
    constexpr char32_t kLowest = 0xDC00;
    constexpr char32_t kBehind = 0xE000;
    if (*unit >= kHighest && *unit < kLowest) {
      if (text_.substr(at_, 2) != "\\u") return unexpected_here();
      at_ += 2;
      const auto low = read_hex();
      if (!low || *low < kLowest || *low >= kBehind) return unexpected_here();
      unit = 0x10000 + ((*unit - kHighest) << 10U) + (*low - kLowest);
    } else if (*unit >= kLowest && *unit < kBehind) {
      return unexpected_here();
    }
    append_utf8(into, *unit);
    return true;
  }

  std::optional<char32_t> read_hex() {
    char32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char digit = peek();
      unit <<= 4U;
      if (digit >= '0' && digit <= '9') {
        unit += static_cast<char32_t>(digit - '0');
      } else if ((digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F')) {
        unit += static_cast<char32_t>((digit | 0x20) - 'a' + 10);
      } else {
        return std::nullopt;
      }
    }
    return unit;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  /// Returns a NUL at the end of the text, since JSON allows no NUL.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool complete(Value value) {
    value_ = std::move(value);
    complete_ = true;
    return true;
  }
  bool refuse(const std::string& why) {
    error_ = no_json("invalid JSON: " + why);
    return false;
  }
  bool unexpected_here() {
    if (at_ >= text_.size()) return refuse("it ends too early");
    return refuse("byte " + std::to_string(at_ + 1) + " is " + quoted(text_.substr(at_, 1)));
  }
  tl::unexpected<Error> unexpected() {
    unexpected_here();
    return failure(std::move(error_));
  }

  std::string_view text_;
  bool unescape_;
  Census census_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  Value value_;  ///< The last complete value.
  bool complete_ = false;
  Error error_;
};

Result<Value> parse(std::string_view text, bool unescape, const JsonLimits& limits) {
  const auto room = limits.memory > text.size() ? limits.memory - text.size() : 0;
  Census census(std::max<std::size_t>(room / kJsonValueWeight, 1));
  if (!census.take(text)) {
    return failure(
        no_json("too many values: it would take more than " + std::to_string(limits.memory >> 20U) + " MiB of memory"));
  }
  return Parser(text, unescape, std::move(census)).parse();
}

}  // namespace

Result<Value> decode_json(std::string_view text, const JsonLimits& limits) { return parse(text, true, limits); }

Result<Value> parse_plain_json(std::string_view text) { return parse(text, false, {}); }

}  // namespace sparkplan
