// resources/*/cases/*: cluster.yaml and observed.json must give plan.json.
#include "engine/resource/registry.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

TEST_CASE("every case gives the plan in its folder", "[cases]") {
  for (const CaseFolder& folder : all_cases(builtin_registry())) {
    DYNAMIC_SECTION(folder.title()) {
      const Result<World> world = open_case(folder, builtin_registry());
      if (!world) FAIL(world.error().describe());
      const std::string difference = compare_with_golden(folder, describe(look_at(*world, builtin_registry())));
      CHECK(difference == "");
    }
  }
}

}  // namespace sparkplan::test
