#include "engine/markup/markup.h"

#include <cmath>
#include <cstdint>

#include "engine/core/text.h"

namespace sparkplan {

Markup& Markup::raw(Constant constant) {
  text_ += constant.text();
  return *this;
}

/// printable() has removed controls, characters that reverse the order of a text, and broken UTF-8.
void Markup::escaped(std::string_view text) {
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        text_ += "&amp;";
        break;
      case '<':
        text_ += "&lt;";
        break;
      case '>':
        text_ += "&gt;";
        break;
      case '"':
        text_ += "&quot;";
        break;
      case '\'':
        text_ += "&#39;";
        break;
      default:
        text_ += c;
    }
  }
}

Markup& Markup::text(std::string_view text) {
  escaped(text);
  return *this;
}

void Markup::begin(Constant name, const Attributes& attributes) {
  text_ += '<';
  text_ += name.text();
  for (const Attribute& attribute : attributes) {
    text_ += ' ';
    text_ += attribute.name.text();
    text_ += "=\"";
    escaped(attribute.value);
    text_ += '"';
  }
}

Markup& Markup::open(Constant name, const Attributes& attributes) {
  begin(name, attributes);
  text_ += '>';
  open_.push_back(name);
  return *this;
}

Markup& Markup::close() {
  if (open_.empty()) return *this;
  text_ += "</";
  text_ += open_.back().text();
  text_ += '>';
  open_.pop_back();
  return *this;
}

Markup& Markup::empty(Constant name, const Attributes& attributes) {
  begin(name, attributes);
  text_ += "/>";
  return *this;
}

Markup& Markup::element(Constant name, const Attributes& attributes, std::string_view text) {
  open(name, attributes);
  escaped(text);
  return close();
}

Markup& Markup::element(Constant name, std::string_view text) { return element(name, {}, text); }

Markup& Markup::append(Markup piece) {
  text_ += std::move(piece).str();
  return *this;
}

std::string Markup::str() && {
  while (!open_.empty()) close();
  return std::move(text_);
}

std::string coordinate(double number) {
  constexpr double kLargest = 1e9;
  if (!std::isfinite(number) || std::fabs(number) > kLargest) return "0";
  const auto tenths = static_cast<std::int64_t>(std::llround(number * 10));
  const std::int64_t rest = tenths < 0 ? -tenths % 10 : tenths % 10;
  std::string text = (tenths < 0 && tenths / 10 == 0 ? "-" : "") + std::to_string(tenths / 10);
  if (rest != 0) text += "." + std::to_string(rest);
  return text;
}

}  // namespace sparkplan
