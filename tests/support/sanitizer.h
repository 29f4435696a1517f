#pragma once

namespace sparkplan::test {

/// True in a program that is built with AddressSanitizer. It uses several times the memory and descriptors of its own,
/// and locks no memory.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace sparkplan::test
