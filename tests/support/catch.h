#pragma once

#if SPARKPLAN_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;  // Where version 2 has it.
#else
#include <catch2/catch.hpp>
#endif
