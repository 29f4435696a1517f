#include "engine/core/json.h"

#include <cmath>
#include <vector>

#include "engine/core/digest.h"
#include "engine/core/json_text.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

using namespace json_text;

enum class Dialect {
  kLossless,   // encode_json()
  kShort,      // encode_short_json()
  kCanonical,  // encode_json() with sorted keys, for digests
  kPublic,     // public_json()
};
class Writer {
 public:
  /// Without a sink the text is kept for finish().
  Writer(Dialect dialect, int indent, const TextSink* sink = nullptr)
      : dialect_(dialect), indent_(indent), sink_(sink) {}

  std::string finish() && {
    hand_over(0);
    return std::move(out_);
  }

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
    const bool is_short = dialect_ == Dialect::kShort;
    if (dialect_ == Dialect::kPublic || (is_valid_utf8(text) && !(is_short && is_mostly_escapes(text)))) {
      write_quoted(text);
    } else {
      write_base64(text);
    }
  }

  /// True if the text would take more than twice its bytes.
  static bool is_mostly_escapes(std::string_view text) {
    if (text.size() < kShortestEncoded) return false;
    std::size_t bytes = 0;
    const TextSink count = [&](std::string_view piece) { bytes += piece.size(); };
    Writer writer(Dialect::kLossless, -1, &count);
    writer.write_quoted(text);
    std::move(writer).finish();
    return bytes > 2 * text.size() + kQuotes;
  }

  /// In pieces that end between two groups of the encoding.
  void write_base64(std::string_view bytes) {
    begin_marker(kBase64);
    out_ += '"';
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kEncodedBytes))) {
      out_ += base64_encode(bytes.substr(0, kEncodedBytes));
      hand_over(kPieceBytes);
    }
    out_ += '"';
    close('}');
  }

  void write_unknown(const Value::Unknown& unknown) {
    if (dialect_ == Dialect::kPublic) {
      write_marker("unknown", unknown.reason);
      return;
    }
    begin_marker(kUnknown);
    write_map({{"reason", Value(unknown.reason), {}}, {"producer", Value(unknown.producer), {}}});
    close('}');
  }

  // JSON has no infinity. Other programs receive null, as JavaScript writes it.
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
    // Without a point a reader would decode it as an integer.
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  void begin_marker(std::string_view key) {
    open('{');
    separate();
    write_quoted(key);
    out_ += indent_ < 0 ? ":" : ": ";
  }

  void write_marker(std::string_view key, std::string_view text) {
    begin_marker(key);
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
      hand_over(kPieceBytes);
    }
    out_ += '"';
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

  /// Both spellings mean the same. But digests are taken over the bytes of the canonical form, and nodes store digests.
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
    hand_over(kPieceBytes);
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

  void hand_over(std::size_t from) {
    if (sink_ == nullptr || out_.empty() || out_.size() < from) return;
    (*sink_)(out_);
    out_.clear();
  }

  /// Few calls of the sink, and little memory.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  static constexpr std::size_t kEncodedBytes = kPieceBytes / 4 * 3;
  /// Of a shorter text, the marker would take more than the escapes.
  static constexpr std::size_t kShortestEncoded = 64;
  static constexpr std::size_t kQuotes = 2;

  Dialect dialect_;
  int indent_;
  const TextSink* sink_;
  std::size_t depth_ = 0;
  bool first_ = true;
  std::string out_;
};

std::string write(const Value& value, Dialect dialect, int indent, const TextSink* sink = nullptr) {
  Writer writer(dialect, indent, sink);
  writer.write(value);
  return std::move(writer).finish();
}

}  // namespace

std::string encode_json(const Value& value, int indent) { return write(value, Dialect::kLossless, indent); }

void encode_json(const Value& value, int indent, const TextSink& sink) {
  write(value, Dialect::kLossless, indent, &sink);
}

void encode_short_json(const Value& value, int indent, const TextSink& sink) {
  write(value, Dialect::kShort, indent, &sink);
}

std::string public_json(const Value& value, int indent) { return write(value, Dialect::kPublic, indent); }

void public_json(const Value& value, const TextSink& sink) { write(value, Dialect::kPublic, 2, &sink); }

std::size_t json_weight(const Value& value) {
  std::size_t weight = kJsonValueWeight;
  const auto* text = value.string();
  const auto* real = value.real();
  if (const auto* items = value.list_items()) {
    for (const auto& item : *items) weight += json_weight(item);
  } else if (const auto* map = value.entries()) {
    for (const auto& entry : *map) weight += json_weight(entry.value);
  } else if (value.is_unknown()) {
    weight += 3 * kJsonValueWeight;  // It is encoded as a marker of two fields.
  } else if ((text != nullptr && !is_valid_utf8(*text)) || (real != nullptr && !std::isfinite(*real))) {
    weight += kJsonValueWeight;
  }
  return weight;
}

std::string canonical_json(const Value& value) { return write(value, Dialect::kCanonical, -1); }

void canonical_json(const Value& value, const TextSink& sink) { write(value, Dialect::kCanonical, -1, &sink); }

}  // namespace sparkplan
