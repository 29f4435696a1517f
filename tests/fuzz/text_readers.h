#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace sparkplan::fuzz {

/// By name: gives a text to a parser and checks what it promises.
using Readers = std::map<std::string, void (*)(std::string_view), std::less<>>;

/// All readers. A new one needs the sources of its parser in CMakeLists.txt: whole rooms would take many times as long
/// to compile.
const Readers& text_readers();

/// One input: the reader's name, a newline, and the text. An unknown name reads nothing.
void read_with(const Readers& readers, const std::uint8_t* data, std::size_t size);

bool has_line_break(std::string_view text);

}  // namespace sparkplan::fuzz
