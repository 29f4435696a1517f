#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/load/load.h"
#include "engine/report/page/html_report.h"

namespace sparkplan {

/// Checks that a file can be written at `path`, before anything is contacted or measured. An empty path is valid: no
/// file is wanted. Errors: those of the system calls; kInvalidInput for something that is no file.
Result<void> check_report_path(const std::string& path);

/// Checks that two outputs of a command are not the same file. An empty path is none. `flags` names both: "-o and
/// --report". Errors: kInvalidInput.
Result<void> check_different_files(const std::string& one, const std::string& other, const std::string& flags);

/// The context of the pages that this program writes. `loaded` has a cluster, and outlives the result.
PageContext page_context(const LoadedCluster& loaded);

/// Writes the file as a whole, and replaces an earlier one. Errors: kFailed.
Result<void> write_report(const std::string& path, const std::string& text);

}  // namespace sparkplan
