// The types of docs/adding-a-resource-type.md, compiled from its text. This program runs the contract on them alone.
#include "engine/core/json.h"
#include "engine/resource/registry.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"
#include "tests/support/resources_folder.h"

namespace sparkplan {

namespace motd {
std::unique_ptr<ResourceType> make_resource_type();
}
namespace tmpfiles {
std::unique_ptr<ResourceType> make_resource_type();
}

const Registry& builtin_registry() {
  static const Registry registry = [] {
    std::vector<std::unique_ptr<const ResourceType>> all;
    for (const auto make : {motd::make_resource_type, tmpfiles::make_resource_type}) {
      auto type = make();
      type->set_schema(test::read_text(test::resources_folder() / type->info().name / "schema.json").value());
      all.push_back(std::move(type));
    }
    return Registry(std::move(all));
  }();
  return registry;
}

namespace test {

std::filesystem::path resources_folder() { return std::filesystem::path(SPARKPLAN_PAGE_FOLDER) / "resources"; }

TEST_CASE("the page shows the steps of its cases as they are") {
  int shown = 0;
  for (const CaseFolder& folder : all_cases(builtin_registry())) {
    const Result<std::string> text = read_text(folder.folder / "step.json");
    if (!text) continue;
    INFO(folder.title());
    const Result<Value> step = parse_plain_json(*text);
    REQUIRE(step);
    const Result<World> world = open_case(folder, builtin_registry());
    if (!world) FAIL(world.error().describe());
    const Value plan = describe(look_at(*world, builtin_registry()));
    REQUIRE(plan.find("steps") != nullptr);
    CHECK(encode_json(*plan.find("steps")) == encode_json(Value::list({*step})));
    ++shown;
  }
  CHECK(shown == 2);
}

}  // namespace test
}  // namespace sparkplan
