#include "tests/support/source_folder.h"

namespace sparkplan::test {

std::string source_folder() { return SPARKPLAN_SOURCE_DIR; }

}  // namespace sparkplan::test
