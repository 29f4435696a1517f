#include "engine/carried/own_program.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>

#include "engine/wire/build_id.h"

namespace sparkplan {

std::string own_build() {
  constexpr std::size_t kNotesWithin = std::size_t{64} << 10;
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string beginning(kNotesWithin, '\0');
  const auto size = ::read(file, beginning.data(), beginning.size());
  ::close(file);
  beginning.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return elf_build_id(beginning).value_or("");
}

std::string machine_architecture() {
  utsname machine{};
  ::uname(&machine);
  return machine.machine;
}

}  // namespace sparkplan
