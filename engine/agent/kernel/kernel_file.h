#pragma once

#include <fcntl.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/text.h"

namespace sparkplan {

/// The whole text of a file below /proc or /sys. Empty if the file is missing or cannot be read: sysfs refuses to read
/// properties that a device lacks. Without streams, because their locales would be a sixth of the agent.
inline std::string kernel_file(const std::filesystem::path& path) {
  std::string text;
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return text;
  std::array<char, 4096> part{};
  while (true) {
    const auto size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

/// The file's first line, without surrounding blanks.
inline std::string kernel_line(const std::filesystem::path& path) {
  const std::string text = kernel_file(path);
  return std::string(trim(std::string_view(text).substr(0, text.find('\n'))));
}

}  // namespace sparkplan
