#pragma once

#include <filesystem>

namespace sparkplan::test {

/// The folder with the types' folders. A test program with types of its own defines this function, too, together with
/// builtin_registry(): the linker then takes neither from the libraries.
std::filesystem::path resources_folder();

}  // namespace sparkplan::test
