#pragma once

#include <string>
#include <utility>

#include "engine/core/json.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan::test {

/// The text of the file that `plan -o` writes, which it writes in pieces.
inline std::string saved_text(SavedPlan plan) {
  std::string text;
  encode_short_json(sealed(std::move(plan)), kPlanIndent, [&](std::string_view piece) { text += piece; });
  return text += '\n';
}

}  // namespace sparkplan::test
