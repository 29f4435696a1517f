#pragma once

#include "tests/fuzz/text_readers.h"

namespace sparkplan::fuzz {

/// Readers of a node's files, listings and journals.
const Readers& node_file_readers();

}  // namespace sparkplan::fuzz
