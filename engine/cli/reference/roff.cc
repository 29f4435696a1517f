#include "engine/cli/reference/roff.h"

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLineWidth = 78;

// Characters that troff or a terminal's font would change, so that copied text no longer works.
std::string_view escape_of(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '"':
      return "\\(dq";
    case '~':
      return "\\(ti";
    case '^':
      return "\\(ha";
    default:
      return {};
  }
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string roff;
  bool code = false;
  for (const char c : text) {
    if (c == '`') {
      code = !code;
      roff += code ? "\\fB" : "\\fR";
    } else if (const auto escape = escape_of(c); !escape.empty()) {
      roff += escape;
    } else {
      roff += c == '\n' ? ' ' : c;
    }
  }
  return roff;
}

std::string roff_paragraph(std::string_view text) {
  const auto roff = roff_text(text);
  std::string lines;
  std::string line;
  const auto finish = [&] {
    // A line that begins with a dot is a request.
    if (line.starts_with('.')) line.insert(0, "\\&");
    if (!line.empty()) lines += line + "\n";
    line.clear();
  };
  for (const auto word : split(roff, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > kLineWidth) finish();
    if (!line.empty()) line += ' ';
    line += word;
  }
  finish();
  return lines;
}

std::string roff_entry(const std::string& tag, std::string_view text) {
  return ".TP\n.B " + tag + "\n" + roff_paragraph(text);
}

}  // namespace sparkplan
