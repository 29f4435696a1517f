#pragma once

#include <cstdint>
#include <string>

namespace sparkplan {

/// A file's permission bits as four octal digits: "0644".
std::string file_mode_text(std::uint32_t mode);

}  // namespace sparkplan
