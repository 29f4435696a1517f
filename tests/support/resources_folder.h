#pragma once

#include <filesystem>

namespace sparkplan::test {

/// The folder with the types' folders. A test program that has its own types defines this function, too, together with
/// builtin_registry(): the linker then takes neither from the libraries.
std::filesystem::path resources_folder();

}  // namespace sparkplan::test
