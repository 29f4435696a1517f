#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace sparkplan {

/// The GNU build id of an ELF64 file as hexadecimal digits: equal for equal programs, different for different ones.
/// `file` needs only the beginning of the file, up to its notes.
/// Source: elf(5), ld(1) --build-id.
std::optional<std::string> elf_build_id(std::string_view file);

/// The first message of a program on a node.
struct ProgramHello {
  std::string build;         ///< elf_build_id() of the running program.
  std::string architecture;  ///< uname -m
};

void list_fields(FieldVisitor& field, ProgramHello& hello);

}  // namespace sparkplan
