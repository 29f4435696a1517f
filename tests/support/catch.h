#pragma once

#define CATCH_CONFIG_ENABLE_OPTIONAL_STRINGMAKER  // Failed checks print the value of an optional.
#if SPARKPLAN_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;  // Version 2 has it in the global namespace.
#else
#include <catch2/catch.hpp>
#endif
