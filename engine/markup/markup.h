#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The writer of HTML and SVG. Everything here is pure.
namespace sparkplan {

/// A text of the program's own source: the only kind that Markup writes without escaping it.
class Constant {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): call sites give a literal.
  consteval Constant(const char* text) : text_(text) {}

  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// An attribute. Its value may be any text: it is escaped.
struct Attribute {
  Attribute(Constant its_name, std::string its_value) : name(its_name), value(std::move(its_value)) {}

  Constant name;
  std::string value;
};
using Attributes = std::vector<Attribute>;

/// A document under construction. Texts and values of attributes pass printable() and are escaped. Names of elements
/// and attributes are constants. So no text from a node or from a file can become markup. Every element that is opened
/// is closed, in order: the result is well-formed XML inside, and valid HTML.
class Markup {
 public:
  /// Writes a constant as it is.
  Markup& raw(Constant constant);
  /// Writes a text on one line.
  Markup& text(std::string_view text);
  Markup& open(Constant name, const Attributes& attributes = {});
  /// Closes the element that was opened last.
  Markup& close();
  /// An element without content: "meta", "line".
  Markup& empty(Constant name, const Attributes& attributes = {});
  /// An element with a text and nothing else.
  Markup& element(Constant name, const Attributes& attributes, std::string_view text);
  Markup& element(Constant name, std::string_view text);
  Markup& newline() { return raw("\n"); }

  /// Adds a finished piece. What is still open in it is closed.
  Markup& append(Markup piece);

  std::size_t size() const { return text_.size(); }
  /// The document. Closes what is still open.
  std::string str() &&;

 private:
  void begin(Constant name, const Attributes& attributes);
  void escaped(std::string_view text);

  std::string text_;
  std::vector<Constant> open_;
};

/// A number with one digit after the point, without that digit if it is 0: for coordinates. 0 for a number that is not
/// finite.
std::string coordinate(double number);

}  // namespace sparkplan
