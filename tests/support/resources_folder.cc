#include "tests/support/resources_folder.h"

namespace sparkplan::test {

std::filesystem::path resources_folder() { return std::filesystem::path(SPARKPLAN_SOURCE_DIR) / "resources"; }

}  // namespace sparkplan::test
