#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"

namespace sparkplan {

/// The texts in a list, in their order. Items of other kinds are skipped. Empty for null or a value that is not a list.
std::vector<std::string> texts_in(const Value* list);

Value list_of_texts(const std::vector<std::string>& texts);

}  // namespace sparkplan
