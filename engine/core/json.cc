#include "engine/core/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "engine/core/digest.h"
#include "engine/core/number_text.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::string_view kBase64 = "$base64";
constexpr std::string_view kBase64Key = "$base64:";
constexpr std::string_view kUnknown = "$unknown";
constexpr std::string_view kReal = "$real";

enum class Dialect {
  kLossless,   // encode_json()
  kCanonical,  // the same with sorted keys, for digests
  kPublic,     // public_json()
};

class Writer {
 public:
  Writer(Dialect dialect, int indent) : dialect_(dialect), indent_(indent) {}

  std::string finish() && { return std::move(out_); }

  void write(const Value& value) {
    if (const auto* boolean = value.boolean()) {
      out_ += *boolean ? "true" : "false";
    } else if (const auto* number = value.integer()) {
      out_ += std::to_string(*number);
    } else if (const auto* real = value.real()) {
      write_real(*real);
    } else if (const auto* text = value.string()) {
      write_string(*text);
    } else if (const auto* items = value.list_items()) {
      write_list(*items);
    } else if (const auto* map = value.entries()) {
      write_map(*map);
    } else if (const auto* unknown = value.unknown()) {
      write_unknown(*unknown);
    } else {
      out_ += "null";
    }
  }

 private:
  void write_list(const Value::List& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    open('[');
    for (const auto& item : items) {
      separate();
      write(item);
    }
    close(']');
  }

  void write_map(const Value::Map& map) {
    if (map.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const MapEntry*> entries;
    entries.reserve(map.size());
    for (const auto& entry : map) entries.push_back(&entry);
    if (dialect_ == Dialect::kCanonical) {
      std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
    }
    open('{');
    for (const auto* entry : entries) {
      separate();
      write_key(entry->key);
      write(entry->value);
    }
    close('}');
  }

  void write_key(std::string_view key) {
    const bool can_be_marked = dialect_ != Dialect::kPublic;
    if (can_be_marked && !is_valid_utf8(key)) {
      write_quoted(std::string(kBase64Key) + base64_encode(key));
    } else if (can_be_marked && key.starts_with('$')) {
      write_quoted("$" + std::string(key));
    } else {
      write_quoted(key);
    }
    out_ += indent_ < 0 ? ":" : ": ";
  }

  void write_string(std::string_view text) {
    if (dialect_ == Dialect::kPublic || is_valid_utf8(text)) {
      write_quoted(text);
    } else {
      write_marker(kBase64, base64_encode(text));
    }
  }

  void write_unknown(const Value::Unknown& unknown) {
    if (dialect_ == Dialect::kPublic) {
      write_marker("unknown", unknown.reason);
      return;
    }
    open('{');
    separate();
    write_quoted(kUnknown);
    out_ += indent_ < 0 ? ":" : ": ";
    write_map({{"reason", Value(unknown.reason), {}}, {"producer", Value(unknown.producer), {}}});
    close('}');
  }

  // JSON has no word for infinity; other programs get null, as JavaScript writes it.
  void write_real(double number) {
    if (!std::isfinite(number)) {
      if (dialect_ == Dialect::kPublic) {
        out_ += "null";
      } else {
        write_marker(kReal, std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
      }
      return;
    }
    // 0.0 == -0.0, and equal values must have equal digests.
    if (dialect_ == Dialect::kCanonical && number == 0) number = 0;
    const std::string text = real_text(number);
    out_ += text;
    // Without a point it would come back as an integer.
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  void write_marker(std::string_view key, std::string_view text) {
    open('{');
    separate();
    write_quoted(key);
    out_ += indent_ < 0 ? ":" : ": ";
    write_quoted(text);
    close('}');
  }

  void write_quoted(std::string_view text) {
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t plain = plain_end(text, i);
      out_.append(text, i, plain - i);
      i = plain;
      if (i == text.size()) break;
      const CodePoint point = code_point_at(text, i);
      write_character(point, text.substr(i, point.length));
      i += point.length;
    }
    out_ += '"';
  }

  /// Where the characters from `begin` on end that stand for themselves: nearly all of what is ever written.
  static std::size_t plain_end(std::string_view text, std::size_t begin) {
    while (begin < text.size()) {
      const auto byte = static_cast<unsigned char>(text[begin]);
      if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\') break;
      ++begin;
    }
    return begin;
  }

  void write_character(const CodePoint& point, std::string_view bytes) {
    if (!point.valid) {
      append_utf8(out_, U'\uFFFD');
    } else if (point.value == U'"' || point.value == U'\\') {
      out_ += '\\';
      out_ += bytes;
    } else if (point.value == U'\n') {
      out_ += "\\n";
    } else if (point.value == U'\t') {
      out_ += "\\t";
    } else if (point.value < 0x20 || point.value == 0x7f || is_escaped(point.value)) {
      write_escape(point.value);
    } else {
      out_ += bytes;
    }
  }

  /// Both spellings say the same; but digests are taken over the bytes of the canonical one, and nodes keep them.
  bool is_escaped(char32_t value) const { return dialect_ != Dialect::kCanonical && is_treacherous(value); }

  void write_escape(char32_t value) {
    if (value <= 0xFFFF) return write_unit(value);
    value -= 0x10000;
    write_unit(0xD800 + (value >> 10U));
    write_unit(0xDC00 + (value & 0x3FFU));
  }

  void write_unit(char32_t unit) {
    static constexpr std::string_view kHex = "0123456789abcdef";
    out_ += "\\u";
    for (const unsigned shift : {12U, 8U, 4U, 0U}) out_ += kHex[unit >> shift & 15U];
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    first_ = true;
  }

  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
    new_line();
  }

  void close(char bracket) {
    --depth_;
    first_ = false;
    new_line();
    out_ += bracket;
  }

  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
  }

  Dialect dialect_;
  int indent_;
  std::size_t depth_ = 0;
  bool first_ = true;
  std::string out_;
};

Error no_json(std::string message) { return Error{ErrorCode::kInvalidInput, std::move(message), {}, std::nullopt, {}}; }

// The one string below a marker, or null when the marker holds something else.
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
  return failure(no_json("the marker \"" + printable(entry.key) + "\" holds something strange"));
}

Result<std::string> unescape_key(std::string key) {
  if (!key.starts_with('$')) return key;
  if (key.starts_with("$$")) return key.substr(1);
  if (key.starts_with(kBase64Key)) {
    auto bytes = base64_decode(std::string_view(key).substr(kBase64Key.size()));
    // A key that needs no escape would be a second spelling of a key that may stand beside it.
    if (bytes && !is_valid_utf8(*bytes)) return std::move(*bytes);
  }
  return failure(no_json("the key \"" + printable(key) + "\" is reserved"));
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

// Builds Values from the events of nlohmann's parser, which keeps its own state on the heap: a
// deep text costs no stack.
class Builder {
 public:
  explicit Builder(bool unescape) : unescape_(unescape) {}

  Value take() { return std::move(root_); }
  Error take_error() { return std::move(error_); }

  // The names below are those that nlohmann::json_sax asks for.
  bool null() { return place(Value()); }
  bool boolean(bool flag) { return place(Value(flag)); }
  bool number_integer(std::int64_t number) { return place(Value(number)); }
  bool number_unsigned(std::uint64_t number) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("too large a number");
    return place(Value(static_cast<std::int64_t>(number)));
  }
  bool number_float(double number, const std::string& text) {
    // The parser makes a double of an integer that fits nothing else; that would change it silently.
    if (text.find_first_of(".eE") == std::string::npos) return fail("too large a number");
    return place(Value(number));
  }
  bool string(std::string& text) { return place(Value(std::move(text))); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return fail("binary data"); }

  bool start_object(std::size_t /*count*/) { return open(Value(Value::Map{})); }
  bool start_array(std::size_t /*count*/) { return open(Value(Value::List{})); }
  bool end_object() {
    Value value = close();
    Value::Map* map = value.entries();
    if (!unescape_ || map == nullptr) return place(std::move(value));
    auto unescaped = unescape_map(std::move(*map));
    if (unescaped) return place(std::move(*unescaped));
    error_ = std::move(unescaped).error();
    return false;
  }
  bool end_array() { return place(close()); }

  bool key(std::string& key) {
    Frame& frame = frames_.back();
    if (!frame.keys.insert(key).second) return fail("the key \"" + printable(key) + "\" is there twice");
    frame.key = std::move(key);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, ..."
    std::string_view what = error.what();
    if (const auto end = what.find("] "); what.starts_with('[') && end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    return fail(printable(what));
  }

 private:
  struct Frame {
    Value value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool fail(const std::string& why) {
    error_ = no_json("no JSON: " + why);
    return false;
  }

  bool open(Value container) {
    if (frames_.size() == kDeepest) return fail("nested deeper than 64 levels");
    frames_.push_back(Frame{std::move(container), {}, {}});
    return true;
  }

  Value close() {
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    return value;
  }

  bool place(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (auto* map = frames_.back().value.entries()) {
      map->push_back(MapEntry{std::move(frames_.back().key), std::move(value), {}});
    } else {
      frames_.back().value.push_back(std::move(value));
    }
    return true;
  }

  bool unescape_;
  std::vector<Frame> frames_;
  Value root_;
  Error error_;
};

Result<Value> parse(std::string_view text, bool unescape) {
  Builder builder(unescape);
  if (!nlohmann::json::sax_parse(text, &builder)) return failure(builder.take_error());
  return builder.take();
}

std::string write(const Value& value, Dialect dialect, int indent) {
  Writer writer(dialect, indent);
  writer.write(value);
  return std::move(writer).finish();
}

}  // namespace

std::string encode_json(const Value& value, int indent) { return write(value, Dialect::kLossless, indent); }

Result<Value> decode_json(std::string_view text) { return parse(text, true); }

std::string public_json(const Value& value, int indent) { return write(value, Dialect::kPublic, indent); }

Result<Value> parse_plain_json(std::string_view text) { return parse(text, false); }

std::string canonical_json(const Value& value) { return write(value, Dialect::kCanonical, -1); }

}  // namespace sparkplan
