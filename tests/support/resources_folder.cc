#include "tests/support/resources_folder.h"

#include "tests/support/source_folder.h"

namespace sparkplan::test {

std::filesystem::path resources_folder() { return source_folder() + "/resources"; }

}  // namespace sparkplan::test
