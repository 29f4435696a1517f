#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "engine/wire/build_id.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

template <class T>
std::string bytes_of(const T& object) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &object, sizeof(T));
  return bytes;
}

std::string note(std::uint32_t type, std::string name, std::string content) {
  Elf64_Nhdr header{};
  header.n_namesz = static_cast<Elf64_Word>(name.size());
  header.n_descsz = static_cast<Elf64_Word>(content.size());
  header.n_type = type;
  name.resize((name.size() + 3) & ~std::size_t{3});
  content.resize((content.size() + 3) & ~std::size_t{3});
  return bytes_of(header) + name + content;
}

const std::string kGnu("GNU\0", 4);
const std::string kId("\x01\x23\xab\xcd\xef\x00\xff\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0", 20);
const std::string kIdText = "0123abcdef00ff102030405060708090a0b0c0d0";

/// A small ELF64 file: one loadable segment, then a segment of notes.
std::string elf_file(const std::string& notes) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  segment.p_filesz = notes.size();
  return bytes_of(header) + bytes_of(load) + bytes_of(segment) + notes + "the rest";
}

/// A copy of the file with other bytes at an offset.
template <class T>
std::string file_with(std::string file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
  return file;
}

}  // namespace

TEST_CASE("the build id is read as hexadecimal digits, also after other notes") {
  CHECK(elf_build_id(elf_file(note(NT_GNU_BUILD_ID, kGnu, kId))) == kIdText);
  CHECK(elf_build_id(elf_file(note(NT_GNU_ABI_TAG, kGnu, "12345") + note(NT_GNU_BUILD_ID, "XYZW!", "no") +
                              note(NT_GNU_BUILD_ID, kGnu, kId))) == kIdText);
}

TEST_CASE("only the beginning of the file up to its notes is required") {
  const auto file = elf_file(note(NT_GNU_BUILD_ID, kGnu, kId));
  CHECK(elf_build_id(file.substr(0, file.size() - 8)) == kIdText);
}

TEST_CASE("a file without a GNU build id has none") {
  CHECK_FALSE(elf_build_id(""));
  CHECK_FALSE(elf_build_id("#!/bin/sh\nexit 0\n"));
  CHECK_FALSE(elf_build_id(elf_file("")));
  CHECK_FALSE(elf_build_id(elf_file(note(NT_GNU_ABI_TAG, kGnu, kId))));
  CHECK_FALSE(elf_build_id(elf_file(note(NT_GNU_BUILD_ID, std::string("Xen\0", 4), kId))));
  const auto file = elf_file(note(NT_GNU_BUILD_ID, kGnu, kId));
  CHECK_FALSE(elf_build_id(file_with(file, EI_CLASS, static_cast<char>(ELFCLASS32))));
  CHECK_FALSE(elf_build_id(file_with(file, 0, 'x')));
}

TEST_CASE("a file truncated in its header or notes has no build id") {
  const auto notes = note(NT_GNU_BUILD_ID, kGnu, kId);
  const auto file = elf_file(notes);
  const auto end_of_notes = file.size() - 8;
  for (std::size_t size = 0; size < end_of_notes; ++size) {
    INFO(size << " bytes");
    CHECK_FALSE(elf_build_id(std::string_view(file).substr(0, size)));
  }
}

TEST_CASE("hostile sizes and offsets cause no read outside the file") {
  const auto file = elf_file(note(NT_GNU_BUILD_ID, kGnu, kId));
  const auto huge = ~std::uint64_t{0};
  const auto segment = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  const auto first_note = segment + sizeof(Elf64_Phdr);
  CHECK_FALSE(elf_build_id(file_with(file, offsetof(Elf64_Ehdr, e_phoff), huge)));
  CHECK_FALSE(elf_build_id(file_with(file, segment + offsetof(Elf64_Phdr, p_offset), huge)));
  CHECK(elf_build_id(file_with(file, segment + offsetof(Elf64_Phdr, p_filesz), huge)) == kIdText);
  CHECK_FALSE(elf_build_id(file_with(file, first_note + offsetof(Elf64_Nhdr, n_namesz), ~std::uint32_t{0})));
  CHECK_FALSE(elf_build_id(file_with(file, first_note + offsetof(Elf64_Nhdr, n_descsz), ~std::uint32_t{0})));
  CHECK_FALSE(elf_build_id(file_with(file, first_note + offsetof(Elf64_Nhdr, n_descsz), ~std::uint32_t{0} - 3)));
}

TEST_CASE("damaged ELF files never crash the reader") {
  std::mt19937 engine(20260803);
  const auto whole = elf_file(note(NT_GNU_ABI_TAG, kGnu, "1234") + note(NT_GNU_BUILD_ID, kGnu, kId));
  int without = 0;
  for (int run = 0; run < 20000; ++run) {
    auto file = whole;
    for (auto mutations = engine() % 6 + 1; mutations > 0; --mutations) {
      file[4 + engine() % (file.size() - 4)] = engine() % 2 == 0 ? '\xff' : static_cast<char>(engine());
    }
    file.resize(file.size() - (engine() % 4 == 0 ? engine() % file.size() : 0));
    const auto id = elf_build_id(file);
    if (!id) ++without;
    if (id) CHECK(id->size() % 2 == 0);
  }
  CHECK(without > 1000);
}

TEST_CASE("the linker's build id is within the first 64 KiB of a real program") {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::string beginning(std::size_t{64} << 10, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  CHECK(elf_build_id(beginning) == SPARKPLAN_TEST_BUILD_ID);
}

}  // namespace sparkplan
