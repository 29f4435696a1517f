#pragma once

#include <string>

namespace sparkplan::test {

/// The folder of the sources under test, without a slash at its end. A function, not a macro: the path then changes one
/// object only, and ccache finds all others when another checkout is built.
std::string source_folder();

}  // namespace sparkplan::test
