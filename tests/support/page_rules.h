#pragma once

#include <cstddef>
#include <string>

// The rules for every page and drawing of sparkplan.
namespace sparkplan::test {

std::size_t occurrences(const std::string& text, const std::string& part);

/// The faults in a text of HTML or SVG; empty without one:
/// - an element that is not closed in its order;
/// - an element or attribute that our pages do not use: so text that became markup is found;
/// - an id that is there twice, or a reference to one that is not there.
std::string complaints_about_markup(const std::string& text);

/// Also the faults of a whole page:
/// - a script, or an address that a browser would load;
/// - no language, title or landmark; headings that skip a rank;
/// - a table without a caption, or a heading of a table without a scope.
std::string complaints_about_page(const std::string& page);

}  // namespace sparkplan::test
