#pragma once

#include <string>
#include <string_view>

namespace sparkplan {

/// Text for a line of man(7), also within a macro's argument. It contains no escapes and no requests, and a dash stays
/// a dash. `code` between backticks becomes bold.
std::string roff_text(std::string_view text);

/// Paragraph text: roff_text() in lines of at most 80 characters, each with its newline.
std::string roff_paragraph(std::string_view text);

/// A tagged paragraph. `tag` is already roff, and is printed in bold.
std::string roff_entry(const std::string& tag, std::string_view text);

}  // namespace sparkplan
