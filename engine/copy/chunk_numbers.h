#pragma once

#include <cstdint>
#include <string>

namespace sparkplan::copy {

/// Appends four bytes, the highest first, as all numbers between two nodes.
inline void append_number(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 32; shift > 0; shift -= 8) bytes += static_cast<char>(number >> (shift - 8) & 0xFFU);
}

/// The number in four bytes.
inline std::uint32_t number_from(const char* bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8U | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

}  // namespace sparkplan::copy
