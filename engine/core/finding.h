#pragma once

#include <string>

#include "engine/core/diagnostic.h"

namespace sparkplan {

/// A finding of one sentence, a hint and a place; what else a Diagnostic can say (a file, a node, notes) is
/// added by whoever knows it.
Diagnostic finding(Severity severity, std::string code, std::string message, std::string hint = {},
                   SourceRange where = {});

/// The same as an error.
Diagnostic finding(std::string code, std::string message, std::string hint = {}, SourceRange where = {});

}  // namespace sparkplan
