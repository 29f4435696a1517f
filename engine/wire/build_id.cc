#include "engine/wire/build_id.h"

#include <elf.h>

#include <cstring>

#include "engine/core/digest.h"

namespace sparkplan {
namespace {

/// Copied, because the data may be unaligned. Nothing when it would reach beyond the text.
template <class T>
std::optional<T> read_at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::optional<std::string> find_in_notes(std::string_view notes) {
  std::size_t at = 0;
  while (const auto note = read_at<Elf64_Nhdr>(notes, at)) {
    const auto name_at = at + sizeof(Elf64_Nhdr);
    const auto content_at = name_at + padded(note->n_namesz);
    if (content_at > notes.size() || notes.size() - content_at < note->n_descsz) return std::nullopt;
    const auto name = notes.substr(name_at, note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4)) {
      return hexadecimal(notes.substr(content_at, note->n_descsz));
    }
    at = content_at + padded(note->n_descsz);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> elf_build_id(std::string_view file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * header->e_phentsize);
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_NOTE || segment->p_offset > file.size()) continue;
    auto notes = file.substr(segment->p_offset);
    notes = notes.substr(0, segment->p_filesz);
    if (auto id = find_in_notes(notes)) return id;
  }
  return std::nullopt;
}

void list_fields(FieldVisitor& field, ProgramHello& hello) {
  field("build", hello.build, kShortText);
  field("architecture", hello.architecture, kShortText);
}

}  // namespace sparkplan
