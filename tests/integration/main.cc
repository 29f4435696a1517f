#define CATCH_CONFIG_RUNNER  // Read by Catch2 2 only.
#include "tests/support/catch.h"
#if SPARKPLAN_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>
#endif

#include "tests/integration/lab/lab.h"

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  sparkplan::test::Lab::end();
  return failed;
}
