#pragma once

#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan {

/// The plan in a file; nothing when the file holds something else, or cannot be opened: then it is not
/// a plan that is missing. What a file is says its content, never its name.
/// Errors: those of decode_saved_plan(); kFailed when it cannot be read to its end.
Result<std::optional<SavedPlan>> read_saved_plan(const std::string& path);

/// Whether a plan may be written there: where nothing is, or a saved plan. Errors: kInvalidInput.
Result<void> check_plan_destination(const std::string& path);

/// By rename, so that nobody ever reads half of it; 0600, because it holds the texts of files.
/// Errors: kPermissionDenied, kFailed.
Result<void> write_saved_plan(const std::string& path, const SavedPlan& plan);

}  // namespace sparkplan
