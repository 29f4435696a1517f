// libgcc finds the unwind table of an address with _dl_find_object(), which glibc has since 2.35. A program with libgcc
// in it would therefore not start with an older glibc. The linker replaces the function with the one below (--wrap),
// which needs dl_iterate_phdr() only, as libgcc itself did before. It runs for each frame of an exception, and there
// are few. Source: dl_iterate_phdr(3); libgcc's unwind-dw2-fde-dip.c.
#include <dlfcn.h>
#include <features.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#if __GLIBC_PREREQ(2, 35)
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

/// 1, and `found` filled, if the object contains the address and has an unwind table.
int look_into(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool contains = false;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    const std::uintptr_t at = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) table = at;
    if (segment.p_type != PT_LOAD) continue;
    contains = contains || (search.address >= at && search.address - at < segment.p_memsz);
    if (at < begin) begin = at;
    if (at + segment.p_memsz > end) end = at + segment.p_memsz;
  }
  if (!contains || table == 0) return 0;
  *search.found = {};
  // NOLINTBEGIN(performance-no-int-to-ptr): the program headers contain addresses as numbers.
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = reinterpret_cast<void*>(table);
  // NOLINTEND(performance-no-int-to-ptr)
  return 1;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker makes this name.
extern "C" int __wrap__dl_find_object(void* address, dl_find_object* result) {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif
