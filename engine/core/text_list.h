#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"

namespace sparkplan {

/// The texts in a list, in their order; items of other kinds are passed over. Null or no list: none.
std::vector<std::string> texts_in(const Value* list);

/// A list of texts; of none, an empty list.
Value list_of_texts(const std::vector<std::string>& texts);

}  // namespace sparkplan
