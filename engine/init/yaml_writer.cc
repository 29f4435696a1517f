#include "engine/init/yaml_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

constexpr std::size_t kWidth = 110;

bool is_plain_character(char c) {
  return is_alphanumeric(c) || std::string_view("_-./@+~=%").find(c) != std::string_view::npos;
}

/// True for a text that a parser of YAML 1.1 or 1.2 might not read as a text.
bool reads_as_other_kind(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kWords = {"true", "false", "null", "yes", "no", "on",
                                                              "off",  "y",     "n",    "~",   "nan"};
  const std::string lower = lower_case(text);
  if (std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return true;
  // Numbers of any notation, and dates. An IPv4 address has too many dots for a number.
  const bool numeric = lower.find_first_not_of("0123456789abcdefx.+-_e") == std::string::npos;
  const bool one_dot = std::count(lower.begin(), lower.end(), '.') <= 1;
  return numeric && one_dot && is_digit(lower.front());
}

bool is_plain(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_plain_character)) return false;
  const char first = text.front();
  const bool safe_start = first == '/' || first == '_' || is_alphanumeric(first);
  return safe_start && !reads_as_other_kind(text);
}

bool needs_escape(char32_t c) { return c < 0x20 || c == 0x7F || is_treacherous(c); }

/// Source: yaml.org/spec/1.2.2, section 5.7: \xHH, \uHHHH, \UHHHHHHHH.
std::string numbered_escape(char32_t c) {
  const char* const form = c <= 0xFF ? "\\x%02X" : c <= 0xFFFF ? "\\u%04X" : "\\U%08X";
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), form, static_cast<unsigned>(c));
  return buffer.data();
}

/// The text comes from a machine: it must not control the terminal that shows the file.
std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (point.value == U'"' || point.value == U'\\') {
      result += '\\';
      result += text[i];
    } else if (point.value == U'\n') {
      result += "\\n";
    } else if (point.value == U'\t') {
      result += "\\t";
    } else if (point.value == U'\r') {
      result += "\\r";
    } else if (needs_escape(point.value)) {
      result += numbered_escape(point.value);
    } else {
      append_utf8(result, point.value);
    }
    i += point.length;
  }
  return result + "\"";
}

/// True if no character needs an escape in a literal block.
bool is_unescaped(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (!point.valid || (point.value != U'\n' && needs_escape(point.value))) return false;
    i += point.length;
  }
  return true;
}

std::string real_text(double number) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.17g", number);
  return buffer.data();
}

bool is_literal(const Value& value) {
  const std::string* text = value.string();
  // YAML readers treat CR and LF in a block as line ends, and return LF.
  if (text == nullptr || text->find('\n') == std::string::npos || !is_unescaped(*text)) return false;
  if (text->front() == ' ' || text->front() == '\n' || text->back() != '\n') return false;
  if (text->ends_with("\n\n")) return false;
  return text->find(" \n") == std::string::npos;
}

bool contains_literal(const Value& value) {
  if (is_literal(value)) return true;
  if (const auto* entries = value.entries()) {
    return std::any_of(entries->begin(), entries->end(), [](const MapEntry& one) { return is_literal(one.value); });
  }
  return false;
}

std::string key_text(std::string_view key) { return yaml_scalar(Value(key)); }

std::string blanks(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

}  // namespace

std::string yaml_scalar(const Value& value) {
  if (const bool* truth = value.boolean()) return *truth ? "true" : "false";
  if (const std::int64_t* number = value.integer()) return std::to_string(*number);
  if (const double* number = value.real()) return real_text(*number);
  if (const std::string* text = value.string()) return is_plain(*text) ? *text : yaml_quoted(*text);
  return "null";
}

std::string yaml_flow(const Value& value) {
  std::string inside;
  if (const auto* entries = value.entries()) {
    for (const MapEntry& entry : *entries) {
      inside += (inside.empty() ? "" : ", ") + key_text(entry.key) + ": " + yaml_flow(entry.value);
    }
    return "{" + inside + "}";
  }
  if (const auto* items = value.list_items()) {
    for (const Value& item : *items) inside += (inside.empty() ? "" : ", ") + yaml_flow(item);
    return "[" + inside + "]";
  }
  return yaml_scalar(value);
}

void YamlWriter::comment(std::string_view text, int indent) {
  const std::string start = blanks(indent) + "#";
  for (const auto paragraph : split_lines(text)) {
    std::string line = start;
    for (const auto word : split(paragraph, ' ')) {
      if (line.size() > start.size() && line.size() + 1 + word.size() > kWidth) {
        text_ += line + "\n";
        line = start;
      }
      line += " " + printable(word);
    }
    text_ += line + "\n";
  }
}

bool YamlWriter::fits(const std::string& flow, int indent) const {
  return flow.size() + static_cast<std::size_t>(indent) <= kWidth;
}

void YamlWriter::entry(std::string_view key, const Value& value, int indent) {
  const std::string start = blanks(indent) + key_text(key) + ":";
  const bool nested = value.is_map() || value.is_list();
  const std::string flow = yaml_flow(value);
  if (is_literal(value)) {
    text_ += start + " |\n";
    for (const auto line : split_lines(*value.string())) {
      text_ += line.empty() ? "\n" : blanks(indent + 2) + std::string(line) + "\n";
    }
  } else if (!nested || (fits(start + flow, 1) && !contains_literal(value) && flow.find("\\n") == std::string::npos)) {
    text_ += start + " " + flow + "\n";
  } else {
    text_ += start + "\n";
    block(value, indent + 2);
  }
}

void YamlWriter::block(const Value& value, int indent) {
  if (const auto* entries = value.entries()) {
    for (const MapEntry& one : *entries) entry(one.key, one.value, indent);
  } else if (const auto* items = value.list_items()) {
    for (const Value& one : *items) item(one, indent);
  }
}

void YamlWriter::item(const Value& value, int indent) {
  const std::string flow = yaml_flow(value);
  const auto* entries = value.entries();
  if (entries == nullptr || entries->empty() || (fits(flow, indent + 2) && !contains_literal(value))) {
    text_ += blanks(indent) + "- " + flow + "\n";
    return;
  }
  const std::size_t start = text_.size();
  block(value, indent + 2);
  text_[start + static_cast<std::size_t>(indent)] = '-';
}

}  // namespace sparkplan
