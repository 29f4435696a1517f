#pragma once

#include <string>
#include <string_view>

namespace sparkplan {

/// Text as it may stand in a line of man(7), also in a macro's argument: nothing in it is an escape or
/// a request, a dash is a dash. `code` between backticks becomes bold.
std::string roff_text(std::string_view text);

/// Paragraph text: roff_text() in lines of at most 80 characters, each with its newline.
std::string roff_paragraph(std::string_view text);

/// A tagged paragraph; `tag` is roff already and is set in bold.
std::string roff_entry(const std::string& tag, std::string_view text);

}  // namespace sparkplan
