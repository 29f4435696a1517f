#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sparkplan {

/// The GNU build id of an ELF64 file as hexadecimal digits: equal for equal programs, different for different ones.
/// `file` needs only the beginning of the file, up to its notes.
/// Source: elf(5), ld(1) --build-id.
std::optional<std::string> elf_build_id(std::string_view file);

}  // namespace sparkplan
